import type { Approvals } from "./approval.ts";
import type { CallContext, Toolbox } from "./item.ts";
import type { Logger } from "./session.ts";
import type { Store } from "./store.ts";

/** What a delegate may know of the toolkit it serves. */
export interface ServedToolkit {
  /** Everything there is, and nobody's call around it. */
  readonly toolbox: Toolbox;
  readonly approvals: Approvals;
  /** What outlives the process, where the toolkit was given such a store. */
  readonly store: Store;
  readonly logger: Logger;
  /** Has the toolkit, when it is closed, leave the store open until this has ended: it may have something to write down. */
  hold(work: Promise<unknown>): void;
  /** True for the context of a call that was made in it. */
  serves(context: CallContext): boolean;
}
