import type { LanguageModelV4Message, LanguageModelV4ToolResultPart } from "@ai-sdk/provider";
import {
  type AiSdkContentPart,
  type AiSdkOutput,
  textOfContent,
  toAiSdkOutput,
} from "../../adapters/answer-content.ts";
import type { ToolAnswer } from "../../toolset/toolset-types.ts";
import type { RequestedCall } from "./reply.ts";
import type { Results } from "./run-results.ts";

/** How an answer is told. */
export interface TellingOptions {
  readonly results: Results;
  /** Where its result is kept; undefined where there is none. */
  readonly uri: string | undefined;
  /** How to read the result, where the model has not been told yet. */
  readonly guidance: string;
}

/** What became of a call, for the model that made it: cut where it is too long. */
export async function resultPart(answer: ToolAnswer, options: TellingOptions): Promise<LanguageModelV4ToolResultPart> {
  const told = await toAiSdkOutput(answer);
  const shown = options.results.isReading(answer.name) ? told : await cut(told, answer, options);
  const output = guided(shown, options.guidance);
  return { type: "tool-result", toolCallId: answer.id, toolName: answer.name, output };
}

/** What a model is told of a call whose arguments cannot be read. */
export function malformedPart({ id, name, malformed }: RequestedCall): LanguageModelV4ToolResultPart {
  const value = `Failed (INVALID_INPUT): the arguments of ${name} are no JSON: ${malformed}. Nothing ran. Call it again with valid JSON.`;
  return { type: "tool-result", toolCallId: id, toolName: name, output: { type: "error-text", value } };
}

/** The results of one turn as a message. */
export function toolMessage(parts: readonly LanguageModelV4ToolResultPart[]): LanguageModelV4Message {
  return { role: "tool", content: [...parts] };
}

/** The beginning of what is too long: of the same text `read_resource` reads, so that offsets in one hold in the other. */
async function cut(
  output: AiSdkOutput,
  { content }: ToolAnswer,
  { results, uri }: TellingOptions,
): Promise<AiSdkOutput> {
  switch (output.type) {
    case "text":
      // Some providers refuse a result that is an empty text.
      return { ...output, value: results.shown(output.value, uri) || "The result is an empty text." };
    case "error-text":
      return { ...output, value: results.shown(output.value, uri) };
    case "execution-denied":
      return { ...output, reason: results.shown(output.reason ?? "", undefined) };
    case "json":
      if (content === undefined || results.fits(JSON.stringify(output.value))) return output;
      return { type: "text", value: results.shown(await textOfContent(content), uri) };
    default: {
      const texts = output.value.flatMap((part) => (part.type === "text" ? [part.text] : []));
      if (content === undefined || results.fits(...texts)) return output;
      const text = results.shown(await textOfContent(content), uri);
      return {
        type: "content",
        value: [{ type: "text", text }, ...output.value.filter(({ type }) => type !== "text")],
      };
    }
  }
}

/** How to read it stands beside the result: a message of its own between results and answer is refused by some providers. */
function guided(output: AiSdkOutput, guidance: string): AiSdkOutput {
  if (guidance === "") return output;
  const note: AiSdkContentPart = { type: "text", text: `[How to read this result]\n${guidance}` };
  if (output.type === "content") return { type: "content", value: [...output.value, note] };
  if (output.type === "text") return { type: "text", value: `${output.value}\n\n${note.text}` };
  if (output.type !== "json") return output;
  return { type: "content", value: [{ type: "text", text: JSON.stringify(output.value) }, note] };
}
