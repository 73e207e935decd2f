import type { CallSettings } from "../core/call-settings.ts";
import type { Definition } from "../core/definition.ts";
import type { CallContext, Entry } from "../core/item.ts";
import type { Call } from "../core/middleware.ts";
import type { Content } from "../core/resource.ts";
import type { MaybePromise } from "../lib/promise.ts";
import type { CallState } from "./call-state.ts";

/** The input has not been validated since it was given or changed. */
export const unparsed: unique symbol = Symbol("unparsed");

/** A call on its way through the steps. */
export class StepCall implements Call {
  readonly entry: Entry<"tool" | "prompt">;
  readonly input: unknown;
  readonly state: CallState;
  /** What `run` gets: the input after the schema's defaults and transforms. */
  parsed: unknown = unparsed;

  constructor(entry: Entry<"tool" | "prompt">, input: unknown, state: CallState) {
    this.entry = entry;
    this.input = input;
    this.state = state;
  }

  get context(): CallContext {
    return this.state;
  }

  with({ input }: { readonly input: unknown }): StepCall {
    return new StepCall(this.entry, input, this.state);
  }

  /** The same call in another state, such as that of one attempt. */
  on(state: CallState): StepCall {
    return state === this.state ? this : new StepCall(this.entry, this.input, state).as(this.parsed);
  }

  /** This call, with what its input is to `run`. */
  as(parsed: unknown): this {
    this.parsed = parsed;
    return this;
  }
}

/** What goes on with a call. It answers at once where it can, so that what is synchronous costs no promise. */
export type Next<R = Content> = (call: StepCall) => MaybePromise<R>;

/** What is done with what `run` gave. It answers at once where it can. */
export type Receive = (value: unknown, state: CallState) => MaybePromise<Content>;

/** What a chain is compiled for. */
export interface Target {
  readonly entry: Entry<"tool" | "prompt">;
  readonly definition: Definition;
  readonly settings: CallSettings;
}

/** What a step is set to for a target, by the names of its settings, for whoever asks what would happen. */
export type StepSettings = Readonly<Record<string, unknown>>;

interface Described {
  /** Missing, there is nothing to set. */
  readonly settingsFor?: ((target: Target) => StepSettings) | undefined;
}

/**
 * Makes one step of the chain for one target, once. A step that has nothing to do there returns `next` itself, and costs nothing.
 */
export interface Step extends Described {
  <R>(target: Target, next: Next<R>): Next<R>;
}

/** A step for what gives a certain answer. */
export interface StepOf<R> extends Described {
  (target: Target, next: Next<R>): Next<R>;
}

/** The step, which says what it is set to. */
export function described<S extends Described>(settingsFor: (target: Target) => StepSettings, step: S): S {
  return Object.assign(step, { settingsFor });
}
