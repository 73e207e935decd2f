export { type Inspection, type InspectionOptions, inspect } from "./inspect.ts";
