import type { ModelSettings } from "../../core/model-settings.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { readName } from "../front-matter/name.ts";
import type { FieldReader } from "../front-matter/reader.ts";
import { readConfig } from "./config.ts";
import { modelOf } from "./model.ts";
import { readInput, readOutput } from "./schemas.ts";

/** What the front matter of dotprompt says, under the names of our own fields. */
export interface DotpromptValues {
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly model: string | undefined;
  readonly provider: string | undefined;
  readonly input: JsonSchema | undefined;
  readonly output: JsonSchema | undefined;
  readonly tools: readonly string[] | undefined;
  readonly thinking: boolean | undefined;
  readonly thinking_budget: number | undefined;
  readonly settings: ModelSettings | undefined;
}

/** Fields of markdown prompts, and what says the same in dotprompt. */
const elsewhere: Readonly<Record<string, string>> = {
  system_prompt: 'Write {{role "system"}} before its text, and {{role "user"}} before the rest.',
  provider: "Write it before the model: `model: google/gemini-2.5-flash`.",
  format: "Write `output: { schema: ... }`.",
  thinking: "Write `config: { thinkingConfig: { thinkingBudget: 2000 } }`.",
  thinking_budget: "Write `config: { thinkingConfig: { thinkingBudget: 2000 } }`.",
  settings: "Write `config: { temperature: 0.2 }`.",
  toolDefs: "Tools are those of the service: write their names under `tools`.",
};

/**
 * Reads the front matter of a file in the form of Google's dotprompt. What else stands in it (`variant`, `ext`, `metadata`) is kept,
 * as every field that is not known.
 *
 * @see https://google.github.io/dotprompt/reference/frontmatter/
 */
export function readDotprompt(reader: FieldReader): DotpromptValues {
  for (const [field, hint] of Object.entries(elsewhere)) {
    if (!Object.hasOwn(reader.frontMatter.values, field)) continue;
    reader.wrong([field], `A .prompt file has no field ${field}.`, hint);
    reader.value(field);
  }
  const model = reader.text("model", "googleai/gemini-2.5-flash");
  return {
    name: readName(reader),
    title: reader.text("title", "Summarise a text"),
    description: reader.text("description", "Summarises a text."),
    provider: undefined,
    model: undefined,
    ...(model === undefined ? {} : modelOf(model)),
    input: readInput(reader),
    output: readOutput(reader),
    tools: reader.texts("tools", "[weather.forecast, fs.*]"),
    ...readConfig(reader),
  };
}

const kept: ReadonlySet<string> = new Set(["variant", "version", "metadata", "ext"]);

/** True for a field that dotprompt knows, and that is only kept here: `variant`, `acme.owner`. */
export function isKept(field: string): boolean {
  return kept.has(field) || field.includes(".");
}
