import type { Approvals } from "./approval.ts";
import type { CallContext, Item, Toolbox } from "./item.ts";
import type { PolicyRules } from "./policy.ts";
import type { Content } from "./resource.ts";
import type { Logger } from "./session.ts";
import type { Store } from "./store.ts";

/** A run of a prompt that waits for approvals, for another run that waits for it. */
export interface SuspendedPrompt {
  /** `ready` where `resume` gets further: something that it waits for is settled, or it has ended. `running`: a holder goes on with it now. */
  readonly status: "waiting" | "running" | "ready";
  /** The approvals that it waits for still, those of runs inside of it included. `expiresAt` is in milliseconds since the epoch. */
  readonly waitsFor: readonly { readonly id: string; readonly expiresAt: number }[];
  /** Has its outcome kept until it is forgotten, so that `resume` gives the same again. */
  keep(): Promise<void>;
  /**
   * Goes on with it, through the toolbox of the call that waits for it.
   *
   * @throws ToolkitError `PENDING` with its id where it waits again; `CONFLICT` with its id as the key while another holder goes on with it; else as its call
   */
  resume(options: { readonly toolbox: Toolbox; readonly signal: AbortSignal }): Promise<Content>;
  /** Removes it, unless a holder goes on with it now. What it waits for is denied. */
  forget(reason: string): Promise<void>;
}

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
  /** The run of a prompt that ended `PENDING` with this id, where a delegate keeps it. */
  suspendedPrompt(id: string): Promise<SuspendedPrompt | undefined>;
  /** True for the context of a call that was made in it. */
  serves(context: CallContext): boolean;
}
