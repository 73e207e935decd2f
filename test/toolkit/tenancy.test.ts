import { memoryStore } from "../../src/store/memory-store.ts";
import { tenancyContract } from "../contract/tenancy.ts";

tenancyContract("a toolkit with memoryStore", memoryStore);
