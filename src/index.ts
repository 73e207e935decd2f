export type { AddConnectorOptions } from "./connection/connect-options.ts";
export type {
  AgentEvent,
  AgentEventMap,
  AgentEventType,
  AgentStep,
  AgentToolCall,
  FinishReason,
  TokenUsage,
} from "./core/agent-event.ts";
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
export type {
  ApprovalTest,
  CacheSetting,
  CallSettings,
  RateLimitSetting,
  RetrySetting,
} from "./core/call-settings.ts";
export type { Connection, ConnectionState, ServerInfo } from "./core/connection.ts";
export type {
  Connector,
  ConnectorHost,
  ConnectorSession,
  DescriptorList,
  DescriptorMap,
  InteractionOptions as AskOptions,
  PromptDescriptor,
  ResourceDescriptor,
  ServerProcess,
  TemplateDescriptor,
  ToolDescriptor,
} from "./core/connector.ts";
export type { Delegate, InteractionContext as AskContext } from "./core/delegate.ts";
export { ToolkitError, type ToolkitErrorOptions } from "./core/error.ts";
export {
  type ErrorCode,
  type ErrorDetails,
  errorCatalog,
  type Issue,
  type Phase,
  type PromptChange,
} from "./core/error-catalog.ts";
export type { EventListener, EventMap, ListChange, ToolkitEvent, ToolkitEventType } from "./core/event.ts";
export type { Host } from "./core/host.ts";
export type {
  CredentialsHost,
  HeaderFunction,
  HeaderRequest,
  HeadersOption,
  HttpAuth,
  HttpCredentials,
  HttpRefusal,
  ProtectedServer,
} from "./core/http-auth.ts";
export type {
  ElicitRequest,
  ElicitResult,
  SampleContent,
  SampleMessage,
  SampleRequest,
  SampleResult,
} from "./core/interaction.ts";
export type {
  CallArguments,
  CallContext,
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
  ResultOf,
  Tool,
  Toolbox,
} from "./core/item.ts";
export type { Call, Handler, Middleware } from "./core/middleware.ts";
export type { ModelSettings } from "./core/model-settings.ts";
export { outputInstruction, outputTool } from "./core/output-tool.ts";
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
export type {
  InputOf,
  JsonSchema,
  JsonSchemaOptions,
  OutputOf,
  SchemaLike,
  StandardIssue,
  StandardResult,
  TypedSchema,
} from "./core/schema/types.ts";
export type { CallOptions, CallReport, LogEntry, Logger, LogLevel, Progress, Session } from "./core/session.ts";
export type { Lister, Source, SourceChange, Unsubscribe } from "./core/source.ts";
export type {
  Collection,
  DeleteOptions,
  GetOptions,
  ListRecordsOptions,
  PutOptions,
  Quota,
  RecordDraft,
  RecordFailure,
  RecordKey,
  RecordList,
  RecordQuery,
  Store,
  StoredRecord,
  StoreEvent,
  StoreOptions,
} from "./core/store.ts";
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
  UserOptions,
  UserPrompt,
  UserResource,
  UserVersion,
  UserWriteOptions,
} from "./core/user.ts";
export type { ExplainOptions } from "./explain/explain.ts";
export type { ExplainedItem, ExplainedRule, Explanation } from "./explain/explanation.ts";
export type { Clock, Timer } from "./lib/clock.ts";
export type { EventStreamOptions } from "./lib/event-stream.ts";
export { type PromptFolderOptions, promptFolder } from "./prompt/folder.ts";
export type { LintProblem } from "./prompt/lint/findings.ts";
export { formatLint } from "./prompt/lint/format.ts";
export { type LintOptions, type LintReport, lintPrompts } from "./prompt/lint/lint.ts";
export type { LintCode, LintSeverity } from "./prompt/lint/rules.ts";
export type { LintTarget, LintText } from "./prompt/lint/target.ts";
export { type ParsePromptOptions, parsePrompt } from "./prompt/parse.ts";
export { readPrompt, readPrompts } from "./prompt/read.ts";
export type { ByteStream } from "./resource/collect-bytes.ts";
export {
  defineResource,
  defineTemplate,
  type ResourceDefinition,
  type TemplateDefinition,
} from "./resource/define.ts";
export type { ReadResult } from "./resource/handle.ts";
export type { ReadSource, ReadSourceOptions } from "./resource/read.ts";
export { type Bytes, type ResourceOptions, resource, type SameKind } from "./resource/resource.ts";
export { type MemoryStoreOptions, memoryStore } from "./store/memory.ts";
export { Toolkit } from "./toolkit/toolkit.ts";
export type { ViewSelection } from "./toolkit/view.ts";
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
