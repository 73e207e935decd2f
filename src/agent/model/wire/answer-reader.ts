import { StringDecoder } from "node:string_decoder";
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { ClientResponse } from "../../../lib/fetch/client-exchange.ts";
import { sseFeed } from "../../../lib/sse-feed.ts";
import type { PartReader } from "../part-reader.ts";
import { type AnswerHead, formError } from "./answer-errors.ts";

type Part = LanguageModelV4StreamPart;

/** The limits of one answer. */
export interface AnswerLimits {
  /** Of an answer on the wire, in bytes. A stream has some three hundred around each token. */
  readonly maxAnswerBytes: number;
  /** Of one event, and of an answer that is not streamed, in bytes. */
  readonly maxEventBytes: number;
  /** Of the arguments of all calls, in characters. */
  readonly maxArguments: number;
  readonly maxCalls: number;
}

/** More than any model sends, and less than harms. The limits of a run are far below. */
export const answerLimits: AnswerLimits = {
  maxAnswerBytes: 256 * 2 ** 20,
  maxEventBytes: 16 * 2 ** 20,
  maxArguments: 16 * 2 ** 20,
  maxCalls: 10_000,
};

/** Turns what a server sends into parts of the port, in the form of its API. The parts are added to the given list. */
export interface WireForm {
  /** For messages. */
  readonly api: string;
  /** The end of the answer was emitted. */
  readonly isOver: boolean;
  /** The first part. */
  start(parts: Part[]): void;
  /** Takes an event. @throws APICallError for one that is not in the form, and beyond the limits */
  add(type: string, data: string, parts: Part[]): void;
  /** Takes an answer that came whole. @throws APICallError where it is none */
  addWhole(text: string, parts: Part[]): void;
  /** The stream has ended. @throws IncompleteAnswer where the answer has not */
  end(parts: Part[]): void;
}

/** So many parts wait for a reader before the server has to. */
const maxAhead = 64;

/** Reads the answer to one request: as a stream of events or whole, whatever was asked for. */
export class AnswerReader implements PartReader {
  readonly #response: ClientResponse;
  readonly #head: AnswerHead;
  readonly #limits: AnswerLimits;
  readonly #decoder = new StringDecoder("utf8");
  readonly #answer: WireForm;
  #form: "unknown" | "events" | "whole" = "unknown";
  #feed: ((text: string) => void) | undefined;
  /** Of an answer that comes whole. */
  #text = "";
  #bytes = 0;
  #ready: Part[] = [];
  #isOver = false;
  #error: unknown;
  #isPaused = false;
  #waiting: PromiseWithResolvers<readonly Part[] | undefined> | undefined;

  constructor(response: ClientResponse, head: AnswerHead, answer: WireForm, limits: AnswerLimits) {
    this.#limits = limits;
    this.#response = response;
    this.#head = head;
    this.#answer = answer;
    this.#answer.start(this.#ready);
    const type = response.header("content-type") ?? "";
    if (/^\s*text\/event-stream/i.test(type)) this.#form = "events";
    void this.#receive();
  }

  read(): Promise<readonly Part[] | undefined> {
    if (this.#ready.length > 0) return Promise.resolve(this.#taken());
    if (this.#error !== undefined) return Promise.reject(this.#error);
    if (this.#isOver) return Promise.resolve(undefined);
    this.#waiting ??= Promise.withResolvers();
    return this.#waiting.promise;
  }

  cancel(): void {
    this.#ready = [];
    this.#response.discard();
  }

  async #receive(): Promise<void> {
    try {
      await this.#response.read((chunk) => this.#take(chunk));
      this.#finish();
    } catch (error) {
      // An answer that was complete is not harmed by the end of its connection.
      if (!this.#answer.isOver) this.#error = error;
    }
    this.#isOver = true;
    this.#deliver();
  }

  #take(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    const { maxEventBytes, maxAnswerBytes } = this.#limits;
    const max = this.#form === "whole" ? maxEventBytes : maxAnswerBytes;
    if (this.#bytes > max) throw formError(this.#head, `the answer is larger than ${max} bytes`);
    this.#add(this.#decoder.write(chunk));
    this.#deliver();
    if (this.#ready.length < maxAhead || this.#isPaused) return;
    this.#isPaused = true;
    this.#response.pause();
  }

  #add(text: string): void {
    const begin = this.#form === "unknown" ? text.trimStart() : text;
    if (begin === "") return;
    // Some servers do not name the form, or name another one.
    if (this.#form === "unknown") this.#form = this.#formOf(begin);
    if (this.#form === "whole") this.#text += begin;
    else {
      this.#feed ??= this.#newFeed();
      this.#feed(begin);
    }
  }

  /** @throws APICallError for a page */
  #formOf(begin: string): "events" | "whole" {
    if (begin.startsWith("<")) throw formError(this.#head, `the answer is a page, and not of ${this.#answer.api}`);
    return begin.startsWith("{") || begin.startsWith("[") ? "whole" : "events";
  }

  #newFeed(): (text: string) => void {
    const { maxEventBytes } = this.#limits;
    const tooLarge = () => formError(this.#head, `an event of the answer is larger than ${maxEventBytes} bytes`);
    return sseFeed(
      {
        event: (type, data) => this.#answer.add(type, data, this.#ready),
        // One is enough: it says that the server lives.
        comment: () => void (this.#ready.length === 0 && this.#ready.push({ type: "ping" })),
      },
      { maxBytes: maxEventBytes, tooLarge },
    );
  }

  /** The body has ended. The last event may lack the empty line after it. */
  #finish(): void {
    this.#add(this.#decoder.end());
    if (this.#form === "whole") this.#answer.addWhole(this.#text, this.#ready);
    else if (this.#feed !== undefined) this.#feed("\n\n");
    this.#answer.end(this.#ready);
  }

  #deliver(): void {
    const waiting = this.#waiting;
    if (waiting === undefined || (this.#ready.length === 0 && !this.#isOver)) return;
    this.#waiting = undefined;
    if (this.#ready.length > 0) waiting.resolve(this.#taken());
    else if (this.#error !== undefined) waiting.reject(this.#error);
    else waiting.resolve(undefined);
  }

  #taken(): readonly Part[] {
    const parts = this.#ready;
    this.#ready = [];
    if (this.#isPaused) this.#resume();
    return parts;
  }

  #resume(): void {
    this.#isPaused = false;
    this.#response.resume();
  }
}
