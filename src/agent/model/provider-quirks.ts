import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4ToolResultOutput,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import { openAIStrictProjection } from "../../adapters/projection/openai-schema.ts";
import { canonicalJson } from "../../lib/canonical.ts";

/** What is asked; the signal comes from the call. */
export type ModelQuestion = Omit<LanguageModelV4CallOptions, "abortSignal">;

type ContentOutput = Extract<LanguageModelV4ToolResultOutput, { type: "content" }>;
type OutputWriter = (output: ContentOutput) => LanguageModelV4ToolResultOutput;

/** The same question, such that no provider refuses or garbles it for a trait of its package. */
export function withoutQuirks({ provider }: LanguageModelV4, question: ModelQuestion): ModelQuestion {
  const asked = withStrictness(question);
  const write = provider.startsWith("google") ? oneText : provider.endsWith(".chat") ? textAlone : undefined;
  if (write === undefined) return asked;
  const prompt = asked.prompt.map((message) => rewritten(message, write));
  return { ...asked, prompt: provider.startsWith("mistral") ? prompt.flatMap(afterResults) : prompt };
}

/**
 * The packages of OpenAI's form ask for strict mode whatever the schema is, and the API refuses what is not in its grammar. Without strict
 * mode it takes any schema, and the answer is validated here as always.
 */
function withStrictness(question: ModelQuestion): ModelQuestion {
  const { responseFormat, providerOptions = {} } = question;
  if (responseFormat?.type !== "json" || responseFormat.schema === undefined) return question;
  const schema = responseFormat.schema as Readonly<Record<string, unknown>>;
  const { strict, schema: told } = openAIStrictProjection(schema);
  if (strict && canonicalJson(told) === canonicalJson(schema)) return question;
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
 * Mistral refuses what a user says right after results: where the answer was empty, or where a conversation goes on after a tool that took
 * control.
 */
function afterResults(
  message: LanguageModelV4Message,
  index: number,
  all: readonly LanguageModelV4Message[],
): LanguageModelV4Message[] {
  if (message.role !== "user" || all[index - 1]?.role !== "tool") return [message];
  return [{ role: "assistant", content: [{ type: "text", text: "I have the results." }] }, message];
}

/** Google's package makes a result of each text of a result, and the API wants one for each call. */
function oneText(output: ContentOutput): LanguageModelV4ToolResultOutput {
  const others = output.value.filter(({ type }) => type !== "text");
  if (others.length === 0) return textAlone(output);
  const texts = output.value.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const text = texts.length === 0 ? "The result is attached." : texts.join("\n\n");
  return { ...output, value: [{ type: "text", text }, ...others] };
}

/** In the form of Chat Completions a result is a text: the packages write anything else as JSON, files in base64 included. */
function textAlone({ value }: ContentOutput): LanguageModelV4ToolResultOutput {
  const texts = value.flatMap((part) => {
    if (part.type === "text") return [part.text];
    if (part.type !== "file") return [];
    const name = part.filename === undefined ? "" : ` ${part.filename}`;
    return [`[A file${name} of the type ${part.mediaType}, which you cannot be shown in a result.]`];
  });
  return { type: "text", value: texts.join("\n\n") };
}
