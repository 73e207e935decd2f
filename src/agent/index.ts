export type {
  AgentEvent,
  AgentEventMap,
  AgentEventType,
  AgentStep,
  AgentToolCall,
  FinishReason,
  TokenUsage,
} from "../core/agent-event.ts";
export type { ModelSettings } from "../core/model-settings.ts";
export { outputInstruction, outputTool } from "../core/output-tool.ts";
export type {
  Agent,
  ForgetOptions,
  GenerateOptions,
  PromptCall,
  ResumeOptions,
  RunOptions,
  WaitingRun,
} from "./agent.ts";
export type { AgentOptions, RunLimits, SuspendedOptions } from "./agent-options.ts";
export type { AgentStream } from "./agent-stream.ts";
export type { Conversation } from "./conversation.ts";
export type { ModelServer } from "./model/model-server.ts";
export type { ModelsOptions } from "./model/models.ts";
export type { ModelProvider } from "./model/providers.ts";
export { agent } from "./prompt-agent.ts";
export type { AnswerMeta } from "./run/agent-answer.ts";
export type { ModelWish } from "./run/task.ts";
export type { ModelPrice } from "./run/usage.ts";
