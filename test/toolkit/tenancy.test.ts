import { memoryStore } from "../../src/store/memory.ts";
import { tenancyContract } from "../contract/tenancy.ts";

tenancyContract("a toolkit with memoryStore", memoryStore);
