export type {
  AgentEvent,
  AgentEventMap,
  AgentEventType,
  AgentStep,
  AgentToolCall,
  FinishReason,
  TokenUsage,
} from "../core/agent-event.ts";
export type {
  Agent,
  ForgetOptions,
  GenerateOptions,
  PromptCall,
  ResumeOptions,
  RunOptions,
  WaitingRun,
} from "./agent.ts";
export type { AnswerMeta } from "./answer.ts";
export type { Conversation } from "./conversation.ts";
export type { AgentStream } from "./event-stream.ts";
export type { ModelServer } from "./model-server.ts";
export type { ModelsOptions } from "./models.ts";
export type { AgentOptions, RunLimits, SuspendedOptions } from "./options.ts";
export { agent } from "./prompt-agent.ts";
export type { ModelProvider } from "./providers.ts";
export type { ModelWish } from "./task.ts";
export type { ModelPrice } from "./usage.ts";
