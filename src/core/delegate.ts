import type { Connector } from "./connector.ts";
import type { ToolkitEvent } from "./event.ts";
import type { CallContext, Entry } from "./item.ts";
import type { Resource } from "./resource.ts";
import type { ConnectorTarget } from "./target.ts";

/** What a service does for its toolkit. What a method throws harms no other call. */
export interface Delegate {
  /** Hears everything, in order. */
  onEvent?(event: ToolkitEvent): void;
  /** Executes a prompt. Of several delegates the first that gives something answers. */
  runPrompt?(prompt: Entry<"prompt">, input: unknown, context: CallContext): Promise<Resource | undefined>;
  /** Makes the connector of a target in place of the MCP connector; undefined leaves it to that. */
  createConnector?(target: ConnectorTarget): Connector | undefined;
}
