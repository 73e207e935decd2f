import { textOfContent } from "../../adapters/answer-content.ts";
import { ToolkitError } from "../../core/error.ts";
import type { Content, ContentJson } from "../../core/resource.ts";
import { textContent } from "../../resource/content.ts";
import { contentFromJson } from "../../resource/from-json.ts";
import type { OwnTool } from "../../toolset/own-tools.ts";

/** How much of results is kept in a run, about, in bytes: beyond it the oldest cannot be read any more. */
const maxKeptBytes = 64 * 2 ** 20;
/** How much `read_resource` gives at once where it is not told, in characters. */
const pageLength = 20_000;

/** What `read_resource` is given. */
interface ReadInput {
  readonly uri: string;
  readonly offset?: number;
  readonly length?: number;
}

/** How results are kept and shown. */
export interface ResultsOptions {
  /** The id of the run. */
  readonly run: string;
  /** What a model is shown of one, in bytes of UTF-8. */
  readonly maxBytes: number;
  /** What the tool that reads the rest is called. */
  readonly toolName: string;
}

/** The results of the tools of one run, each at `result:<run>/<n>`, n from 1. */
export class Results {
  readonly #run: string;
  readonly #maxBytes: number;
  readonly #toolName: string;
  readonly #contents = new Map<number, Content>();
  #count = 0;
  #bytes = 0;

  constructor({ run, maxBytes, toolName }: ResultsOptions) {
    this.#run = run;
    this.#maxBytes = maxBytes;
    this.#toolName = toolName;
  }

  /** Keeps one, and gives its URI. */
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

  /** True for the alias of the tool that reads: what it gives is as long as may be shown, and is not kept again. */
  isReading(alias: string): boolean {
    return alias === this.#toolName;
  }

  /** True where so much may be shown at once. */
  fits(...texts: readonly string[]): boolean {
    return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) <= this.#maxBytes;
  }

  /**
   * A text as a model is shown it: whole, or its beginning and how to read the rest.
   *
   * @param uri - where it is kept; undefined where it is not yet
   */
  shown(text: string, uri: string | undefined): string {
    if (this.fits(text)) return text;
    const kept = beginningOf(text, this.#maxBytes);
    const rest = JSON.stringify({ uri: uri ?? this.add(textContent(text, { name: "text" })), offset: kept.length });
    return `${kept}\n\n[Cut: this is the beginning of ${text.length} characters. ${this.#toolName}(${rest}) gives what follows.]`;
  }

  /** For a run that is suspended. */
  toJSON(): { readonly count: number; readonly contents: readonly (readonly [number, ContentJson])[] } {
    return { count: this.#count, contents: [...this.#contents].map(([number, content]) => [number, content.toJSON()]) };
  }

  /** Takes back what `toJSON` gave. */
  restore({ count, contents }: ReturnType<Results["toJSON"]>): void {
    for (const [number, json] of contents) {
      const content = contentFromJson(json);
      this.#contents.set(number, content);
      this.#bytes += content.size;
    }
    this.#count = count;
  }

  /** The tool by which a model reads what was cut. */
  get tool(): OwnTool {
    return {
      kind: "tool",
      name: this.#toolName,
      description: "Reads more of a tool result that was cut: a part of its text, from an offset.",
      input: {
        type: "object",
        properties: {
          uri: { type: "string", description: "As the notice of the cut says it: result:..." },
          offset: { type: "integer", minimum: 0, description: "Where to begin, in characters. Default 0." },
          length: { type: "integer", minimum: 1, description: `How many characters. Default ${pageLength}.` },
        },
        required: ["uri"],
        additionalProperties: false,
      },
      annotations: { readOnlyHint: true },
      options: { capability: true },
      run: (input) => this.#read(input as ReadInput),
    };
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

/** True between the two halves of a character. */
function isInside(text: string, offset: number): boolean {
  return offset > 0 && (text.codePointAt(offset - 1) ?? 0) > 0xffff;
}

/** As much of the beginning of a text as so many bytes of UTF-8 hold, no character cut in two: one at least. */
function beginningOf(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const buffer = Buffer.alloc(maxBytes);
  const { read } = new TextEncoder().encodeInto(text, buffer);
  return text.slice(0, Math.max(read, isInside(text, 1) ? 2 : 1));
}
