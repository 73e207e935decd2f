import type { ModelSettings } from "../../core/model-settings.ts";
import { isRecord } from "../../lib/value.ts";
import type { FieldReader } from "../front-matter/reader.ts";
import { readSettings, type SettingName, settingNamed } from "../front-matter/settings.ts";

/** What the `config` of dotprompt says. */
export interface DotpromptConfig {
  readonly settings: ModelSettings | undefined;
  readonly thinking: boolean | undefined;
  readonly thinking_budget: number | undefined;
}

/** What providers call the same. */
const settingOf: Readonly<Record<string, SettingName>> = {
  maxTokens: "max_output_tokens",
  max_tokens: "max_output_tokens",
  stop: "stop_sequences",
};

/** What is said elsewhere here, or not at all. */
const elsewhere: Readonly<Record<string, string>> = {
  apiKey: "A key does not belong into a prompt file: give it to the provider in the service.",
  version: "Name it in the model: `model: googleai/gemini-2.5-flash-001`.",
  safetySettings: "Set it where the service makes the model.",
  responseModalities: "A prompt answers in text or JSON: remove it.",
  responseMimeType: "Write `output: { format: json }`.",
  responseSchema: "Write `output: { schema: ... }`.",
};

const nameOf = (name: string) => settingNamed(name) ?? (Object.hasOwn(settingOf, name) ? settingOf[name] : undefined);

/** Reads `config`; a setting there is none of here is reported, for it would change nothing. */
export function readConfig(reader: FieldReader): DotpromptConfig {
  const none = { settings: undefined, thinking: undefined, thinking_budget: undefined };
  const config = reader.value("config");
  if (config === undefined) return none;
  if (!isRecord(config)) {
    reader.wrong(["config"], "config must be an object.", "Write `config: { temperature: 0.2 }`.");
    return none;
  }
  const settings: Record<string, unknown> = {};
  let thinking: Pick<DotpromptConfig, "thinking" | "thinking_budget"> = none;
  for (const [name, value] of Object.entries(config)) {
    if (name === "thinkingConfig" || name === "thinking") thinking = readThinking(reader, name, value);
    else if (Object.hasOwn(elsewhere, name)) {
      reader.wrong(["config", name], `config.${name} cannot be said in a prompt.`, elsewhere[name] ?? "Remove it.");
    } else settings[name] = value;
  }
  return { ...thinking, settings: readSettings(reader, "config", settings, nameOf) };
}

/** `{ thinkingBudget }` of Gemini, 0 for none and -1 for as much as it likes, or `{ enabled, budgetTokens }` of Claude. */
function readThinking(
  reader: FieldReader,
  field: string,
  value: unknown,
): Pick<DotpromptConfig, "thinking" | "thinking_budget"> {
  const none = { thinking: undefined, thinking_budget: undefined };
  const path = ["config", field];
  const example = "Write `thinkingConfig: { thinkingBudget: 2000 }`.";
  if (!isRecord(value)) {
    reader.wrong(path, `config.${field} must be an object.`, example);
    return none;
  }
  const { thinkingBudget, budgetTokens, enabled, includeThoughts, type, ...others } = value;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) reader.wrong([...path, unknown], `config.${field}.${unknown} is not known.`, example);
  const budget = thinkingBudget ?? budgetTokens;
  if (budget !== undefined && !(Number.isSafeInteger(budget) && (budget as number) >= -1)) {
    reader.wrong(path, `The budget of config.${field} must be a whole number.`, example);
    return none;
  }
  const isOff = budget === 0 || enabled === false || type === "disabled";
  const isOn = budget !== undefined || enabled === true || type === "enabled" || includeThoughts === true;
  if (isOff) return { thinking: false, thinking_budget: undefined };
  if (!isOn) return none;
  return { thinking: true, thinking_budget: typeof budget === "number" && budget > 0 ? budget : undefined };
}
