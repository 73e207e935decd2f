import { accepts } from "../../core/schema/common-mistakes.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { declares, requires, type UnionBranch, UnionBranches } from "../../core/schema/union-branches.ts";
import { isRecord } from "../../lib/value.ts";
import { objectRoot } from "./object-root.ts";
import { anyName, plainProjection } from "./plain-schema.ts";
import { Losses, type Projection, remembered } from "./projection.ts";
import { StrictWriter } from "./strict-schema.ts";

// The limits of strict mode.
const maxProperties = 5_000;
const maxLevels = 10;
const maxCharacters = 120_000;
const maxChoices = 1_000;
/** The texts of one enum with more than `manyChoices` values, in characters. */
const maxChoiceCharacters = 15_000;
const manyChoices = 250;

/** A schema as OpenAI accepts it. */
export interface OpenAIProjection extends Projection {
  /** Whether it is in the grammar of strict mode. */
  readonly strict: boolean;
}

/**
 * A schema as OpenAI accepts it without strict mode: JSON Schema with an object at the top that has `properties` and none of `anyOf`,
 * `oneOf`, `allOf`, `enum` and `not`, and arrays with `items`.
 *
 * @see https://platform.openai.com/docs/guides/function-calling
 * @see https://github.com/langchain-ai/langchainjs/issues/9804 the top
 */
export const openAIProjection = remembered(
  (schema): OpenAIProjection => notStrict(plainProjection(schema, anyName)),
  notStrict,
);

function notStrict(plain: Projection): OpenAIProjection {
  return Object.freeze({ ...plain, strict: false });
}

/**
 * A schema in the grammar of OpenAI's strict mode: every property is required, and one that was optional may be null; no additional
 * properties; no `allOf`, `oneOf`, `not` or conditions; only some formats; at most 10 nested objects and 5,000 properties. Constraints that
 * the grammar lacks move to the description. A schema that strict mode cannot express, such as a map with free keys, is projected
 * without strict mode, and `lost` has the reason.
 *
 * @see https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
 */
export const openAIStrictProjection = remembered((schema): OpenAIProjection => {
  const losses = new Losses();
  const document = objectRoot(schema, losses);
  // An object without properties has nothing to be strict about.
  if (Object.keys(document).every((keyword) => keyword === "type")) return openAIProjection(schema);
  const { schema: written, obstacle } = new StrictWriter(document, losses).write();
  const limit = obstacle === undefined ? exceededLimit(written) : undefined;
  if (obstacle !== undefined || limit !== undefined) {
    const { pointer, what } = obstacle ?? { pointer: "", what: limit };
    const plain = openAIProjection(schema);
    const why = Object.freeze({ pointer, what: `keeps the tool out of strict mode: it ${what}` });
    return Object.freeze({ ...plain, lost: Object.freeze([why, ...plain.lost]) });
  }
  return Object.freeze({
    schema: Object.freeze(written),
    strict: true,
    lost: losses.all(),
    restore: lazily(document),
  });
}, notStrict);

/** The limit of strict mode that a schema exceeds, as a predicate; undefined for none. */
function exceededLimit(schema: JsonSchema): string | undefined {
  const count = { properties: 0, levels: 0, characters: 0, choices: 0, tooLong: false };
  const walk = (value: unknown, level: number): void => {
    if (!isRecord(value)) return;
    const { properties, $defs, items, anyOf, enum: choices } = value;
    const inner = level + (value.type === "object" ? 1 : 0);
    count.levels = Math.max(count.levels, inner);
    for (const map of [properties, $defs].filter(isRecord)) {
      for (const [name, child] of Object.entries(map)) {
        count.characters += name.length;
        if (map === properties) count.properties += 1;
        walk(child, map === $defs ? 0 : inner);
      }
    }
    if (Array.isArray(anyOf)) for (const branch of anyOf) walk(branch, inner);
    walk(items, inner);
    if (!Array.isArray(choices)) return;
    const characters = choices.reduce<number>((sum, choice) => sum + String(choice).length, 0);
    count.choices += choices.length;
    count.characters += characters;
    if (choices.length > manyChoices && characters > maxChoiceCharacters) count.tooLong = true;
  };
  walk(schema, 0);
  if (count.properties > maxProperties) return `has more than ${maxProperties} properties`;
  if (count.levels > maxLevels) return `is nested deeper than ${maxLevels} objects`;
  if (count.characters > maxCharacters)
    return `has names and enum values of more than ${maxCharacters} characters in all`;
  if (count.choices > maxChoices) return `has more than ${maxChoices} choices`;
  return count.tooLong
    ? `has an enum of more than ${manyChoices} values and ${maxChoiceCharacters} characters`
    : undefined;
}

/** Compiled at the first call: most tools of a request are never called. */
function lazily(document: JsonSchema): (input: unknown) => unknown {
  let restore: ((input: unknown) => unknown) | undefined;
  return (input) => {
    restore ??= withoutNulls(document);
    return restore(input);
  };
}

/** The steps that the values of one input may take: what comes after them is left as it is. */
const maxSteps = 200_000;
/** Values that are nested deeper in an input are left as they are. */
const maxInputDepth = 500;

/** Removes from an input the optional properties that a model set to null because strict mode requires them, and that may not be null. */
function withoutNulls(schema: JsonSchema): (input: unknown) => unknown {
  const branches = new UnionBranches(schema);
  let left = maxSteps;
  const clean = (value: unknown, options: readonly UnionBranch[], depth: number): unknown => {
    const inner = (key: string) => {
      left -= options.length;
      return left < 0 ? [] : options.flatMap((branch) => branches.ofMember(branch, value, key));
    };
    if (left < 0 || depth > maxInputDepth) return value;
    if (Array.isArray(value)) return value.map((each, index) => clean(each, inner(String(index)), depth + 1));
    if (!isRecord(value)) return value;
    const isOmitted = (key: string) => {
      left -= options.length;
      if (left < 0) return false;
      const declaring = options.filter((branch) => branch.some((one) => declares(one, key)));
      const optional = declaring.some((branch) => !branch.some((one) => requires(one, key)));
      const mayBeNull = declaring.some((branch) =>
        branches.ofMember(branch, value, key).some((member) => member.every((one) => accepts(one, null))),
      );
      return optional && !mayBeNull;
    };
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, each]) =>
        each === null ? (isOmitted(key) ? [] : [[key, each]]) : [[key, clean(each, inner(key), depth + 1)]],
      ),
    );
  };
  return (input) => {
    left = maxSteps;
    return clean(input, branches.whole, 0);
  };
}
