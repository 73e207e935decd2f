export type { Embed } from "../toolset/toolset-types.ts";
export type {
  AiSdkAdapter,
  AiSdkCallOptions,
  AiSdkOptions,
  AiSdkRun,
  AiSdkTool,
  AiSdkToolChoice,
  AiSdkToolMessage,
} from "./ai-sdk.ts";
export { toAiSdk } from "./ai-sdk.ts";
export type { AiSdkApprovals } from "./ai-sdk-approvals.ts";
export type { AiSdkContentPart, AiSdkOutput } from "./answer-content.ts";
export type {
  AnthropicAdapter,
  AnthropicImageType,
  AnthropicResultBlock,
  AnthropicResultMessage,
  AnthropicTool,
  AnthropicToolChoice,
  AnthropicToolResult,
} from "./anthropic.ts";
export { toAnthropic } from "./anthropic.ts";
export type {
  GoogleAdapter,
  GoogleFunctionDeclaration,
  GoogleResultContent,
  GoogleResultPart,
  GoogleTool,
  GoogleToolConfig,
} from "./google.ts";
export { toGoogle } from "./google.ts";
export type { LangChainContent, LangChainSource, LangChainToolFields } from "./langchain.ts";
export { toLangChain } from "./langchain.ts";
export { toOpenAI } from "./openai.ts";
export type {
  OpenAIAdapter,
  OpenAIAdapters,
  OpenAIApi,
  OpenAICallOutput,
  OpenAIChatAdapter,
  OpenAIChatTool,
  OpenAIChatToolChoice,
  OpenAIFunction,
  OpenAIOptions,
  OpenAIOutputPart,
  OpenAIResponsesAdapter,
  OpenAIResponsesTool,
  OpenAIResponsesToolChoice,
  OpenAIToolMessage,
} from "./openai-form.ts";
export type { SchemaLoss } from "./projection/projection.ts";
export type { AdaptedTools, AdapterOptions, ToolLoss } from "./tool-writer.ts";
