import type { CallContext, Entry } from "./item.ts";
import type { Content } from "./resource.ts";

/** A call on its way. */
export interface Call {
  readonly entry: Entry<"tool" | "prompt">;
  /** Validated; what the caller gave, before defaults and transforms of a Standard Schema. */
  readonly input: unknown;
  readonly context: CallContext;
  /** The same call with another input, which is validated again. */
  with(change: { readonly input: unknown }): Call;
}

/** What answers a call. */
export type Handler = (call: Call) => Promise<Content>;

/**
 * Wraps every call, between the validation of the input and its run: call `next` once to go on, with `call.with({ input })` to
 * change the input, or answer yourself.
 */
export type Middleware = (call: Call, next: Handler) => Promise<Content>;
