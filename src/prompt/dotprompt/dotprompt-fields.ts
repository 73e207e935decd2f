import type { ModelSettings } from "../../core/model-settings.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { isRecord } from "../../lib/value.ts";
import type { FieldReader } from "../front-matter/field-reader.ts";
import { parseSettings, type SettingName, settingOf } from "../front-matter/settings-field.ts";
import { parseInput, parseOutput } from "./dotprompt-schemas.ts";

/** The front matter of dotprompt under the names of our own fields. */
export interface DotpromptFields extends DotpromptConfig {
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly model: string | undefined;
  readonly provider: string | undefined;
  readonly input: JsonSchema | undefined;
  readonly output: JsonSchema | undefined;
  readonly tools: readonly string[] | undefined;
}

/** The field `config` of dotprompt. */
interface DotpromptConfig {
  readonly settings: ModelSettings | undefined;
  readonly thinking: boolean | undefined;
  readonly thinking_budget: number | undefined;
}

/** Fields of markdown prompts, and their equivalents in dotprompt. */
const equivalents: Readonly<Record<string, string>> = {
  system_prompt: 'Write {{role "system"}} before its text, and {{role "user"}} before the rest.',
  provider: "Write it before the model: `model: google/gemini-2.5-flash`.",
  format: "Write `output: { schema: ... }`.",
  thinking: "Write `config: { thinkingConfig: { thinkingBudget: 2000 } }`.",
  thinking_budget: "Write `config: { thinkingConfig: { thinkingBudget: 2000 } }`.",
  settings: "Write `config: { temperature: 0.2 }`.",
  toolDefs: "Tools are those of the service: write their names under `tools`.",
};

/**
 * Parses the front matter of a file in the form of Google's dotprompt. Its other fields (`variant`, `ext`, `metadata`) are kept, as
 * every unknown field.
 *
 * @see https://google.github.io/dotprompt/reference/frontmatter/
 */
export function parseDotpromptFields(reader: FieldReader): DotpromptFields {
  for (const [field, hint] of Object.entries(equivalents)) {
    if (!Object.hasOwn(reader.frontMatter.values, field)) continue;
    reader.reject([field], `A .prompt file has no field ${field}.`, hint);
    reader.value(field);
  }
  const model = reader.text("model", "googleai/gemini-2.5-flash");
  return {
    name: reader.name(),
    title: reader.text("title", "Summarise a text"),
    description: reader.text("description", "Summarises a text."),
    provider: undefined,
    model: undefined,
    ...(model === undefined ? {} : parseModel(model)),
    input: parseInput(reader),
    output: parseOutput(reader),
    tools: reader.texts("tools", "[weather.forecast, fs.*]"),
    ...parseConfig(reader),
  };
}

const keptFields: ReadonlySet<string> = new Set(["variant", "version", "metadata", "ext"]);

/** True for a field of dotprompt that is kept and has no meaning here: `variant`, `acme.owner`. */
export function isKeptField(field: string): boolean {
  return keptFields.has(field) || field.includes(".");
}

/** Our names of providers, by their names in dotprompt. */
const providerOf: Readonly<Record<string, string>> = {
  googleai: "google",
  "google-genai": "google",
  "google-ai": "google",
  gemini: "google",
  mistralai: "mistral",
};

/** Splits `googleai/gemini-2.5-flash` into the provider, under our name, and the model. */
function parseModel(written: string): { readonly provider: string | undefined; readonly model: string } {
  const slash = written.indexOf("/");
  if (slash <= 0 || slash === written.length - 1) return { provider: undefined, model: written };
  const provider = written.slice(0, slash);
  const known = Object.hasOwn(providerOf, provider.toLowerCase()) ? providerOf[provider.toLowerCase()] : undefined;
  return { provider: known ?? provider, model: written.slice(slash + 1) };
}

/** Our settings, by further names they have with providers. */
const settingAliases: Readonly<Record<string, SettingName>> = {
  maxTokens: "max_output_tokens",
  max_tokens: "max_output_tokens",
  stop: "stop_sequences",
};

/** Parts of `config` that a prompt cannot have here. */
const refusedConfig: Readonly<Record<string, string>> = {
  apiKey: "A key does not belong into a prompt file: give it to the provider in the service.",
  version: "Name it in the model: `model: googleai/gemini-2.5-flash-001`.",
  safetySettings: "Set it where the service makes the model.",
  responseModalities: "A prompt answers in text or JSON: remove it.",
  responseMimeType: "Write `output: { format: json }`.",
  responseSchema: "Write `output: { schema: ... }`.",
};

const toSetting = (name: string) =>
  settingOf(name) ?? (Object.hasOwn(settingAliases, name) ? settingAliases[name] : undefined);

const noThinking = { thinking: undefined, thinking_budget: undefined };

/** Parses `config`. An unknown setting is reported: it would have no effect. */
function parseConfig(reader: FieldReader): DotpromptConfig {
  const config = reader.value("config");
  if (config === undefined) return { ...noThinking, settings: undefined };
  if (!isRecord(config)) {
    reader.reject(["config"], "config must be an object.", "Write `config: { temperature: 0.2 }`.");
    return { ...noThinking, settings: undefined };
  }
  const settings: Record<string, unknown> = {};
  let thinking: Omit<DotpromptConfig, "settings"> = noThinking;
  for (const [name, value] of Object.entries(config)) {
    if (name === "thinkingConfig" || name === "thinking") thinking = parseThinking(reader, name, value);
    else if (Object.hasOwn(refusedConfig, name)) {
      const what = `config.${name} cannot be set in a prompt.`;
      reader.reject(["config", name], what, refusedConfig[name] ?? "Remove it.");
    } else settings[name] = value;
  }
  return { ...thinking, settings: parseSettings(reader, "config", settings, toSetting) };
}

/** Parses `{ thinkingBudget }` of Gemini, 0 for none and -1 for no limit, or `{ enabled, budgetTokens }` of Claude. */
function parseThinking(reader: FieldReader, field: string, value: unknown): Omit<DotpromptConfig, "settings"> {
  const path = ["config", field];
  const example = "Write `thinkingConfig: { thinkingBudget: 2000 }`.";
  if (!isRecord(value)) {
    reader.reject(path, `config.${field} must be an object.`, example);
    return noThinking;
  }
  const { thinkingBudget, budgetTokens, enabled, includeThoughts, type, ...others } = value;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) reader.reject([...path, unknown], `config.${field}.${unknown} is not known.`, example);
  const budget = thinkingBudget ?? budgetTokens;
  if (budget !== undefined && !(Number.isSafeInteger(budget) && (budget as number) >= -1)) {
    reader.reject(path, `The budget of config.${field} must be a whole number.`, example);
    return noThinking;
  }
  const isOff = budget === 0 || enabled === false || type === "disabled";
  const isOn = budget !== undefined || enabled === true || type === "enabled" || includeThoughts === true;
  if (isOff) return { thinking: false, thinking_budget: undefined };
  if (!isOn) return noThinking;
  return { thinking: true, thinking_budget: typeof budget === "number" && budget > 0 ? budget : undefined };
}
