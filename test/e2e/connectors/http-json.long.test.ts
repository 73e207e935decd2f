import { matrix } from "./matrix.ts";

matrix("http with JSON", { isUsual: false });
