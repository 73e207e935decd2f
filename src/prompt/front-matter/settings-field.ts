import type { ModelSettings } from "../../core/model-settings.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { didYouMean, nearest } from "../../lib/similar.ts";
import { isRecord } from "../../lib/value.ts";
import type { FieldReader } from "./field-reader.ts";

/** One setting of a model. */
interface Setting {
  /** For authors, as editors show it. */
  readonly description: string;
  readonly schema: JsonSchema;
  /** The values it takes, for messages. */
  readonly wanted: string;
  accepts(value: unknown): boolean;
}

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);
const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) > 0;

const count = (description: string): Setting => ({
  description,
  schema: { type: "integer", minimum: 1 },
  wanted: "a whole number above 0",
  accepts: isCount,
});
const number = (description: string, minimum?: number, maximum?: number): Setting => ({
  description,
  schema: {
    type: "number",
    ...(minimum === undefined ? {} : { minimum }),
    ...(maximum === undefined ? {} : { maximum }),
  },
  wanted:
    minimum === undefined
      ? "a number"
      : `a number ${maximum === undefined ? `of at least ${minimum}` : `from ${minimum} to ${maximum}`}`,
  accepts: (value) => isNumber(value) && value >= (minimum ?? value) && value <= (maximum ?? value),
});

/** Every setting, by its name in the front matter. */
export const settingTable = {
  temperature: number("How freely the model chooses its words: 0 for the likeliest.", 0),
  max_output_tokens: count("The most tokens one answer of the model may have."),
  top_p: number("The model chooses among the likeliest words that make up so much of the probability.", 0, 1),
  top_k: count("The model chooses among so many of the likeliest words."),
  stop_sequences: {
    description: "The answer ends before the first of these texts.",
    schema: { type: "array", items: { type: "string", minLength: 1 } },
    wanted: "a list of texts",
    accepts: (value: unknown) =>
      Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === "string" && each !== ""),
  },
  seed: {
    description: "The same number gives the same answer, where the model can.",
    schema: { type: "integer" },
    wanted: "a whole number",
    accepts: (value: unknown) => Number.isSafeInteger(value),
  },
  presence_penalty: number("Above 0 the model avoids what has been said at all."),
  frequency_penalty: number("Above 0 the model avoids what has been said often."),
} satisfies Readonly<Record<string, Setting>>;

/** The name of a setting. */
export type SettingName = keyof typeof settingTable;

const optionOf = {
  temperature: "temperature",
  max_output_tokens: "maxOutputTokens",
  top_p: "topP",
  top_k: "topK",
  stop_sequences: "stopSequences",
  seed: "seed",
  presence_penalty: "presencePenalty",
  frequency_penalty: "frequencyPenalty",
} satisfies Readonly<Record<SettingName, keyof ModelSettings>>;

/** The setting of a name in snake or camel case (`maxOutputTokens`); undefined for an unknown name. */
export function settingOf(name: string): SettingName | undefined {
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.hasOwn(settingTable, snake) ? (snake as SettingName) : undefined;
}

/** Parses settings by their names; mistakes are reported. A setting without a value counts as left out. */
export function parseSettings(
  reader: FieldReader,
  field: string,
  values: Readonly<Record<string, unknown>>,
  toName: (name: string) => SettingName | undefined = settingOf,
): ModelSettings | undefined {
  const settings: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === undefined) continue;
    const known = toName(name);
    if (known === undefined) {
      const names: readonly string[] = field === "settings" ? Object.keys(settingTable) : Object.values(optionOf);
      const hint = didYouMean(nearest(name, names), `The settings are ${names.join(", ")}.`);
      reader.reject([field, name], `There is no setting ${name} in ${field}.`, hint);
      continue;
    }
    const { accepts, wanted } = settingTable[known];
    if (accepts(value)) settings[optionOf[known]] = Array.isArray(value) ? Object.freeze([...value]) : value;
    else {
      const what = `${field}.${name} must be ${wanted} and is ${JSON.stringify(value)}.`;
      reader.reject([field, name], what, "Correct the value, or remove the setting.");
    }
  }
  return Object.keys(settings).length === 0 ? undefined : Object.freeze(settings);
}

/** Parses the field `settings`. */
export function parseSettingsField(reader: FieldReader): ModelSettings | undefined {
  const value = reader.value("settings");
  if (value === undefined) return undefined;
  if (isRecord(value)) return parseSettings(reader, "settings", value);
  return reader.reject(["settings"], "settings must be an object.", "Write `settings: { temperature: 0.2 }`.");
}

/** The JSON Schema of the field `settings`, for editors. */
export const settingsSchema: JsonSchema = {
  type: "object",
  properties: Object.fromEntries(
    Object.entries(settingTable).map(([name, { schema, description }]) => [name, { ...schema, description }]),
  ),
  additionalProperties: false,
};
