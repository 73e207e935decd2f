export type { Clock, Timer } from "../lib/clock.ts";
export type { Fault } from "./faulty/active-faults.ts";
export { type FaultName, type FaultOptions, type FaultTransport, faultCatalog } from "./faulty/faults.ts";
export type {
  FaultyOffer,
  FaultyPrompt,
  FaultyResource,
  FaultyServerOptions,
  FaultyTool,
  FaultyToolContext,
} from "./faulty/faulty-offer.ts";
export type { Listening, ListenOptions } from "./faulty/http-endpoint.ts";
export { type FaultyServer, faultyServer } from "./faulty/server.ts";
export { type ToolweaveMatchers, toolweaveMatchers } from "./matchers.ts";
export type {
  ModelRequest,
  Script,
  ScriptedFailure,
  ScriptedFinish,
  ScriptedReasoning,
  ScriptedStep,
  ScriptedText,
  ScriptedToolCall,
  ScriptedUsage,
  ScriptFunction,
} from "./scripted-model/script.ts";
export { type ScriptedModel, type ScriptedModelOptions, scriptedModel } from "./scripted-model/scripted-model.ts";
export { type TestContext, type TestContextOptions, testContext } from "./test-context.ts";
export { type VirtualClock, virtualClock } from "./virtual-clock.ts";
