import type { JsonSchema } from "../../core/schema/types.ts";
import { pointerTo } from "../../lib/pointer.ts";
import type { Losses } from "./projection.ts";

/** Constraints that a provider does not enforce, as sentences for the description: they help the model all the same. */
const words: { readonly [keyword in string]?: (value: unknown) => string } = {
  default: (value) => `Default: ${JSON.stringify(value)}.`,
  examples: (value) => `Examples: ${JSON.stringify(value)}.`,
  format: (value) => `Format: ${value}.`,
  pattern: (value) => `Matches the pattern ${value}`,
  minLength: (value) => `At least ${value} characters.`,
  maxLength: (value) => `At most ${value} characters.`,
  minimum: (value) => `At least ${value}.`,
  maximum: (value) => `At most ${value}.`,
  exclusiveMinimum: (value) => `More than ${value}.`,
  exclusiveMaximum: (value) => `Less than ${value}.`,
  multipleOf: (value) => `A multiple of ${value}.`,
  minItems: (value) => `At least ${value} items.`,
  maxItems: (value) => `At most ${value} items.`,
  uniqueItems: (value) => (value === true ? "No item twice." : ""),
  minProperties: (value) => `At least ${value} members.`,
  maxProperties: (value) => `At most ${value} members.`,
  enum: (value) => `One of: ${(value as readonly unknown[]).map((choice) => JSON.stringify(choice)).join(", ")}.`,
};

/** Keywords that do not constrain a value, or that other code projects. */
const silent = new Set(
  [
    "type title description properties required items additionalProperties anyOf oneOf allOf const enum nullable",
    "$ref $defs definitions $schema $id id $anchor $comment readOnly writeOnly deprecated examples default",
  ].flatMap((line) => line.split(" ")),
);

/**
 * The description of a schema, followed by the constraints that the provider does not accept, in words.
 *
 * @param unsupported - true for the keywords that the provider does not accept
 */
export function describe(
  schema: JsonSchema,
  {
    pointer,
    losses,
    unsupported,
  }: {
    readonly pointer: string;
    readonly losses: Losses;
    readonly unsupported: (keyword: string) => boolean;
  },
): string | undefined {
  losses.takeFor(schema.default, schema.examples, schema.enum);
  const texts = [schema.description ?? schema.title];
  for (const [keyword, value] of Object.entries(schema)) {
    if (value === undefined || !unsupported(keyword)) continue;
    const sentence = words[keyword]?.(value);
    if (sentence !== undefined) texts.push(sentence);
    if (silent.has(keyword) && keyword !== "enum") continue;
    losses.add(pointerTo(pointer, keyword), sentence ? "is moved to the description" : "is left out");
  }
  const description = texts.filter((text) => typeof text === "string" && text !== "").join(" ");
  losses.takeFor(description);
  return description === "" ? undefined : description;
}
