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

/** Values that an argument may have, 100 at most, the best first. */
export interface ArgumentValues {
  readonly values: readonly string[];
  /** The number of all that fit, where it is known. */
  readonly total?: number | undefined;
  /** There are more than these. */
  readonly hasMore: boolean;
}

/** The rest of a request, for a completer. */
export interface CompleterOptions {
  readonly arguments: Readonly<Record<string, string>>;
  /** Of the request, which is made for a session as a call is. */
  readonly context: CallContext;
}

/** Values, or a part of them with the number of all. */
export type CompleterResult = readonly string[] | (Omit<ArgumentValues, "hasMore"> & Partial<ArgumentValues>);

/** Gives the values of one argument that fit what was typed, the best first. */
export type Completer = (value: string, options: CompleterOptions) => CompleterResult | PromiseLike<CompleterResult>;

/** Completers by the names of the arguments. */
export type Completers = Readonly<Record<string, Completer>>;

/** Completes every argument of an item, such as one whose server does it. */
export type ItemCompleter = (argument: string, value: string, options: CompleterOptions) => Promise<ArgumentValues>;

const completers = new WeakMap<object, ItemCompleter>();

/** Has the arguments of a prompt or template completed by one function. */
export function setItemCompleter(item: object, completer: ItemCompleter): void {
  completers.set(item, completer);
}

/** The function that completes every argument of an item, if it has one. */
export function itemCompleterOf(item: object): ItemCompleter | undefined {
  return completers.get(item);
}

/** The most values that are given: the bound of MCP. */
const maxValues = 100;

/** Values cut to the most that are given. */
export function boundedValues(values: readonly string[], total?: number, hasMore = false): ArgumentValues {
  const isCut = values.length > maxValues;
  const known = total ?? (hasMore ? undefined : values.length);
  return {
    values: values.slice(0, maxValues),
    ...(known === undefined ? {} : { total: known }),
    hasMore: hasMore || isCut || (total ?? 0) > values.length,
  };
}
