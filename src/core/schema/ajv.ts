import { Ajv, type Options } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { toPattern } from "./check.ts";
import { formats } from "./interpreter/matchers.ts";
import { workFor } from "./interpreter/validation-work.ts";
import { ValueIdentity } from "./interpreter/value-identity.ts";
import { isDraft07, type JsonSchema } from "./types.ts";

// Verdicts only, so that it ends at the first mismatch. Optimizing the code would take twice as long, and save little.
const options: Options = {
  strict: false,
  logger: false,
  validateSchema: false,
  meta: false,
  messages: false,
  formats,
  code: { optimize: false, regExp: Object.assign(toRegExp, { code: "new RegExp" }) },
};

/**
 * Compiles a plain JSON Schema into a function that decides whether a value fits: of draft-07 where its `$schema` says so, else of 2020-12.
 *
 * @throws Error when a reference leads nowhere or a keyword cannot be compiled
 */
export function compilePlain(schema: JsonSchema): (value: unknown) => boolean {
  // One for each: ajv keeps what it has seen, takes one $id for another's, and is made as fast as it compiles.
  const ajv = new (isDraft07(schema) ? Ajv : Ajv2020)(options);
  ajv.removeKeyword("uniqueItems");
  ajv.addKeyword({ keyword: "uniqueItems", type: "array", schemaType: "boolean", validate: hasUniqueItems });
  return ajv.compile(schema);
}

/** In place of ajv's own, which compares each entry with each other. */
function hasUniqueItems(wanted: boolean, list: readonly unknown[]): boolean {
  if (!wanted || list.length < 2) return true;
  return new ValueIdentity(workFor(list)).firstDuplicate(list) === undefined;
}

function toRegExp(source: string): RegExp {
  return toPattern(source) ?? new RegExp(source);
}
