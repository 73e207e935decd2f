import { betweenMarks, plainTextOf, untrustedServerOf } from "../../adapters/answer-content.ts";
import { ToolkitError } from "../../core/error.ts";
import type { Content, ContentJson } from "../../core/resource.ts";
import { textContent } from "../../resource/content.ts";
import { contentFromJson } from "../../resource/from-json.ts";
import { type KeptResults, noResult } from "./kept-results.ts";
import type { ResultOwner } from "./result-owner.ts";

/** Limit of the results that a run has in memory, in bytes. Beyond it the oldest are in the store alone. */
const maxHeldBytes = 64 * 2 ** 20;

/** The long results of a run, for the record of a suspended one. */
export interface StoredResults {
  readonly count: number;
  readonly contents: readonly (readonly [number, ContentJson])[];
}

/** Options of the results of a run. */
export interface ReaderOptions {
  /** The id of the run. */
  readonly run: string;
  /** Limit of one result in the conversation, in bytes of UTF-8. */
  readonly maxBytes: number;
  readonly owner: ResultOwner;
  readonly kept: KeptResults;
}

/** The names of the tools that read results. */
export interface ReaderNames {
  readonly read: string;
  readonly grep: string;
  readonly select: string;
}

/** A part of a text, by its characters. */
export interface TextRange {
  readonly text: string;
  readonly begin: number;
  readonly end: number;
}

/** The results of a run that are too long for its conversation, each at `result:<run>/<n>`, n from 1; and others of the same owner. */
export class ResultReader {
  readonly maxBytes: number;
  readonly names: ReaderNames;
  readonly #run: string;
  readonly #kept: KeptResults;
  readonly #owner: ResultOwner;
  readonly #held = new Map<string, Content>();
  #count = 0;
  #bytes = 0;

  constructor({ run, maxBytes, owner, kept }: ReaderOptions, names: ReaderNames) {
    this.#run = run;
    this.#owner = owner;
    this.#kept = kept;
    this.maxBytes = maxBytes;
    this.names = names;
  }

  /** Keeps a result, and gives its URI. */
  async add(content: Content): Promise<string> {
    this.#count += 1;
    const uri = this.#uri(this.#count);
    this.#hold(uri, content);
    await this.#kept.put(uri, content, this.#owner);
    return uri;
  }

  /** The beginning of a long result for the conversation, with the calls that give the rest. */
  async preview(uri: string, content: Content): Promise<string> {
    const text = await plainTextOf(content);
    const shown = beginningOf(text, Math.max(1, Math.floor(this.maxBytes / 2)));
    if (shown.length === text.length) return this.marked(content, text);
    const { read, grep, select } = this.names;
    const rest = JSON.stringify({ uri, offset: shown.length });
    const others = `${grep} searches it${isJsonText(text) ? `, ${select} selects from its JSON` : ""}.`;
    return `${this.marked(content, shown)}\n\n[Truncated: these are the first ${shown.length} of ${text.length} characters. ${read}(${rest}) reads on, ${others}]`;
  }

  /** A text of a result for the model. That of an untrusted server is between marks. */
  marked(content: Content, text: string): string {
    const server = untrustedServerOf(content);
    return server === undefined ? text : betweenMarks(server, text);
  }

  /** True for a text within the limit. */
  fits(text: string): boolean {
    return Buffer.byteLength(text) <= this.maxBytes;
  }

  /** A part of a text within the limit, in whole characters, one at least. */
  range(text: string, offset: number, length: number): TextRange {
    const begin = isInside(text, offset) ? offset - 1 : offset;
    const wanted = Math.min(offset + length, text.length);
    const part = beginningOf(text.slice(begin, isInside(text, wanted) ? wanted + 1 : wanted), this.maxBytes);
    return { text: part, begin, end: begin + part.length };
  }

  /** @throws ToolkitError `NOT_FOUND`, also for the result of another owner; `STORE_FAILED` */
  async find(uri: string): Promise<Content> {
    const isUri = /^result:[\w-]{1,100}\/\d{1,15}$/.test(uri);
    const content = this.#held.get(uri) ?? (isUri ? await this.#kept.get(uri, this.#owner) : undefined);
    if (content === undefined) throw noResult(uri, [...this.#held.keys()].slice(-3));
    if (!this.#held.has(uri)) this.#hold(uri, content);
    return content;
  }

  /** A text that was made of a result is as little trusted as the result is. */
  derived(content: Content, text: string): Content {
    const untrusted = untrustedServerOf(content);
    return textContent(text, { name: content.name, ...(untrusted === undefined ? {} : { meta: { untrusted } }) });
  }

  /** For the record of a suspended run. */
  toJSON(): StoredResults {
    const own = this.#uri("");
    const held = [...this.#held].filter(([uri]) => uri.startsWith(own));
    const contents = held.map(([uri, content]) => [Number(uri.slice(own.length)), content.toJSON()] as const);
    return { count: this.#count, contents };
  }

  /** Restores a record of `toJSON`. */
  restore({ count, contents }: StoredResults): void {
    for (const [number, json] of contents) this.#hold(this.#uri(number), contentFromJson(json));
    this.#count = count;
  }

  #hold(uri: string, content: Content): void {
    this.#held.set(uri, content);
    this.#bytes += content.size;
    for (const [oldest, { size }] of this.#held) {
      if (this.#bytes <= maxHeldBytes || oldest === uri) break;
      this.#held.delete(oldest);
      this.#bytes -= size;
    }
  }

  #uri(number: number | ""): string {
    return `result:${this.#run}/${number}`;
  }
}

/** The error of an argument of a tool that reads results. */
export function invalidArgument(name: string, message: string): ToolkitError<"INVALID_INPUT"> {
  return new ToolkitError("INVALID_INPUT", `${name} ${message}.`, { issues: [{ pointer: `/${name}`, message }] });
}

function isJsonText(text: string): boolean {
  return /^\s*[[{]/.test(text);
}

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
