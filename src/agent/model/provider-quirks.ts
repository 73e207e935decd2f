import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4ToolResultOutput,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import { openAIStrictProjection } from "../../adapters/projection/openai-schema.ts";
import { canonicalJson } from "../../lib/canonical.ts";

/** A request to a model; its signal comes from the call. */
export type ModelQuestion = Omit<LanguageModelV4CallOptions, "abortSignal">;

type ContentOutput = Extract<LanguageModelV4ToolResultOutput, { type: "content" }>;
type OutputWriter = (output: ContentOutput) => LanguageModelV4ToolResultOutput;

/** The question in a form that the package of the provider neither refuses nor garbles. */
export function withoutQuirks({ provider }: LanguageModelV4, question: ModelQuestion): ModelQuestion {
  const asked = withStrictness(question);
  const write = provider.startsWith("google") ? oneText : provider.endsWith(".chat") ? textOutput : undefined;
  if (write === undefined) return asked;
  const prompt = asked.prompt.map((message) => rewritten(message, write));
  return { ...asked, prompt: provider.startsWith("mistral") ? prompt.flatMap(afterResults) : prompt };
}

/**
 * The packages for OpenAI's APIs ask for strict mode whatever the schema, and the API refuses a schema outside of its grammar. Without
 * strict mode it accepts any schema, and the answer is validated here as always.
 */
function withStrictness(question: ModelQuestion): ModelQuestion {
  const { responseFormat, providerOptions = {} } = question;
  if (responseFormat?.type !== "json" || responseFormat.schema === undefined) return question;
  const schema = responseFormat.schema as Readonly<Record<string, unknown>>;
  const { strict, schema: projected } = openAIStrictProjection(schema);
  if (strict && canonicalJson(projected) === canonicalJson(schema)) return question;
  const loose: SharedV4ProviderOptions = { ...providerOptions };
  for (const name of ["openai", "openaiCompatible"]) loose[name] = { strictJsonSchema: false, ...loose[name] };
  return { ...question, providerOptions: loose };
}

function rewritten(message: LanguageModelV4Message, write: OutputWriter): LanguageModelV4Message {
  if (message.role !== "tool") return message;
  const content = message.content.map((part) =>
    part.type === "tool-result" && part.output.type === "content" ? { ...part, output: write(part.output) } : part,
  );
  return { ...message, content };
}

/**
 * Mistral refuses a user message right after results: one follows an empty answer, or a tool that took control of an earlier run of the
 * conversation.
 */
function afterResults(
  message: LanguageModelV4Message,
  index: number,
  all: readonly LanguageModelV4Message[],
): LanguageModelV4Message[] {
  if (message.role !== "user" || all[index - 1]?.role !== "tool") return [message];
  return [{ role: "assistant", content: [{ type: "text", text: "I have the results." }] }, message];
}

/** Google's package makes a result of each text in a result, and the API wants one for each call. */
function oneText(output: ContentOutput): LanguageModelV4ToolResultOutput {
  const others = output.value.filter(({ type }) => type !== "text");
  if (others.length === 0) return textOutput(output);
  const texts = output.value.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const text = texts.length === 0 ? "The result is attached." : texts.join("\n\n");
  return { ...output, value: [{ type: "text", text }, ...others] };
}

/** In Chat Completions a result is a text: the packages write anything else as JSON, with files in base64. */
function textOutput(output: ContentOutput): LanguageModelV4ToolResultOutput {
  return { type: "text", value: textAlone(output) };
}

/** The texts of a result, and a note in place of each file. */
function textAlone({ value }: ContentOutput): string {
  const texts = value.flatMap((part) => {
    if (part.type === "text") return [part.text];
    if (part.type !== "file") return [];
    const name = part.filename === undefined ? "" : ` ${part.filename}`;
    return [`[A file${name} of the type ${part.mediaType}, which you cannot be shown in a result.]`];
  });
  return texts.join("\n\n");
}

/** A result as a text. */
export function resultText(output: LanguageModelV4ToolResultOutput): string {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value;
    case "json":
    case "error-json":
      return JSON.stringify(output.value);
    case "execution-denied":
      return output.reason ?? "The call was denied.";
    case "content":
      return textAlone(output);
  }
}

/** The settings of a prompt for thinking. */
export interface Thinking {
  /** Default: that of the model, or true with a budget above 0. */
  readonly thinking?: boolean | undefined;
  /** In tokens. */
  readonly thinkingBudget?: number | undefined;
}

/** Options that make a model think, in the form of its provider. */
export type ThinkingOptions = Pick<LanguageModelV4CallOptions, "reasoning" | "providerOptions">;

type Effort = NonNullable<LanguageModelV4CallOptions["reasoning"]>;

/** The effort in place of a budget, for models without budgets. */
const efforts: readonly (readonly [upToTokens: number, effort: Effort])[] = [
  [1_024, "minimal"],
  [4_096, "low"],
  [16_384, "medium"],
  [32_768, "high"],
  [Number.POSITIVE_INFINITY, "xhigh"],
];
/** Anthropic refuses a smaller budget. */
const leastAnthropicBudget = 1_024;

/**
 * The options of a model for the thinking that a prompt asks for. The package of a provider translates the effort: to an effort, a level,
 * a budget of its own, or a warning. Anthropic and Google accept budgets, and get that of the prompt as well.
 */
export function thinkingOptions(model: LanguageModelV4, { thinking, thinkingBudget }: Thinking): ThinkingOptions {
  if (thinking === false || (thinking === undefined && thinkingBudget === 0)) return { reasoning: "none" };
  if (thinkingBudget === undefined || thinkingBudget === 0) {
    return thinking === true ? { reasoning: "medium", ...budgetOptions(model, undefined) } : {};
  }
  const effort = efforts.find(([upToTokens]) => thinkingBudget <= upToTokens)?.[1] ?? "medium";
  return { reasoning: effort, ...budgetOptions(model, thinkingBudget) };
}

function budgetOptions(
  { provider }: LanguageModelV4,
  budget: number | undefined,
): Pick<ThinkingOptions, "providerOptions"> {
  const names = provider.split(".");
  if (names.includes("anthropic") && budget !== undefined) {
    const budgetTokens = Math.max(leastAnthropicBudget, budget);
    return { providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens } } } };
  }
  if (names[0] === "google") {
    // Without this option Google sends no thoughts.
    const thinkingConfig = { includeThoughts: true, ...(budget === undefined ? {} : { thinkingBudget: budget }) };
    return { providerOptions: { google: { thinkingConfig } } };
  }
  return {};
}
