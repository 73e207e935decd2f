export type {
  AgentEvent,
  AgentEventMap,
  AgentEventType,
  AgentSource,
  AgentStep,
  AgentToolCall,
  FinishReason,
  TokenUsage,
} from "../core/agent-event.ts";
export type { ModelSettings } from "../core/model-settings.ts";
export { outputInstruction, outputTool } from "../core/output-tool.ts";
export type {
  Agent,
  Conversations,
  ForgetOptions,
  GenerateOptions,
  PromptCall,
  ResumeOptions,
  RunOptions,
  RunToResume,
  WaitingRun,
} from "./agent.ts";
export type {
  AgentOptions,
  ConversationRetention,
  ResultRetention,
  RunLimits,
  SuspendedOptions,
} from "./agent-options.ts";
export type { AgentStream } from "./agent-stream.ts";
export {
  type HistoryContext,
  type HistoryHook,
  type RecentHistoryOptions,
  recentHistory,
} from "./conversation/history.ts";
export type { ConversationSummary } from "./conversation/kept-conversations.ts";
export {
  type PendingData,
  toUiMessages,
  type UiMessage,
  type UiPart,
  type UiToolPart,
  type UiToolState,
} from "./conversation/ui-messages.ts";
export type { ModelsOptions } from "./model/models.ts";
export type { ModelProvider, ModelServer } from "./model/providers.ts";
export { agent } from "./prompt-agent.ts";
export type { StreamResponseOptions } from "./response/stream-response.ts";
export type { AnswerMeta } from "./run/run-answer.ts";
export type { Conversation, ModelPrice } from "./run/run-state.ts";
export type { ModelOptions, TextOptions } from "./run/task.ts";
