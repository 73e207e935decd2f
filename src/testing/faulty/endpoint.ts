import type { Conversation } from "./conversation.ts";
import type { FaultName, FaultTransport } from "./faults.ts";

/** A way by which clients reach a faulty server. */
export interface Endpoint {
  readonly transport: FaultTransport;
  readonly conversations: Iterable<Conversation>;
  /** What is open or runs, each in a few words. */
  running(): readonly string[];
  /** A fault came on or went off. Resolves when that is in force. */
  faultChanged(name: FaultName): Promise<void>;
  /** Ends everything. */
  close(): Promise<void>;
}
