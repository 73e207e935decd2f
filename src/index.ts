export type { AddConnectorOptions } from "./connection/connect-options.ts";
export type { AgentEvent } from "./core/agent-event.ts";
export type {
  Approval,
  ApprovalOptions,
  ApprovalQuery,
  ApprovalRequest,
  ApprovalStatus,
  Approvals,
  Completion,
  Decision,
} from "./core/approval.ts";
export type { ApprovalTest, CacheSetting, CallSettings, RateLimitSetting, RetrySetting } from "./core/call-settings.ts";
export type { Connection, ConnectionState, ServerInfo } from "./core/connection.ts";
export type { Delegate, InteractionContext } from "./core/delegate.ts";
export type { ToolkitEgressOptions } from "./core/egress.ts";
export { ToolkitError } from "./core/error.ts";
export { type ErrorCode, type ErrorDetails, errorCatalog, type Issue, type Phase } from "./core/error-catalog.ts";
export type { EventListener, EventMap, ListChange, ToolkitEvent, ToolkitEventType } from "./core/event.ts";
export type { Host } from "./core/host.ts";
export type { HeaderFunction, HeadersOption } from "./core/http-auth.ts";
export type {
  ElicitRequest,
  ElicitResult,
  SampleContent,
  SampleMessage,
  SampleRequest,
  SampleResult,
} from "./core/interaction.ts";
export type {
  CallContext,
  ContextOverrides,
  DefaultKind,
  Entry,
  Item,
  ItemMap,
  Kind,
  ListFailure,
  ListPage,
  ListQuery,
  LookupOptions,
  Prompt,
  PromptArgument,
  PromptMessage,
  RenderedPrompt,
  ResourceTemplate,
  Tool,
  Toolbox,
} from "./core/item.ts";
export type { Call, CallAnswer, Handler, Middleware } from "./core/middleware.ts";
export type { OuterCall } from "./core/outer-call.ts";
export type { PendingRequest } from "./core/pending.ts";
export type { Policy, PolicyRequest, Verdict } from "./core/policy.ts";
export {
  type Content,
  type ContentJson,
  type Described,
  isContent,
  isResource,
  type ReadOptions,
  type Resource,
} from "./core/resource.ts";
export type { InputOf, JsonSchema, OutputOf, SchemaLike, TypedSchema } from "./core/schema/types.ts";
export type { CallOptions, CallReport, LogEntry, Logger, LogLevel, Progress, Session } from "./core/session.ts";
export type { Lister, Source, SourceChange, Unsubscribe } from "./core/source.ts";
export type { Store } from "./core/store.ts";
export type {
  ConnectorConfig,
  ConnectorTarget,
  HttpTarget,
  McpServerConfig,
  McpServersConfig,
  StdioTarget,
} from "./core/target.ts";
export type { TelemetryOptions } from "./core/telemetry-options.ts";
export {
  defineTool,
  type ToolDefinition,
  type TypedResultToolDefinition,
  type TypedToolDefinition,
} from "./core/tool.ts";
export type { ToolAnnotations, ToolOptions } from "./core/tool-options.ts";
export type { CacheLimits, ToolkitOptions } from "./core/toolkit-options.ts";
export type {
  PutPromptOptions,
  UserExportReport,
  UserGetOptions,
  UserImportOptions,
  UserImportReport,
  UserLimits,
  UserNamespace,
  UserNamespaceSettings,
  UserOptions,
  UserPrompt,
  UserResource,
  UserVersion,
  UserWriteOptions,
} from "./core/user.ts";
export type { ExplainOptions } from "./explain/explain.ts";
export type { ExplainedItem, ExplainedRule, Explanation } from "./explain/explanation.ts";
export type { EventStreamOptions } from "./lib/event-stream.ts";
export { type ParsePromptOptions, parsePrompt } from "./prompt/parse-prompt.ts";
export { type PromptFolderOptions, promptFolder } from "./prompt/prompt-folder.ts";
export { readPrompt, readPrompts } from "./prompt/read-prompts.ts";
export type { ByteStream } from "./resource/collect-bytes.ts";
export { defineResource, defineTemplate, type ResourceDefinition, type TemplateDefinition } from "./resource/define.ts";
export type { ReadResult } from "./resource/handle.ts";
export type { ReadSource, ReadSourceOptions } from "./resource/read.ts";
export { type Bytes, type ResourceOptions, resource } from "./resource/resource-factory.ts";
export { type MemoryStoreOptions, memoryStore } from "./store/memory-store.ts";
export { Toolkit } from "./toolkit/toolkit.ts";
export type { ViewSelection } from "./toolkit/view-filter.ts";
export type { Selection } from "./toolset/selection.ts";
export type { TokenReport } from "./toolset/tokens.ts";
export type { BeginOptions, ToolRun, Turn } from "./toolset/tool-run.ts";
export type { Toolset, ToolsetOptions, ToolsetRequest } from "./toolset/toolset.ts";
export type {
  RunPolicy,
  ToolAnswer,
  ToolCall,
  ToolChoice,
  ToolDefinitionForModel,
  ToolEntry,
} from "./toolset/toolset-types.ts";
