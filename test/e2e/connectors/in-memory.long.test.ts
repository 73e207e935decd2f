import { matrix } from "./matrix.ts";

matrix("in-memory", { isUsual: false });
