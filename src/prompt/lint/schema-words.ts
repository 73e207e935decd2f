import { isKeyword, schemaKeywords } from "../../core/schema/check.ts";
import { mapChildren } from "../../core/schema/children.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { pointerTo } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";
import { misspelt } from "../front-matter/misspelt.ts";

/** A word of a schema that JSON Schema does not have. */
interface OddWord {
  /** To it, with the words above it spelt right. */
  readonly pointer: string;
  readonly word: string;
  /** What it is nearly. */
  readonly meant: string | undefined;
}

/** A schema with its words spelt right. */
export interface SpeltSchema {
  readonly schema: JsonSchema;
  readonly odd: readonly OddWord[];
  /** The pointer as it is written, for one into the schema that is spelt right. */
  written(pointer: string): string;
}

/** Finds the words of a schema that mean nothing, and spells right those that are nearly something. */
export function speltSchema(given: JsonSchema): SpeltSchema {
  const odd: OddWord[] = [];
  const spell = (value: unknown, pointer: string): unknown => {
    if (!isRecord(value)) return value;
    const entries = Object.entries(value).map(([word, child]): [string, unknown] => {
      if (isKeyword(word)) return [word, child];
      const near = misspelt(word, schemaKeywords);
      const meant = near !== undefined && !Object.hasOwn(value, near) ? near : undefined;
      odd.push({ pointer: pointerTo(pointer, word), word, meant });
      return [meant ?? word, child];
    });
    return mapChildren(Object.fromEntries(entries), pointer, spell);
  };
  const schema = spell(given, "") as JsonSchema;
  // Those inside others first: the words above them are still spelt right then.
  const slips = odd.filter(({ meant }) => meant !== undefined).reverse();
  return { schema, odd, written: (pointer) => slips.reduce(asWritten, pointer) };
}

function asWritten(pointer: string, slip: OddWord): string {
  const above = slip.pointer.slice(0, slip.pointer.lastIndexOf("/"));
  const right = pointerTo(above, slip.meant ?? slip.word);
  return pointer === right || pointer.startsWith(`${right}/`)
    ? `${slip.pointer}${pointer.slice(right.length)}`
    : pointer;
}
