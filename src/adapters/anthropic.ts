import { isRecord, present } from "../lib/value.ts";
import type { ToolAnswer, ToolCall, ToolChoice, ToolDefinitionForModel } from "../toolset/toolset-types.ts";
import { type AnswerPart, answerParts, mention } from "./answer-content.ts";
import { anthropicProjection } from "./projection/plain-schema.ts";
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

/** A tool of the Messages API. */
export interface AnthropicTool {
  name: string;
  description?: string;
  input_schema: { type: "object"; [keyword: string]: unknown };
}

/** The tool choice of the Messages API. */
export type AnthropicToolChoice =
  | { type: "auto" }
  | { type: "any" }
  | { type: "none" }
  | { type: "tool"; name: string };

/** The images that the Messages API accepts. */
export type AnthropicImageType = "image/jpeg" | "image/png" | "image/gif" | "image/webp";

/** A part of a result. */
export type AnthropicResultBlock =
  | { type: "text"; text: string }
  | { type: "image"; source: { type: "base64"; media_type: AnthropicImageType; data: string } }
  | { type: "document"; source: { type: "base64"; media_type: "application/pdf"; data: string } };

/** The result of a call. */
export interface AnthropicToolResult {
  type: "tool_result";
  tool_use_id: string;
  content: AnthropicResultBlock[];
  is_error: boolean;
}

/** The results of a turn, as one message. */
export interface AnthropicResultMessage {
  role: "user";
  content: AnthropicToolResult[];
}

/** Tools for Anthropic's Messages API and back. */
export interface AnthropicAdapter {
  /** Undefined for none. */
  readonly tools: AnthropicTool[] | undefined;
  /** Undefined where there are no tools. */
  readonly toolChoice: AnthropicToolChoice | undefined;
  /** The parts of schemas that Anthropic does not get. */
  readonly lost: readonly ToolLoss[];
  /** The calls in a message of the model, or in its `content`. */
  calls(given: unknown): readonly ToolCall[];
  /** The message to send back: one, because all results of a turn belong together. */
  results(answers: readonly ToolAnswer[]): Promise<AnthropicResultMessage>;
}

/** The tools of a toolset for Anthropic's Messages API; also parses its calls and writes its results. */
export function toAnthropic(offered: AdaptedTools, options: AdapterOptions = {}): AnthropicAdapter {
  const { run = offered } = readAdapterOptions(options, "of toAnthropic");
  const writer = new ToolWriter(run, write);
  return {
    get tools() {
      return writer.tools();
    },
    get toolChoice() {
      return choiceOf(writer.choice());
    },
    get lost() {
      return writer.lost();
    },
    calls(given) {
      const uses = recordsIn(isRecord(given) ? given.content : given).filter(({ type }) => type === "tool_use");
      return uses.map(({ id, name, input }) => ({
        id: String(id),
        name: String(name),
        input: writer.input(String(name), argumentsOf(input)),
      }));
    },
    async results(answers) {
      return { role: "user", content: await Promise.all(answers.map(resultOf)) };
    },
  };
}

function choiceOf(choice: ToolChoice | undefined): AnthropicToolChoice | undefined {
  if (typeof choice === "object") return { type: "tool", name: choice.tool };
  return choice === undefined ? undefined : { type: choice === "required" ? "any" : choice };
}

const write = cachedWriter(({ name, description, inputSchema }: ToolDefinitionForModel) => {
  const projection = anthropicProjection(inputSchema);
  const input_schema = { ...projection.schema, type: "object" as const };
  const tool: AnthropicTool = present({ name, description, input_schema });
  return { tool, projection };
});

async function resultOf(answer: ToolAnswer): Promise<AnthropicToolResult> {
  const content = (await answerParts(answer)).map(blockOf);
  return { type: "tool_result", tool_use_id: answer.id, content, is_error: answer.status !== "ok" };
}

/** The API refuses an empty text. */
function blockOf(part: AnswerPart): AnthropicResultBlock {
  if (part.kind !== "media") return { type: "text", text: part.text.trim() === "" ? "(blank)" : part.text };
  const { mediaType, base64: data } = part;
  if (isImage(mediaType)) return { type: "image", source: { type: "base64", media_type: mediaType, data } };
  if (mediaType === "application/pdf")
    return { type: "document", source: { type: "base64", media_type: mediaType, data } };
  return { type: "text", text: mention(part) };
}

function isImage(mediaType: string): mediaType is AnthropicImageType {
  return ["image/jpeg", "image/png", "image/gif", "image/webp"].includes(mediaType);
}
