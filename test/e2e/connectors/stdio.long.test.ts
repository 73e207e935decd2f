import { matrix } from "./matrix.ts";

matrix("stdio", { isUsual: false });
