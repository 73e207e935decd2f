import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { AgentSource, AgentToolCall, FinishReason, TokenUsage } from "../../core/agent-event.ts";
import { messageOf } from "../../core/error.ts";
import type { Issue } from "../../core/error-catalog.ts";
import { answerForm, outputInstruction, outputTool } from "../../core/output-tool.ts";
import type { Content } from "../../core/resource.ts";
import type { SchemaLike } from "../../core/schema/types.ts";
import { validatorOf } from "../../core/schema/validator.ts";
import { Violation } from "../../core/schema/violation.ts";
import { parseJson } from "../../lib/nesting.ts";
import { base64Content, derivedContent, joinParts, textContent } from "../../resource/content.ts";
import { answerTool, type RunTool } from "../../toolset/run-tool.ts";
import { type ChosenModel, modelRefOf } from "../model/models.ts";
import { type Reply, textIn } from "../model/reply.ts";
import type { RunState } from "./run-state.ts";

/** The end of a run. */
export interface Ending {
  readonly content: Content;
  readonly finishReason: FinishReason;
}

/** The facts about a run in the `meta` of its answer. */
export interface AnswerMeta {
  /** The id of the run. */
  readonly run: string;
  /** `provider/name`. */
  readonly model: string;
  readonly finishReason: FinishReason;
  /** Calls of the model. */
  readonly steps: number;
  /** Of all steps, sub-agents included. */
  readonly usage: TokenUsage;
  readonly toolCalls: readonly AgentToolCall[];
  /** The sources that the model named. */
  readonly sources?: readonly AgentSource[] | undefined;
  /** The names of the evaluations that its tools ask for. */
  readonly evaluations?: readonly string[] | undefined;
}

/** The text of a reply with the files in it; undefined for an empty reply. */
export function textAnswer(reply: Reply, name: string): Content | undefined {
  const text = textIn(reply);
  const parts = text.trim() === "" ? [] : [textContent(text, { name })];
  for (const part of reply.content) {
    if (part.type !== "file" || part.data.type !== "data") continue;
    const { data } = part.data;
    const base64 = typeof data === "string" ? data : Buffer.from(data).toString("base64");
    parts.push(base64Content(base64, { name, mediaType: part.mediaType }));
  }
  return parts.length === 0 ? undefined : joinParts(parts, { name });
}

/** The answer of a run, with the facts about it in `meta`. */
export function answerOf(
  { content, finishReason }: Ending,
  {
    state,
    chosen,
    name,
    evaluations,
  }: {
    readonly state: RunState;
    readonly chosen: ChosenModel;
    readonly name: string;
    readonly evaluations: readonly string[];
  },
): Content {
  const { id: run, steps, usage, calls, sources } = state;
  const meta: AnswerMeta = {
    run,
    model: modelRefOf(chosen),
    finishReason,
    steps: steps.length,
    usage,
    toolCalls: calls,
    ...(sources.length === 0 ? {} : { sources }),
    ...(evaluations.length === 0 ? {} : { evaluations }),
  };
  return derivedContent(content, { name, meta: { ...content.meta, ...meta } });
}

/** The value of an answer, or the issues why it is none. */
type ParsedAnswer = { readonly value: unknown; readonly issues?: undefined } | { readonly issues: readonly Issue[] };

/** The form of a structured answer. */
export interface StructuredForm {
  /** For the JSON mode of the provider, without tools. */
  readonly responseFormat: LanguageModelV4CallOptions["responseFormat"];
  /** The tool by which the model answers, where it has others. */
  readonly tool: RunTool | undefined;
  /** For the system prompt. */
  readonly instruction: string | undefined;
  /** Parses an answer that came as text. */
  parse(text: string): Promise<ParsedAnswer>;
}

/**
 * Asks for a structured answer in the JSON mode of the provider where the model has no tools, else by the tool `submit_output`, because a
 * JSON mode keeps some models from calling tools.
 *
 * @throws ToolkitError `INVALID_SCHEMA`
 */
export function structuredForm(output: SchemaLike, name: string, hasTools: boolean): StructuredForm {
  const { schema, unwrap } = answerForm(output);
  const validate = validatorOf(output);
  const parse = async (text: string): Promise<ParsedAnswer> => {
    const found = jsonIn(text);
    if ("issue" in found) return { issues: [{ pointer: "", message: found.issue }] };
    const value = unwrap(found.value);
    const valid = await validate(value);
    if (!(valid instanceof Violation)) return { value };
    // Without a JSON mode that enforces the schema, models give a value that is no object without the object around it.
    const isBare = value !== found.value && !((await validate(found.value)) instanceof Violation);
    return isBare ? { value: found.value } : { issues: valid.issues };
  };
  if (hasTools)
    return { responseFormat: undefined, tool: answerTool(outputTool(output)), instruction: outputInstruction, parse };
  // The port is typed with draft 7; providers accept keywords that both drafts have.
  const responseFormat = { type: "json", schema: schema as never, name: toSchemaName(name) } as const;
  return { responseFormat, tool: undefined, instruction: undefined, parse };
}

/** The most fences around a JSON. */
const maxFences = 3;

/** The JSON of a text: the whole of it, or its one fenced block. */
function jsonIn(text: string, fences = 0): { readonly value: unknown } | { readonly issue: string } {
  try {
    return { value: parseJson(text) };
  } catch (error) {
    const fenced = fences < maxFences ? fencedIn(text) : undefined;
    if (fenced !== undefined) return jsonIn(fenced, fences + 1);
    return { issue: text.trim() === "" ? "is empty" : `is no JSON: ${messageOf(error)}` };
  }
}

/** The text between the first fence and the last one. It is searched for from both ends: a pattern for it would take quadratic time. */
function fencedIn(text: string): string | undefined {
  const opening = text.indexOf("`");
  const closing = text.lastIndexOf("`") - 2;
  const start = /```(?:json)?\s*\n/y;
  start.lastIndex = opening;
  if (opening === -1 || !start.test(text) || start.lastIndex > closing || !text.startsWith("```", closing))
    return undefined;
  return text.slice(start.lastIndex, text[closing - 1] === "\n" ? closing - 1 : closing);
}

/** A name that providers accept for a schema. */
function toSchemaName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "answer";
}
