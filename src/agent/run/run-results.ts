import type { LanguageModelV4ToolResultPart } from "@ai-sdk/provider";
import {
  type AiSdkContentPart,
  type AiSdkOutput,
  textOfContent,
  toAiSdkOutput,
} from "../../adapters/answer-content.ts";
import { ToolkitError } from "../../core/error.ts";
import type { Content, ContentJson } from "../../core/resource.ts";
import { textContent } from "../../resource/content.ts";
import { contentFromJson } from "../../resource/from-json.ts";
import { type RunTool, runTool } from "../../toolset/run-tool.ts";
import type { ToolAnswer, ToolDefinitionForModel } from "../../toolset/toolset-types.ts";

/** Limit of the results kept in a run, in bytes. Beyond it the oldest are dropped. */
const maxKeptBytes = 64 * 2 ** 20;
/** Default length of one reading by `read_resource`, in characters. */
const pageLength = 20_000;

/** The input of `read_resource`. */
interface ReadInput {
  readonly uri: string;
  readonly offset?: number;
  readonly length?: number;
}

/** Options of the results of a run. */
export interface ResultsOptions {
  /** The id of the run. */
  readonly run: string;
  /** Limit of one result in the conversation, in bytes of UTF-8. */
  readonly maxBytes: number;
  /** The name of the tool that reads the rest. */
  readonly toolName: string;
}

/** The results of the tools of one run, each at `result:<run>/<n>`, n from 1. */
export class Results {
  readonly #run: string;
  readonly #maxBytes: number;
  /** The alias of the reading tool. Its results are within the limit, and are not kept again. */
  readonly toolName: string;
  readonly #contents = new Map<number, Content>();
  #count = 0;
  #bytes = 0;

  constructor({ run, maxBytes, toolName }: ResultsOptions) {
    this.#run = run;
    this.#maxBytes = maxBytes;
    this.toolName = toolName;
  }

  /** Keeps a result, and gives its URI. */
  add(content: Content): string {
    this.#count += 1;
    this.#contents.set(this.#count, content);
    this.#bytes += content.size;
    for (const [number, oldest] of this.#contents) {
      if (this.#bytes <= maxKeptBytes || number === this.#count) break;
      this.#contents.delete(number);
      this.#bytes -= oldest.size;
    }
    return this.#uri(this.#count);
  }

  /** True for a text within the limit. */
  fits(text: string): boolean {
    return Buffer.byteLength(text) <= this.#maxBytes;
  }

  /**
   * A text for the conversation: the whole, or its beginning with the call that reads the rest.
   *
   * @param uri - the URI of the kept result; undefined where it is not kept yet
   */
  shown(text: string, uri: string | undefined): string {
    if (this.fits(text)) return text;
    const kept = beginningOf(text, this.#maxBytes);
    const rest = JSON.stringify({ uri: uri ?? this.add(textContent(text, { name: "text" })), offset: kept.length });
    return `${kept}\n\n[Truncated: these are the first of ${text.length} characters. ${this.toolName}(${rest}) returns the rest.]`;
  }

  /** For the record of a suspended run. */
  toJSON(): { readonly count: number; readonly contents: readonly (readonly [number, ContentJson])[] } {
    return { count: this.#count, contents: [...this.#contents].map(([number, content]) => [number, content.toJSON()]) };
  }

  /** Restores a record of `toJSON`. */
  restore({ count, contents }: ReturnType<Results["toJSON"]>): void {
    for (const [number, json] of contents) {
      const content = contentFromJson(json);
      this.#contents.set(number, content);
      this.#bytes += content.size;
    }
    this.#count = count;
  }

  /** The tool by which a model reads the rest of a result. */
  get tool(): RunTool {
    return runTool(readingDefinition(this.toolName), (input: ReadInput) => this.#read(input));
  }

  async #read({ uri, offset = 0, length = pageLength }: ReadInput): Promise<string> {
    const text = await textOfContent(await this.#find(uri));
    if (offset >= text.length) return `There is nothing from ${offset} on: it has ${text.length} characters.`;
    const begin = isInside(text, offset) ? offset - 1 : offset;
    const wanted = Math.min(offset + length, text.length);
    const part = beginningOf(text.slice(begin, isInside(text, wanted) ? wanted + 1 : wanted), this.#maxBytes);
    const end = begin + part.length;
    if (end >= text.length) return part;
    return `${part}\n\n[Characters ${begin} to ${end} of ${text.length}. Go on with offset ${end}.]`;
  }

  async #find(uri: string): Promise<Content> {
    const prefix = this.#uri("");
    const number = uri.startsWith(prefix) ? Number(uri.slice(prefix.length)) : Number.NaN;
    const content = this.#contents.get(number);
    if (content !== undefined) return content;
    const why =
      number > 0 && number <= this.#count ? "it is too long ago, and was forgotten" : "there is no such result";
    const suggestions = [...this.#contents.keys()].slice(-3).map((each) => this.#uri(each));
    const hint = suggestions.length === 0 ? "" : ` There are ${suggestions.join(", ")}.`;
    throw new ToolkitError("NOT_FOUND", `${uri} cannot be read: ${why}.${hint}`, { key: uri, suggestions });
  }

  #uri(number: number | ""): string {
    return `result:${this.#run}/${number}`;
  }
}

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
  const shown = answer.name === options.results.toolName ? whole : await cut(whole, answer, options);
  const output = options.guidance === "" ? shown : guided(shown, options.guidance);
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
      if (content === undefined || results.fits(texts.join(""))) return output;
      const text = results.shown(await textOfContent(content), uri);
      const others = output.value.filter(({ type }) => type !== "text");
      return { type: "content", value: [{ type: "text", text }, ...others] };
    }
  }
}

/** Guidance goes into the result: some providers refuse a message between results and answer. */
function guided(output: AiSdkOutput, guidance: string): AiSdkOutput {
  const note: AiSdkContentPart = { type: "text", text: `[How to read this result]\n${guidance}` };
  if (output.type === "content") return { type: "content", value: [...output.value, note] };
  if (output.type === "text") return { type: "text", value: `${output.value}\n\n${note.text}` };
  if (output.type !== "json") return output;
  return { type: "content", value: [{ type: "text", text: JSON.stringify(output.value) }, note] };
}

const readingDefinitions = new Map<string, ToolDefinitionForModel>();

/** One object for each name, so that its projection is made once. */
function readingDefinition(name: string): ToolDefinitionForModel {
  const definition = readingDefinitions.get(name) ?? Object.freeze({ ...readingTool, name });
  readingDefinitions.set(name, definition);
  return definition;
}

const readingTool: Omit<ToolDefinitionForModel, "name"> = {
  description: "Reads more of a tool result that was truncated: a part of its text, from an offset.",
  inputSchema: {
    type: "object",
    properties: {
      uri: { type: "string", description: "The URI in the notice of the truncation: result:..." },
      offset: { type: "integer", minimum: 0, description: "Where to begin, in characters. Default 0." },
      length: { type: "integer", minimum: 1, description: `How many characters. Default ${pageLength}.` },
    },
    required: ["uri"],
    additionalProperties: false,
  },
};

/** True between the two halves of a surrogate pair. */
function isInside(text: string, offset: number): boolean {
  return offset > 0 && (text.codePointAt(offset - 1) ?? 0) > 0xffff;
}

/** The longest beginning of a text within a number of bytes of UTF-8, in whole characters: one at least. */
function beginningOf(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const buffer = Buffer.alloc(maxBytes);
  const { read } = new TextEncoder().encodeInto(text, buffer);
  return text.slice(0, Math.max(read, isInside(text, 1) ? 2 : 1));
}
