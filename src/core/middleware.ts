import type { CallContext, Entry, Kind, RenderedPrompt } from "./item.ts";
import type { Content } from "./resource.ts";

interface OnItsWay<V, K extends Kind> {
  readonly verb: V;
  readonly entry: Entry<K>;
  readonly context: CallContext;
}

interface WithInput<V extends "call" | "render", K extends Kind> extends OnItsWay<V, K> {
  /** Validated; as the caller gave it, before defaults and transforms of a Standard Schema. */
  readonly input: unknown;
  /**
   * The same with another input, which is validated again, or with another context of the same call: derived from its own, or
   * decorated.
   */
  with(change: { readonly input?: unknown; readonly context?: CallContext | undefined }): Call<V>;
}

interface WithoutInput extends OnItsWay<"read", "resource"> {
  /** The same with another context of the same call: derived from its own, or decorated. */
  with(change: { readonly context?: CallContext | undefined; readonly input?: never }): Call<"read">;
}

interface Calls {
  call: WithInput<"call", "tool" | "prompt">;
  read: WithoutInput;
  render: WithInput<"render", "prompt">;
}

interface Answers {
  call: Content;
  read: Content;
  render: RenderedPrompt;
}

/** A verb of a toolbox that middleware wraps. To subscribe is none: it has no answer that could be wrapped. */
export type Verb = keyof Calls;

/**
 * A call, read or render in progress: a union with the discriminant `verb`.
 *
 * @typeParam V - for the type of one verb alone: `Call<"render">`
 */
export type Call<V extends Verb = Verb> = Calls[V];

/** The answer of a verb: a Content, or the messages of a rendered prompt. */
export type CallAnswer<V extends Verb = Verb> = Answers[V];

/** Continues a call, and resolves to the answer of its verb. */
export type Handler = <C extends Call>(call: C) => Promise<CallAnswer<C["verb"]>>;

/**
 * Wraps every call, read and render, between the validation of the input and the run: call `next` once to go on, or answer yourself.
 * `call.verb` says which it is, and narrows the type of the result of `next`.
 *
 * @example
 * ```ts
 * const tenant: Middleware = (call, next) => {
 *   if (call.verb === "read") return next(call);
 *   return next(call.with({ context: call.context.derive({ meta: { tenant: "acme" } }) }));
 * };
 * ```
 */
export type Middleware = (call: Call, next: Handler) => Promise<CallAnswer>;
