import type { JsonSchema } from "../../core/schema/types.ts";
import { isRecord } from "../../lib/value.ts";

const maxProperties = 5_000;
const maxLevels = 10;
const maxCharacters = 120_000;
const maxChoices = 1_000;
/** Of one enum with more choices than `manyChoices`, in characters. */
const maxChoiceCharacters = 15_000;
const manyChoices = 250;

/**
 * Which limit of strict mode a schema exceeds; undefined where it exceeds none.
 *
 * @see https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
 */
export function limitOf(schema: JsonSchema): string | undefined {
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
  if (count.properties > maxProperties) return `has more than ${maxProperties} members`;
  if (count.levels > maxLevels) return `is nested deeper than ${maxLevels} objects`;
  if (count.characters > maxCharacters) return `has names and choices of more than ${maxCharacters} characters`;
  if (count.choices > maxChoices) return `has more than ${maxChoices} choices`;
  return count.tooLong
    ? `has more than ${manyChoices} choices of more than ${maxChoiceCharacters} characters`
    : undefined;
}
