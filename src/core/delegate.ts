import type { ApprovalRequest, Decision } from "./approval.ts";
import type { Connector } from "./connector.ts";
import type { ToolkitEvent } from "./event.ts";
import type { ElicitRequest, ElicitResult, SampleRequest, SampleResult } from "./interaction.ts";
import type { CallContext, Entry } from "./item.ts";
import type { Resource } from "./resource.ts";
import type { ServedToolkit } from "./served-toolkit.ts";
import type { Session } from "./session.ts";
import type { ConnectorTarget } from "./target.ts";

/** Who asks back, and on whose behalf. */
export interface InteractionContext {
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** Who asks: the namespace of a server, or the ref of a tool. */
  readonly requester: string;
  /** Whose call it is about; undefined where that is not known, as when a server speaks up by itself. */
  readonly session?: Session | undefined;
}

/** What a service does for its toolkit. What a method throws harms no other call. */
export interface Delegate {
  /** Is told which toolkit it serves, when that is made. */
  attach?(toolkit: ServedToolkit): void;
  /** Hears everything, in order. */
  onEvent?(event: ToolkitEvent): void;
  /** Executes a prompt. Of several delegates the first that gives something answers. */
  runPrompt?(prompt: Entry<"prompt">, input: unknown, context: CallContext): Promise<Resource | undefined>;
  /**
   * Asks a person what a server or a tool wants to know, where the session of the call cannot. Undefined leaves it to the next delegate;
   * where nobody answers it is declined.
   */
  elicit?(request: ElicitRequest, context: InteractionContext): Promise<ElicitResult | undefined>;
  /** Asks a model on behalf of a server or a tool, where the session of the call cannot. As `elicit`. */
  sample?(request: SampleRequest, context: InteractionContext): Promise<SampleResult | undefined>;
  /**
   * Decides at once whether a call may be made that needs approval. Undefined leaves it to the next delegate; where nobody decides the
   * call ends `PENDING`. What it throws refuses the call.
   *
   * @param options - `signal` aborts when nobody waits for the decision any more
   */
  approve?(request: ApprovalRequest, options: { readonly signal: AbortSignal }): Promise<Decision | undefined>;
  /** Makes the connector of a target in place of the MCP connector; undefined leaves it to that. */
  createConnector?(target: ConnectorTarget): Connector | undefined;
}
