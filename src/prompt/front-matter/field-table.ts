import type { JsonSchema } from "../../core/schema/types.ts";
import { readDotprompt } from "../dotprompt/values.ts";
import { isDotprompt } from "../file-name.ts";
import { readName } from "./name.ts";
import type { FieldReader } from "./reader.ts";
import { settingsField, settingsSchema } from "./settings.ts";

/** One field of the front matter. */
interface Field<T> {
  /** For authors, as editors show it. */
  readonly description: string;
  /** What its value may be, for editors. */
  readonly schema: JsonSchema;
  /** Its value as the front matter has it; what is wrong with it is reported. */
  read(reader: FieldReader): T;
}

const minTitleLength = 10;

const text = (name: string, example: string, description: string): Field<string | undefined> => ({
  description,
  schema: { type: "string", minLength: 1, examples: [example] },
  read: (reader) => reader.text(name, example),
});

// Of the draft that editors know best.
const jsonSchema: JsonSchema = { type: "object", allOf: [{ $ref: "http://json-schema.org/draft-07/schema#" }] };

/** Every field a prompt may have, by its name in the front matter, in the order in which the docs name them. */
export const fieldTable = {
  name: {
    description:
      "What the prompt is called by: a letter, then letters, digits, _ or -. Left out, it is the name of the file without its extension.",
    schema: { type: "string", pattern: "^[A-Za-z][A-Za-z0-9_-]{0,63}$", examples: ["summarize"] },
    read: readName,
  },
  title: {
    description: `For people: what the prompt does, in a few words, at least ${minTitleLength} characters. Left out, it is the first # heading of the text.`,
    schema: { type: "string", minLength: minTitleLength, examples: ["Summarise a text"] },
    read: readTitle,
  },
  description: text(
    "description",
    "Summarises a text.",
    "For people and models: what the prompt does and when to use it.",
  ),
  model: text("model", "gpt-5", "The model to use. Left out, it is the one the service has chosen."),
  provider: text("provider", "openai", "Whose model it is, such as openai or anthropic."),
  system_prompt: text(
    "system_prompt",
    "You are a careful editor.",
    "What the model is told about its role. A template, as the text of the prompt is.",
  ),
  input: {
    description:
      "What a caller passes, as a JSON Schema. The text may use each name under properties. A call that does not fit is refused.",
    schema: jsonSchema,
    read: (reader) => reader.schema("input"),
  },
  output: {
    description: "The form of the answer, as a JSON Schema. The answer of the model is checked against it.",
    schema: jsonSchema,
    read: (reader) => reader.schema("output"),
  },
  format: {
    description: "Another name of output. Give one of the two.",
    schema: { ...jsonSchema, deprecated: true },
    read: readFormat,
  },
  tools: {
    description: "What the model may use: names of tools and prompts. * stands for any characters.",
    schema: {
      anyOf: [
        { type: "array", items: { type: "string", pattern: "^[^\\s,;]+$" } },
        { type: "string", pattern: "^[^\\s,;]+$" },
      ],
      examples: [["weather.forecast", "fs.*"]],
    },
    read: (reader) => reader.texts("tools", "[weather.forecast, fs.*]"),
  },
  thinking: {
    description: "Whether the model thinks before it answers, where it can.",
    schema: { type: "boolean" },
    read: (reader) => reader.flag("thinking"),
  },
  thinking_budget: {
    description: "How many tokens it may spend on thinking.",
    schema: { type: "integer", minimum: 1, examples: [2000] },
    read: (reader) => reader.count("thinking_budget", 2000),
  },
  settings: {
    description: "How the model writes its answer.",
    schema: settingsSchema,
    read: settingsField,
  },
} satisfies Readonly<Record<string, Field<unknown>>>;

/** The value of each field. */
export type FieldValues = { readonly [F in keyof typeof fieldTable]: ReturnType<(typeof fieldTable)[F]["read"]> };

/** Reads every field of the table; in a file of dotprompt, what says the same there. */
export function readValues(reader: FieldReader): FieldValues {
  if (isDotprompt(reader.frontMatter.file)) return { ...noValues, ...readDotprompt(reader) };
  const entries = Object.entries(fieldTable).map(([name, field]) => [name, field.read(reader)]);
  return Object.fromEntries(entries) as FieldValues;
}

const noValues = { system_prompt: undefined, format: undefined };

function readTitle(reader: FieldReader): string | undefined {
  const title = reader.text("title", "Summarise a text");
  if (title === undefined || [...title.trim()].length >= minTitleLength) return title;
  return reader.wrong(
    ["title"],
    `The title ${JSON.stringify(title)} has fewer than ${minTitleLength} characters.`,
    "Say in a few words what the prompt does, or remove the field: then the first `# heading` of the text is the title.",
  );
}

function readFormat(reader: FieldReader): JsonSchema | undefined {
  const format = reader.schema("format");
  if (format === undefined || !reader.has("output")) return format;
  return reader.wrong(["format"], "Both output and format are given, and they mean the same.", "Keep `output`.");
}
