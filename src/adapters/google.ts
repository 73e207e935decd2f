import { isRecord, present } from "../lib/value.ts";
import type { ToolAnswer, ToolCall, ToolChoice, ToolDefinitionForModel } from "../toolset/toolset-types.ts";
import { type AnswerPart, answerParts, mention, textOfParts } from "./answer-content.ts";
import { googleProjection } from "./projection/google-schema.ts";
import {
  type AdaptedTools,
  type AdapterOptions,
  argumentsOf,
  cachedWriter,
  readAdapterOptions,
  recordsIn,
  type ToolLoss,
  ToolWriter,
} from "./tool-writer.ts";

/** A function of Gemini. */
export interface GoogleFunctionDeclaration {
  name: string;
  description?: string;
  /** Missing without parameters: Gemini refuses an object without properties. */
  parameters?: { [keyword: string]: unknown };
}

/** The functions of a request. */
export interface GoogleTool {
  functionDeclarations: GoogleFunctionDeclaration[];
}

/** The function calling mode of Gemini. */
export interface GoogleToolConfig {
  functionCallingConfig: { mode: "AUTO" | "ANY" | "NONE"; allowedFunctionNames?: string[] };
}

/** A part of a content with results. */
export type GoogleResultPart =
  | { functionResponse: { id?: string; name: string; response: { [key: string]: unknown } } }
  | { inlineData: { mimeType: string; data: string } };

/** The results of a turn, as one content. */
export interface GoogleResultContent {
  role: "user";
  parts: GoogleResultPart[];
}

/** Tools for the Gemini API and Vertex AI, and back. */
export interface GoogleAdapter {
  /** Undefined for none. */
  readonly tools: GoogleTool[] | undefined;
  /** Undefined where there are no tools. */
  readonly toolConfig: GoogleToolConfig | undefined;
  /** The parts of schemas that Gemini does not get. */
  readonly lost: readonly ToolLoss[];
  /** The calls in a response, in a content, or in its `parts`. A call without an id gets one. */
  calls(given: unknown): readonly ToolCall[];
  /** The content to send back, with images beside the results they belong to. */
  results(answers: readonly ToolAnswer[]): Promise<GoogleResultContent>;
}

/** Prefix of the ids for calls without one. */
const ownId = "toolweave-";

/** The tools of a toolset for Gemini; also parses its calls and writes its results. */
export function toGoogle(offered: AdaptedTools, options: AdapterOptions = {}): GoogleAdapter {
  const { run = offered } = readAdapterOptions(options, "of toGoogle");
  const writer = new ToolWriter(run, write);
  return {
    get tools() {
      const functionDeclarations = writer.tools();
      return functionDeclarations === undefined ? undefined : [{ functionDeclarations }];
    },
    get toolConfig() {
      return configOf(writer.choice());
    },
    get lost() {
      return writer.lost();
    },
    calls: (given) =>
      partsIn(given).map(({ id, name, args }, index) => ({
        id: typeof id === "string" && id !== "" ? id : `${ownId}${index}`,
        name: String(name),
        input: writer.input(String(name), argumentsOf(args)),
      })),
    async results(answers) {
      return { role: "user", parts: (await Promise.all(answers.map(resultParts))).flat() };
    },
  };
}

const modes = { auto: "AUTO", required: "ANY", none: "NONE" } as const;

function configOf(choice: ToolChoice | undefined): GoogleToolConfig | undefined {
  if (choice === undefined) return undefined;
  if (typeof choice === "string") return { functionCallingConfig: { mode: modes[choice] } };
  return { functionCallingConfig: { mode: "ANY", allowedFunctionNames: [choice.tool] } };
}

const write = cachedWriter(({ name, description, inputSchema }: ToolDefinitionForModel) => {
  const projection = googleProjection(inputSchema);
  const parameters = projection.schema.properties === undefined ? undefined : projection.schema;
  const tool: GoogleFunctionDeclaration = present({ name, description, parameters });
  return { tool, projection };
});

/** The calls, at whatever level of a response they are given. */
function partsIn(given: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (Array.isArray(given)) return recordsIn(recordsIn(given).map(({ functionCall }) => functionCall));
  if (!isRecord(given)) return [];
  const [candidate] = recordsIn(given.candidates);
  if (candidate !== undefined) return partsIn(candidate.content);
  return partsIn(given.parts);
}

async function resultParts(answer: ToolAnswer): Promise<readonly GoogleResultPart[]> {
  const { id, name, status } = answer;
  const parts = await answerParts(answer);
  const shown = parts.filter((part) => part.kind === "media" && isShown(part.mediaType));
  const rest = parts.filter((part) => !shown.includes(part));
  const response = status === "ok" ? { output: outputOf(rest, shown.length) } : { error: textOfParts(rest) };
  return [
    { functionResponse: { ...(id.startsWith(ownId) ? {} : { id }), name, response } },
    ...shown.flatMap((part) =>
      part.kind === "media" ? [{ inlineData: { mimeType: part.mediaType, data: part.base64 } }] : [],
    ),
  ];
}

function outputOf(parts: readonly AnswerPart[], shown: number): unknown {
  const [only] = parts;
  if (only === undefined) return `${shown} ${shown === 1 ? "file follows" : "files follow"}.`;
  if (parts.length === 1 && only.kind === "json") return only.value;
  return parts.map((part) => (part.kind === "media" ? mention(part) : part.text)).join("\n\n");
}

function isShown(mediaType: string): boolean {
  return /^(?:image\/(?:png|jpeg|webp|heic|heif)|application\/pdf|audio\/|video\/)/.test(mediaType);
}
