import { accepts } from "../../core/schema/common-mistakes.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { declares, requires, type UnionBranch, UnionBranches } from "../../core/schema/union-branches.ts";
import { isRecord } from "../../lib/value.ts";

/** Takes out of an input what a model set to null because it had to say something: optional members that may not be null. */
export function withoutNulls(schema: JsonSchema): (input: unknown) => unknown {
  const ways = new UnionBranches(schema);
  const clean = (value: unknown, options: readonly UnionBranch[]): unknown => {
    const inner = (key: string) => options.flatMap((way) => ways.ofMember(way, value, key));
    if (Array.isArray(value)) return value.map((each, index) => clean(each, inner(String(index))));
    if (!isRecord(value)) return value;
    const isLeftOut = (key: string) => {
      const declaring = options.filter((way) => way.some((one) => declares(one, key)));
      const optional = declaring.some((way) => !way.some((one) => requires(one, key)));
      const mayBeNull = declaring.some((way) =>
        ways.ofMember(way, value, key).some((member) => member.every((one) => accepts(one, null))),
      );
      return optional && !mayBeNull;
    };
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, each]) =>
        each === null ? (isLeftOut(key) ? [] : [[key, each]]) : [[key, clean(each, inner(key))]],
      ),
    );
  };
  return (input) => clean(input, ways.whole);
}
