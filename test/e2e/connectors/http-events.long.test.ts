import { matrix } from "./matrix.ts";

matrix("http with events", { isUsual: false });
