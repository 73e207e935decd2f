export { type A2aOptions, a2a } from "./agent-connector.ts";
export type { CardKey, CardSignatureOptions } from "./card-signature.ts";
