import { randomUUID } from "node:crypto";
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { isRecord } from "../../../lib/value.ts";
import { type Fields, textIn } from "../wire/wire-fields.ts";
import { argumentsIn, signatureIn, toolCall } from "./chat-answer.ts";

/** The limits of the calls of one answer. */
export interface ChatCallLimits {
  readonly maxCalls: number;
  /** Of the arguments of all calls, in characters. */
  readonly maxArguments: number;
  /** Makes the error for an answer beyond a limit. */
  beyond(what: string): Error;
}

/** A tool call as far as it came. */
interface PendingCall {
  id: string;
  name: string;
  input: string;
  signature: string | undefined;
  /** Its parts are emitted: from then on its id is settled. */
  begun: boolean;
  readonly nesting: Nesting;
}

/**
 * Puts the tool calls of a stream together. Servers differ: the pieces of a call have its index, its id, both or neither; an id comes
 * late, never, or changes; a name is repeated; calls share an index; arguments come in pieces or whole. A piece continues a call unless
 * something says that it begins another one.
 */
export class ChatCalls {
  readonly #provider: string;
  readonly #limits: ChatCallLimits;
  readonly #calls: PendingCall[] = [];
  readonly #byIndex = new Map<number, PendingCall>();
  readonly #byId = new Map<string, PendingCall>();
  #characters = 0;

  constructor(provider: string, limits: ChatCallLimits) {
    this.#provider = provider;
    this.#limits = limits;
  }

  /** The number of calls that have a name. */
  get count(): number {
    return this.#calls.reduce((count, { name }) => (name === "" ? count : count + 1), 0);
  }

  /** Takes a piece of a call, and adds the parts that follow from it. */
  add(delta: Fields, parts: LanguageModelV4StreamPart[]): void {
    const called = isRecord(delta.function) ? delta.function : {};
    const piece = { id: textIn(delta.id), name: textIn(called.name).trim(), input: argumentsIn(called) };
    const index = typeof delta.index === "number" ? delta.index : undefined;
    const call = this.#callOf(index, piece);
    if (index !== undefined) this.#byIndex.set(index, call);
    if (call.name === "") call.name = piece.name;
    if (call.id === "" && piece.id !== "" && !call.begun) {
      call.id = piece.id;
      this.#byId.set(piece.id, call);
    }
    call.signature ??= signatureIn(delta);
    this.#append(call, piece.input, parts);
  }

  /** Adds the ends of all calls. Without a name there is nothing to call. */
  end(parts: LanguageModelV4StreamPart[]): void {
    for (const call of this.#calls) {
      if (call.name === "") continue;
      if (!call.begun) {
        call.id ||= `call-${randomUUID()}`;
        this.#begin(call, parts);
      }
      parts.push({ type: "tool-input-end", id: call.id }, toolCall(call, this.#provider));
    }
  }

  #append(call: PendingCall, input: string, parts: LanguageModelV4StreamPart[]): void {
    if (input !== "") {
      this.#characters += input.length;
      const { maxArguments, beyond } = this.#limits;
      if (this.#characters > maxArguments) throw beyond(`arguments of more than ${maxArguments} characters`);
      call.input += input;
      call.nesting.add(input);
    }
    // An id may still come: results are sent back under it.
    if (!call.begun && call.id !== "" && call.name !== "") this.#begin(call, parts);
    else if (call.begun && input !== "") parts.push({ type: "tool-input-delta", id: call.id, delta: input });
  }

  #begin(call: PendingCall, parts: LanguageModelV4StreamPart[]): void {
    call.begun = true;
    parts.push({ type: "tool-input-start", id: call.id, toolName: call.name });
    if (call.input !== "") parts.push({ type: "tool-input-delta", id: call.id, delta: call.input });
  }

  #callOf(index: number | undefined, piece: Pick<PendingCall, "id" | "name" | "input">): PendingCall {
    const known = this.#knownCall(index, piece);
    return known === undefined || isAnother(known, piece) ? this.#newCall() : known;
  }

  #knownCall(index: number | undefined, { id, name }: Pick<PendingCall, "id" | "name">): PendingCall | undefined {
    if (index !== undefined) return this.#byIndex.get(index);
    if (id !== "") {
      const named = this.#byId.get(id);
      if (named !== undefined) return named;
    }
    const last = this.#calls.at(-1);
    // Without an index a name begins a call, unless the last one still lacks its own.
    return name === "" || last?.name === "" ? last : undefined;
  }

  #newCall(): PendingCall {
    const { maxCalls, beyond } = this.#limits;
    if (this.#calls.length === maxCalls) throw beyond(`more than ${maxCalls} tool calls`);
    const call = { id: "", name: "", input: "", signature: undefined, begun: false, nesting: new Nesting() };
    this.#calls.push(call);
    return call;
  }
}

/** True for a piece that begins another call than the one with its index or id. */
function isAnother(call: PendingCall, { id, name, input }: Pick<PendingCall, "id" | "name" | "input">): boolean {
  if (name === "" || call.name === "") return false;
  if (name !== call.name) return true;
  const begins = /^\s*[{[]/.test(input);
  if (id !== "" && call.id !== "") return id !== call.id && (begins || call.nesting.isClosed);
  return begins && call.nesting.isClosed;
}

/** Finds the end of a JSON object or list in a text that comes in pieces. Each character is looked at once. */
class Nesting {
  #depth = 0;
  #inText = false;
  #escaped = false;
  /** An object or a list has begun and ended. */
  isClosed = false;

  add(piece: string): void {
    for (let at = 0; at < piece.length; at++) {
      const code = piece.charCodeAt(at);
      if (this.#escaped) this.#escaped = false;
      else if (this.#inText) {
        if (code === backslash) this.#escaped = true;
        else if (code === quote) this.#inText = false;
      } else if (code === quote) this.#inText = true;
      else if (code === openBrace || code === openBracket) this.#depth += 1;
      else if (code === closeBrace || code === closeBracket) {
        this.#depth -= 1;
        if (this.#depth === 0) this.isClosed = true;
      }
    }
  }
}

const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
