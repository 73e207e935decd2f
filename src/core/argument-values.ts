/** Values that an argument may have, 100 at most, the best first. */
export interface ArgumentValues {
  readonly values: readonly string[];
  /** The number of all that fit, where it is known. */
  readonly total?: number | undefined;
  /** There are more than these. */
  readonly hasMore: boolean;
}

/**
 * The rest of a request, for a completer.
 *
 * @typeParam Context - that of the request, which is made for a session as a call is: a `CallContext`
 */
export interface CompleterOptions<Context> {
  readonly arguments: Readonly<Record<string, string>>;
  readonly context: Context;
}

/** Values, or a part of them with the number of all. */
export type CompleterResult = readonly string[] | (Omit<ArgumentValues, "hasMore"> & Partial<ArgumentValues>);

/** Gives the values of one argument that fit what was typed, the best first. */
export type Completer<Context> = (
  value: string,
  options: CompleterOptions<Context>,
) => CompleterResult | PromiseLike<CompleterResult>;

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
