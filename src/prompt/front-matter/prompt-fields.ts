import type { JsonSchema } from "../../core/schema/types.ts";
import { parseDotpromptFields } from "../dotprompt/dotprompt-fields.ts";
import { isDotprompt } from "../prompt-files.ts";
import { FieldReader } from "./field-reader.ts";
import type { FrontMatter } from "./front-matter.ts";
import { parseSettingsField, settingsSchema } from "./settings-field.ts";

/** One field of the front matter. */
interface PromptField<T> {
  /** For authors, as editors show it. */
  readonly description: string;
  /** The values it may have, for editors. */
  readonly schema: JsonSchema;
  /** Its value in the front matter; a mistake is reported. */
  parse(reader: FieldReader): T;
}

const text = (name: string, example: string, description: string): PromptField<string | undefined> => ({
  description,
  schema: { type: "string", minLength: 1, examples: [example] },
  parse: (reader) => reader.text(name, example),
});

/** The keywords that say of which type a value is. */
const typeKeywords = ["type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"];

// Draft 7, which editors support best.
const jsonSchema: JsonSchema = { type: "object", allOf: [{ $ref: "http://json-schema.org/draft-07/schema#" }] };
const answerSchema: JsonSchema = { ...jsonSchema, anyOf: typeKeywords.map((keyword) => ({ required: [keyword] })) };

/** Every field a prompt may have, by its name in the front matter, in the order in which the docs name them. */
export const fieldTable = {
  name: {
    description:
      "The name of the prompt: a letter, then letters, digits, _ or -. Left out, it is the name of the file without its extension.",
    schema: { type: "string", pattern: "^[A-Za-z][A-Za-z0-9_-]{0,63}$", examples: ["summarize"] },
    parse: (reader) => reader.name(),
  },
  title: text(
    "title",
    "Summarise a text",
    "For people: what the prompt does, in a few words. Left out, it is the first # heading of the text.",
  ),
  description: text(
    "description",
    "Summarises a text.",
    "For people and models: what the prompt does and when to use it.",
  ),
  model: text("model", "gpt-5", "The model to use. Left out, it is the one the service has chosen."),
  provider: text("provider", "openai", "The provider of the model, such as openai or anthropic."),
  system_prompt: text(
    "system_prompt",
    "You are a careful editor.",
    "The system prompt, such as the role of the model. A template, as the text of the prompt is.",
  ),
  input: {
    description:
      "The values that a caller passes, as a JSON Schema. The text may use each name under properties. A call that does not fit is refused.",
    schema: jsonSchema,
    parse: (reader) => reader.schema("input"),
  },
  output: {
    description: "The form of the answer, as a JSON Schema. The answer of the model is checked against it.",
    schema: answerSchema,
    parse: (reader) => parseAnswerSchema(reader, "output"),
  },
  format: {
    description: "Another name of output. Give one of the two.",
    schema: { ...answerSchema, deprecated: true },
    parse: parseFormat,
  },
  tools: {
    description: "The tools and prompts that the model may use, by name. * stands for any characters.",
    schema: {
      anyOf: [
        { type: "array", items: { type: "string", pattern: "^[^\\s,;]+$" } },
        { type: "string", pattern: "^[^\\s,;]+$" },
      ],
      examples: [["weather.forecast", "fs.*"]],
    },
    parse: (reader) => reader.texts("tools", "[weather.forecast, fs.*]"),
  },
  thinking: {
    description: "Whether the model thinks before it answers, where it can.",
    schema: { type: "boolean" },
    parse: (reader) => reader.flag("thinking"),
  },
  thinking_budget: {
    description: "How many tokens it may spend on thinking.",
    schema: { type: "integer", minimum: 1, examples: [2000] },
    parse: (reader) => reader.count("thinking_budget", 2000),
  },
  settings: {
    description: "How the model writes its answer.",
    schema: settingsSchema,
    parse: parseSettingsField,
  },
} satisfies Readonly<Record<string, PromptField<unknown>>>;

const fields = Object.entries(fieldTable);

/** The value of each field of the table. */
export type FieldValues = { readonly [F in keyof typeof fieldTable]: ReturnType<(typeof fieldTable)[F]["parse"]> };

/** Parses every field of the table; in a file of dotprompt, the fields that correspond to them. */
export function parseFieldValues(reader: FieldReader): FieldValues {
  if (isDotprompt(reader.frontMatter.file)) {
    return { system_prompt: undefined, format: undefined, ...parseDotpromptFields(reader) };
  }
  const values: Record<string, unknown> = {};
  for (const [name, field] of fields) values[name] = field.parse(reader);
  return values as FieldValues;
}

/** The form of the answer. Models and their providers need to know whether it is an object, a list or a text. */
function parseAnswerSchema(reader: FieldReader, field: "output" | "format"): JsonSchema | undefined {
  const schema = reader.schema(field);
  if (schema === undefined || typeKeywords.some((keyword) => schema[keyword] !== undefined)) return schema;
  const type = schema.items === undefined && schema.prefixItems === undefined ? "object" : "array";
  return reader.reject([field], `${field} has no type.`, `Write \`type: ${type}\` in it.`, "schema");
}

function parseFormat(reader: FieldReader): JsonSchema | undefined {
  const format = parseAnswerSchema(reader, "format");
  if (format === undefined || reader.value("output") === undefined) return format;
  return reader.reject(["format"], "Both output and format are given, and they mean the same.", "Keep `output`.");
}

/** The front matter of a prompt under the names of `Prompt`. */
export interface PromptFields extends Omit<FieldValues, "system_prompt" | "thinking_budget" | "format"> {
  /** A template. */
  readonly system: string | undefined;
  readonly thinkingBudget: number | undefined;
  /** The fields without a meaning here. */
  readonly unknown: Readonly<Record<string, unknown>> | undefined;
}

/** Parses the fields of a prompt. @throws ToolkitError `INVALID_PROMPT`, `INVALID_NAME`, `RESERVED_NAME` */
export function parsePromptFields(frontMatter: FrontMatter, namePrefix = ""): PromptFields {
  const reader = new FieldReader(frontMatter, { namePrefix });
  const { system_prompt, thinking_budget, output, format, ...values } = parseFieldValues(reader);
  return {
    ...values,
    system: system_prompt,
    output: output ?? format,
    thinkingBudget: thinking_budget,
    unknown: reader.rest(),
  };
}
