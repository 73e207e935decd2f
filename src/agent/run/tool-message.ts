import type { LanguageModelV4ToolResultPart } from "@ai-sdk/provider";
import {
  type AiSdkContentPart,
  type AiSdkOutput,
  textOfContent,
  toAiSdkOutput,
} from "../../adapters/answer-content.ts";
import type { ToolAnswer } from "../../toolset/toolset-types.ts";
import type { Results } from "./run-results.ts";

/** Options of a result for a model. */
export interface ResultOptions {
  readonly results: Results;
  /** The URI of the kept result; undefined where there is none. */
  readonly uri: string | undefined;
  /** Format guidance that the model has not got yet. */
  readonly guidance: string;
}

/** The answer to a call for the model that made it, cut where it is too long. */
export async function resultPart(answer: ToolAnswer, options: ResultOptions): Promise<LanguageModelV4ToolResultPart> {
  const whole = await toAiSdkOutput(answer);
  const shown = options.results.isReading(answer.name) ? whole : await cut(whole, answer, options);
  const output = guided(shown, options.guidance);
  return { type: "tool-result", toolCallId: answer.id, toolName: answer.name, output };
}

/** Cuts the text that `read_resource` reads too, so that offsets in one hold in the other. */
async function cut(
  output: AiSdkOutput,
  { content }: ToolAnswer,
  { results, uri }: ResultOptions,
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
      const others = output.value.filter(({ type }) => type !== "text");
      return { type: "content", value: [{ type: "text", text }, ...others] };
    }
  }
}

/** Guidance goes into the result: some providers refuse a message between results and answer. */
function guided(output: AiSdkOutput, guidance: string): AiSdkOutput {
  if (guidance === "") return output;
  const note: AiSdkContentPart = { type: "text", text: `[How to read this result]\n${guidance}` };
  if (output.type === "content") return { type: "content", value: [...output.value, note] };
  if (output.type === "text") return { type: "text", value: `${output.value}\n\n${note.text}` };
  if (output.type !== "json") return output;
  return { type: "content", value: [{ type: "text", text: JSON.stringify(output.value) }, note] };
}
