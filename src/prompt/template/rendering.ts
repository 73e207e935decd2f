import { randomUUID } from "node:crypto";
import { promptLimitExceeded, type ReadPromptLimits } from "../../core/prompt-limits.ts";
import { describePlace, type Place } from "../prompt-problem.ts";
import type { TemplateSource } from "./template-source.ts";

/** The place of a tag in its template, for errors; line and column from 1. */
export interface TagPlace extends Place {
  readonly source: TemplateSource;
}

/** A piece of a rendered text: text, the beginning of the message of a role, or a file. */
export type RenderedPiece = { readonly text: string } | PromptMark;

/** A thing that a helper adds to a text besides text. */
export type PromptMark =
  | { readonly role: string }
  | {
      readonly url: string;
      /** It stands in the template, and does not come from the input. */
      readonly isWritten: boolean;
      readonly mediaType?: string | undefined;
    };

// Encloses the number of a mark in the text. No value can forge it: it is another one in each process.
const fence = `\u0000${randomUUID()}\u0000`;

/** Characters of a text that count as one step. */
const charactersPerStep = 64;

/** Gives the text of a template, or of a part of one, in a scope. */
export type TextOf = (scope: RenderScope, run: Rendering) => string;

/**
 * One rendering of a prompt, and what is left of its limits: each tag counts what it does before it does it, so that a rendering that
 * would take too long, or too much memory, ends early.
 */
export class Rendering {
  /** Finds a partial of the prompt. */
  readonly partial: (name: string) => TextOf;
  readonly #limits: ReadPromptLimits;
  readonly #marks: PromptMark[] = [];
  #steps = 0;
  #length = 0;

  constructor(limits: ReadPromptLimits, partial: (name: string) => TextOf) {
    this.#limits = limits;
    this.partial = partial;
  }

  /** Counts steps. @throws ToolkitError `LIMIT_EXCEEDED` */
  step(count: number, at: TagPlace): void {
    this.#steps += count;
    const { maxRenderSteps } = this.#limits;
    if (this.#steps <= maxRenderSteps) return;
    const what =
      "Rendering takes too many steps here: pass shorter lists, or let fewer tags and partials stand in loops.";
    throw promptLimitExceeded("maxRenderSteps", maxRenderSteps, `${describeTag(at)}: ${what}`);
  }

  /** Counts the characters of a text that is read or written. @throws ToolkitError `LIMIT_EXCEEDED` */
  work(length: number, at: TagPlace): void {
    this.step(Math.floor(length / charactersPerStep), at);
  }

  /** Counts a text that becomes a part of the output. @throws ToolkitError `LIMIT_EXCEEDED` */
  write(text: string, at: TagPlace): string {
    this.#length += text.length;
    if (this.#length > this.#limits.maxOutputBytes) throw this.#tooLong(at);
    return text;
  }

  /** Refuses a text of a length that no output may have. @throws ToolkitError `LIMIT_EXCEEDED` */
  assertLength(length: number, at: TagPlace): void {
    if (length > this.#limits.maxOutputBytes) throw this.#tooLong(at);
  }

  /** Adds a mark, and gives the text in its place. */
  mark(mark: PromptMark): string {
    this.#marks.push(mark);
    return `${fence}${this.#marks.length - 1}${fence}`;
  }

  /** Splits a rendered text into its pieces; it is one piece if no helper added more than text. */
  piecesOf(text: string): readonly RenderedPiece[] {
    if (this.#marks.length === 0) return [{ text }];
    return text.split(fence).map((piece, index) => {
      const mark = index % 2 === 0 ? undefined : this.#marks[Number(piece)];
      return mark ?? { text: piece };
    });
  }

  /** Refuses an output with more bytes than characters were allowed. @throws ToolkitError `LIMIT_EXCEEDED` */
  assertBytes(text: string, at: TagPlace): void {
    const { maxOutputBytes } = this.#limits;
    // A character has three bytes at most.
    if (text.length * 3 > maxOutputBytes && Buffer.byteLength(text) > maxOutputBytes) throw this.#tooLong(at);
  }

  #tooLong(at: TagPlace): Error {
    const { maxOutputBytes } = this.#limits;
    const what = "The rendered text is too long here: pass less, or raise the limit where the prompt is read.";
    return promptLimitExceeded("maxOutputBytes", maxOutputBytes, `${describeTag(at)}: ${what}`);
  }
}

/** The place of a tag in its file, for messages. */
export function describeTag({ source, line, column }: TagPlace): string {
  return describePlace(source.file, source.placeAt(line, column));
}

/** The fields of `{{@index}}` and its like. */
export class LoopData {
  readonly root: unknown;
  /** Those of the loop around. */
  readonly outer: LoopData | undefined;
  key: unknown;
  index: number | undefined;
  first: boolean | undefined;
  last: boolean | undefined;

  constructor(root: unknown, outer: LoopData | undefined) {
    this.root = root;
    this.outer = outer;
    this.key = outer?.key;
    this.index = outer?.index;
    this.first = outer?.first;
    this.last = outer?.last;
  }
}

/** The values that names mean inside a block. */
export class RenderScope {
  /** `this`. */
  readonly value: unknown;
  readonly data: LoopData;
  /** The values of the names behind `as`. */
  readonly params: readonly unknown[];
  /** The scope around. */
  readonly around: RenderScope | undefined;
  /** The scope that `../` leads to. As in Handlebars, a block does not enter a value that equals the one around it. */
  readonly outer: RenderScope | undefined;

  constructor(value: unknown, data: LoopData, params: readonly unknown[], around: RenderScope | undefined) {
    this.value = value;
    this.data = data;
    this.params = params;
    this.around = around;
    this.outer = around !== undefined && isSame(value, around.value) ? around.outer : around;
  }
}

/** As Handlebars compares values, which is by ==, except that no object is written as text: a list of one entry equals that entry. */
function isSame(value: unknown, around: unknown): boolean {
  if (value === around) return true;
  if (typeof value === "object" && value !== null && typeof around === "object" && around !== null) return false;
  if (Array.isArray(around)) return around.length === 1 && isSame(value, around[0]);
  if (Array.isArray(value)) return value.length === 1 && isSame(value[0], around);
  if (typeof value === "object" || typeof around === "object") return (value ?? around) === undefined;
  // biome-ignore lint/suspicious/noDoubleEquals: Handlebars compares them so
  return value == around;
}
