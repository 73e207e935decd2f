import type { ApprovalRequest, Decision } from "./approval.ts";
import type { Connector } from "./connector.ts";
import type { ToolkitEvent } from "./event.ts";
import type { ElicitRequest, ElicitResult, SampleRequest, SampleResult } from "./interaction.ts";
import type { CallContext, Entry } from "./item.ts";
import type { Resource } from "./resource.ts";
import type { ServedToolkit, SuspendedPrompt } from "./served-toolkit.ts";
import type { Session } from "./session.ts";
import type { ConnectorTarget } from "./target.ts";

/** The origin of an elicitation or sampling request. */
export interface InteractionContext {
  /** Aborts when the answer is not needed any more. */
  readonly signal: AbortSignal;
  /** The requesting side: the namespace of a server, or the ref of a tool. */
  readonly requester: string;
  /** The session of the call it belongs to; undefined where that is not known, as when a server asks outside a call. */
  readonly session?: Session | undefined;
}

/** The service's own part in its toolkit. An error thrown by a method affects no other call. */
export interface Delegate {
  /** Called with the toolkit it serves, when that is made. */
  attach?(toolkit: ServedToolkit): void;
  /** Receives every event, in order. */
  onEvent?(event: ToolkitEvent): void;
  /** Executes a prompt. Of several delegates the first that gives something answers. */
  runPrompt?(prompt: Entry<"prompt">, input: unknown, context: CallContext): Promise<Resource | undefined>;
  /** A run that this delegate keeps since its prompt ended `PENDING` with this id; undefined for one that it does not know. */
  suspendedPrompt?(id: string): Promise<SuspendedPrompt | undefined>;
  /**
   * Asks a person what a server or a tool wants to know, where the session of the call cannot. Undefined leaves it to the next delegate;
   * where none answers it is declined.
   */
  elicit?(request: ElicitRequest, context: InteractionContext): Promise<ElicitResult | undefined>;
  /** Asks a model on behalf of a server or a tool, where the session of the call cannot. As `elicit`. */
  sample?(request: SampleRequest, context: InteractionContext): Promise<SampleResult | undefined>;
  /**
   * Decides at once on a call that needs approval. Undefined leaves it to the next delegate; where none decides the
   * call ends `PENDING`. What it throws refuses the call.
   *
   * @param options - `signal` aborts when the decision is not needed any more
   */
  approve?(request: ApprovalRequest, options: { readonly signal: AbortSignal }): Promise<Decision | undefined>;
  /** Makes the connector of a target in place of the MCP connector; undefined leaves it to that. */
  createConnector?(target: ConnectorTarget): Connector | undefined;
}
