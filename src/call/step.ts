import type { ArgumentValues } from "../core/argument-values.ts";
import type { CallSettings } from "../core/call-settings.ts";
import type { Definition } from "../core/definition.ts";
import type { CallContext, Entry } from "../core/item.ts";
import type { CallAnswer, Verb } from "../core/middleware.ts";
import type { Unsubscribe } from "../core/source.ts";
import type { MaybePromise } from "../lib/promise.ts";
import { contextOf, contextOn, shownBy, wholeContext } from "./call-context.ts";
import type { CallState } from "./call-state.ts";

/** Everything that is done with an item in the way of a call. */
export type Action = Verb | "subscribe" | "complete";

/** The entry of each action. */
export interface ActionEntry {
  call: Entry<"tool" | "prompt">;
  render: Entry<"prompt">;
  read: Entry<"resource">;
  subscribe: Entry<"resource">;
  /** For a template, a resource that stands for all of it. */
  complete: Entry<"prompt" | "resource">;
}

interface OwnResults {
  subscribe: Unsubscribe;
  complete: ArgumentValues;
}

/** The result of each action. */
export type ActionResult<A extends Action = Action> = A extends Verb
  ? CallAnswer<A>
  : OwnResults[Extract<A, keyof OwnResults>];

/** The input has not been validated since it was given or changed. */
export const unparsed: unique symbol = Symbol("unparsed");

/** A call, read, render, subscription or completion on its way through the steps. */
export class StepCall {
  readonly verb: Action;
  readonly entry: Entry<"tool" | "prompt" | "resource">;
  readonly input: unknown;
  readonly state: CallState;
  /** The input of `run`: after the schema's defaults and transforms. A Violation where the input was refused before the step that says so. */
  parsed: unknown = unparsed;
  #context: CallContext | undefined;

  constructor(verb: Action, entry: StepCall["entry"], input: unknown, state: CallState) {
    this.verb = verb;
    this.entry = entry;
    this.input = input;
    this.state = state;
  }

  get context(): CallContext {
    return this.#context ?? contextOf(this.state);
  }

  /** The state that its context shows: derived from that of the call, where middleware gave another context. */
  get shown(): CallState {
    return (this.#context && shownBy(this.#context)) ?? this.state;
  }

  /** The same with another input, or another context. @throws TypeError for a context of another call */
  with(change: { readonly input?: unknown; readonly context?: CallContext | undefined }): StepCall {
    const { context } = change;
    if (context !== undefined && shownBy(context)?.base !== this.state)
      throw new TypeError("The context is of another call: pass on the one of this, derived from it or decorated.");
    const changed = new StepCall(this.verb, this.entry, "input" in change ? change.input : this.input, this.state);
    if (!("input" in change)) changed.parsed = this.parsed;
    changed.#context = context === undefined ? this.#context : wholeContext(context);
    return changed;
  }

  /** The same in another state, such as that of one attempt. */
  on(state: CallState): StepCall {
    if (state === this.state) return this;
    const own = new StepCall(this.verb, this.entry, this.input, state).as(this.parsed);
    own.#context = this.#context && contextOn(this.#context, state);
    return own;
  }

  /** This call, with what its input is to `run`. */
  as(parsed: unknown): this {
    this.parsed = parsed;
    return this;
  }
}

/** Goes on with a call. It answers at once where it can, so that what is synchronous costs no promise. */
export type Next<R = ActionResult> = (call: StepCall) => MaybePromise<R>;

/** Makes the answer from the result of `run`, at once where it can. */
export type Receive<R = ActionResult> = (value: unknown, state: CallState) => MaybePromise<R>;

/** The subject for which a chain of steps is compiled. */
export interface Target {
  readonly verb: Action;
  readonly entry: StepCall["entry"];
  readonly definition: Definition;
  readonly settings: CallSettings;
  /**
   * Of calls from outside alone, whose options ask for no step of their own and whose input is its own value: steps that only other calls
   * need are left out.
   */
  readonly isPlain: boolean;
}

/** The settings of a step for a target, by their names, for explanations. */
export type StepSettings = Readonly<Record<string, unknown>>;

/**
 * Makes one step of the chain for one target, once. A step that has nothing to do there returns `next` itself, and costs nothing.
 */
export interface Step {
  (target: Target, next: Next): Next;
  /** Missing, there is nothing to set. */
  readonly settingsFor?: ((target: Target) => StepSettings) | undefined;
}

/** The step, which explains its settings. */
export function described(settingsFor: (target: Target) => StepSettings, step: Step): Step {
  return Object.assign(step, { settingsFor });
}
