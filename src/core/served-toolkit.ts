import type { Approvals } from "./approval.ts";
import type { CallContext, Item, Toolbox } from "./item.ts";
import type { PolicyRules } from "./policy.ts";
import type { Logger } from "./session.ts";
import type { Store } from "./store.ts";

/** The parts of a toolkit that its delegates may use. */
export interface ServedToolkit {
  /** The whole toolkit, outside any call. */
  readonly toolbox: Toolbox;
  readonly approvals: Approvals;
  /** The store of the toolkit; it outlives the process where the toolkit was given one that does. */
  readonly store: Store;
  readonly logger: Logger;
  /** Adds builtins, as the toolkit's own `add`: a delegate may bring items. */
  add(...items: readonly Item[]): void;
  /** Resolves when the toolkit has started: its connectors and sources have succeeded or failed once. */
  readonly started: Promise<void>;
  /** Aborts when the toolkit begins to close. */
  readonly closing: AbortSignal;
  /** Has the toolkit, when it is closed, leave the store open until this has ended: it may have something to write down. */
  hold(work: Promise<unknown>): void;
  /** Warns, after `start`, of names in a policy that nothing has. @param at - where the policy stands, for the message */
  checkPolicy(policy: PolicyRules, at: string): void;
  /** True for the context of a call that was made in it. */
  serves(context: CallContext): boolean;
}
