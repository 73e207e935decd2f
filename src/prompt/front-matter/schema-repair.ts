import { schemaLists, schemaMaps } from "../../core/schema/children.ts";
import { stepsOf } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";

const holders = new Set([...schemaMaps, ...schemaLists]);

/**
 * The document without what a problem is about, so that the next one can be found: a schema inside becomes one that takes anything,
 * a keyword is left out. Undefined where nothing is left.
 */
export function withoutProblem(document: unknown, pointer: string): unknown {
  const steps = stepsOf(pointer);
  return steps.length === 0 ? undefined : without(document, steps);
}

function without(value: unknown, [step = "", ...rest]: readonly string[], holder?: string): unknown {
  const isSchema = holder !== undefined && holders.has(holder);
  if (Array.isArray(value)) {
    return value.map((entry, index) => {
      if (String(index) !== step) return entry;
      return rest.length === 0 ? true : without(entry, rest);
    });
  }
  if (!isRecord(value)) return undefined;
  const entries = Object.entries(value).map(([key, child]): [string, unknown] => {
    if (key !== step) return [key, child];
    if (rest.length > 0) return [key, without(child, rest, isSchema ? undefined : key)];
    return [key, isSchema ? true : undefined];
  });
  return Object.fromEntries(entries.filter(([, child]) => child !== undefined));
}
