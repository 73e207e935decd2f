export { a2aExecutor } from "./a2a-executor.ts";
export { type A2aOptions, a2a } from "./agent-connector.ts";
export type { CardKey, CardSignatureOptions } from "./card-key.ts";
