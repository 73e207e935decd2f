import type { ArgumentValues, CompleterOptions } from "./argument-values.ts";
import type { CallContext, Entry } from "./item.ts";

/** The argument of a prompt, or the variable of a resource template, whose values are asked for. */
export interface CompletionRequest {
  /** A prompt or template: its name, ref or URI template, or its entry. */
  readonly ref: string | Entry<"prompt" | "template">;
  /** The name of the argument or variable. */
  readonly argument: string;
  /** The part that was typed. Default: nothing. */
  readonly value?: string | undefined;
  /** The other arguments that were given, on which the values may depend. */
  readonly arguments?: Readonly<Record<string, string>> | undefined;
}

/** Completes every argument of an item, such as one whose server does it. */
export type ItemCompleter = (
  argument: string,
  value: string,
  options: CompleterOptions<CallContext>,
) => Promise<ArgumentValues>;

const completers = new WeakMap<object, ItemCompleter>();

/** Has the arguments of a prompt or template completed by one function. */
export function setItemCompleter(item: object, completer: ItemCompleter): void {
  completers.set(item, completer);
}

/** The function that completes every argument of an item, if it has one. */
export function itemCompleterOf(item: object): ItemCompleter | undefined {
  return completers.get(item);
}
