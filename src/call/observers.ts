import type { InteractionContext } from "../core/delegate.ts";
import type { ElicitRequest, SampleRequest } from "../core/interaction.ts";
import type { Entry } from "../core/item.ts";
import type { Verb } from "../core/middleware.ts";
import type { Resource } from "../core/resource.ts";
import type { Logger } from "../core/session.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { MaybePromise } from "../lib/promise.ts";
import type { InteractionRouter } from "./interaction-router.ts";
import type { StepCall } from "./step.ts";

/** A call, read or render that begins, before its steps. */
export interface ObservedCall {
  /** Identifies the call while it lasts. */
  readonly key: object;
  /** The key of the call that made it. */
  readonly parent: object | undefined;
  readonly verb: Verb;
  readonly entry: Entry<"tool" | "prompt" | "resource">;
  /** As its caller gave it. */
  readonly input: unknown;
  readonly attachments: readonly Resource[];
  readonly principal: string | undefined;
}

/** A request to a model, in the run of an agent. */
export interface ObservedTurn {
  /** The key of the call whose run it is. */
  readonly call: object | undefined;
  readonly run: string;
  /** Of the prompt. */
  readonly ref: string;
  /** From 0. */
  readonly step: number;
  readonly provider: string;
  readonly model: string;
  /** The provider as the model names itself, such as `anthropic.messages`. */
  readonly api: string;
  /** In the form of the model port. */
  readonly request: Readonly<Record<string, unknown>>;
  /** The tools that the run offers, without those that it executes itself. */
  readonly offered: readonly Entry<"tool" | "prompt">[];
}

/** A question of a tool or server to a person or a model. */
export type ObservedQuestion =
  | { readonly kind: "elicit"; readonly request: ElicitRequest; readonly context: InteractionContext }
  | { readonly kind: "sample"; readonly request: SampleRequest; readonly context: InteractionContext };

/** The end of a call, a turn or a question. */
export type ObservedEnd = { readonly value: unknown } | { readonly error: unknown };

/**
 * Observes what happens in a toolkit, or answers in its place. Each method is called before the work, and gives what is called after it. None may
 * throw, except those that answer.
 */
export interface CallObserver {
  call?(call: ObservedCall): ((end: ObservedEnd) => void) | undefined;
  turn?(turn: ObservedTurn): ((end: ObservedEnd) => void) | undefined;
  question?(question: ObservedQuestion): ((end: ObservedEnd) => void) | undefined;
  /** The answer of a call in place of its steps; undefined where they are to run. */
  answerCall?(call: ObservedCall): MaybePromise<unknown> | undefined;
  /** The answer to a question in place of a person or model; undefined where they are to be asked. */
  answerQuestion?(question: ObservedQuestion): unknown;
  /** The answer of a model in place of a request to it; undefined where it is to be asked. */
  answerTurn?(turn: ObservedTurn): Promise<unknown> | undefined;
}

/** The parts of a toolkit that those who observe it need. */
export interface ObservedToolkit {
  readonly observers: Observers;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The globs of `redact`, on keys whose values are never recorded. */
  readonly redact: readonly string[];
}

const toolkits = new WeakMap<object, ObservedToolkit>();

/** Lets a toolkit be observed. */
export function setObserved(toolkit: object, parts: ObservedToolkit): void {
  toolkits.set(toolkit, parts);
}

/** The parts of a toolkit for those who observe it; undefined for what is no Toolkit, such as a view. */
export function observedToolkit(toolkit: object): ObservedToolkit | undefined {
  return toolkits.get(toolkit);
}

/** The observers of a toolkit. */
export class Observers {
  readonly #all = new Set<CallObserver>();
  /** A plain member: each call looks at it. */
  isObserved = false;

  /** Adds one, until the returned function is called. */
  add(observer: CallObserver): () => void {
    this.#all.add(observer);
    this.isObserved = true;
    return () => {
      this.#all.delete(observer);
      this.isObserved = this.#all.size > 0;
    };
  }

  /** Runs the steps of a call, unless an observer answers it. */
  call<R>(call: StepCall, run: () => MaybePromise<R>): MaybePromise<R> {
    const { verb, entry, input, state } = call;
    if (verb === "subscribe" || verb === "complete") return run();
    const observed: ObservedCall = {
      key: state.call,
      parent: state.parent?.call,
      ...{ verb, entry, input, attachments: state.attachments, principal: state.givenSession?.principal },
    };
    return this.#around(
      (each) => each.call?.(observed),
      (each) => each.answerCall?.(observed),
      run,
    );
  }

  /** Asks a model, unless an observer answers. */
  async turn<R>(turn: ObservedTurn, ask: () => Promise<R>): Promise<R> {
    return this.#around(
      (each) => each.turn?.(turn),
      (each) => each.answerTurn?.(turn),
      ask,
    );
  }

  /** Passes a question on. */
  async question<R>(question: ObservedQuestion, ask: () => Promise<R>): Promise<R> {
    return this.#around(
      (each) => each.question?.(question),
      (each) => each.answerQuestion?.(question),
      ask,
    );
  }

  #around<R>(
    begin: (observer: CallObserver) => ((end: ObservedEnd) => void) | undefined,
    answer: (observer: CallObserver) => unknown,
    run: () => MaybePromise<R>,
  ): MaybePromise<R> {
    const all = [...this.#all];
    const ends = all.flatMap((each) => begin(each) ?? []);
    const end = (outcome: ObservedEnd) => {
      for (const each of ends) each(outcome);
    };
    try {
      let result: unknown;
      for (const each of all) result ??= answer(each);
      result ??= run();
      if (result instanceof Promise)
        result.then(
          (value: unknown) => end({ value }),
          (error: unknown) => end({ error }),
        );
      else end({ value: result });
      return result as MaybePromise<R>;
    } catch (error) {
      end({ error });
      throw error;
    }
  }
}

/** The router, whose questions are observed. */
export function observedInteractions(router: InteractionRouter, observers: Observers): InteractionRouter {
  return {
    elicit: (request, context, trust) => {
      const ask = () => router.elicit(request, context, trust);
      return observers.isObserved ? observers.question({ kind: "elicit", request, context }, ask) : ask();
    },
    sample: (request, context) => {
      const ask = () => router.sample(request, context);
      return observers.isObserved ? observers.question({ kind: "sample", request, context }, ask) : ask();
    },
  };
}

/** The observers of the toolkit that a call was made in; undefined where nothing observes it, and for a context of no call. */
export function observersOf(state: { readonly host: object } | undefined): Observers | undefined {
  const { observers } = (state?.host ?? {}) as { readonly observers?: Observers };
  return observers?.isObserved === true ? observers : undefined;
}

/** The clock of the toolkit that a call was made in; that of the system for a context of no call. */
export function clockOf(state: { readonly host: object } | undefined): Clock {
  const { clock = systemClock } = (state?.host ?? {}) as { readonly clock?: Clock };
  return clock;
}
