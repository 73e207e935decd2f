import { ToolkitError } from "../core/error.ts";
import { canonicalJson } from "../lib/canonical.ts";
import type { Tape, TapeLine } from "./tape-format.ts";
import type { TapedRequest } from "./taped-values.ts";

/** A call on a tape, with its end. */
export interface RecordedCall {
  readonly line: TapeLine<"call">;
  /** Undefined where the tape ends before. */
  readonly end: TapeLine<"result"> | undefined;
}

/** The run of a prompt on a tape. */
export interface RecordedRun {
  /** Its id when it was recorded. */
  readonly id: string;
  readonly ref: string;
  readonly call: number | undefined;
  /** In the order of their steps. */
  readonly turns: readonly TapeLine<"turn">[];
}

/** The calls and runs of a tape, by what they are looked up by. */
export class RecordedRuns {
  readonly calls: ReadonlyMap<number, RecordedCall>;
  /** In the order in which they began. */
  readonly runs: readonly RecordedRun[];
  /** The definitions of items, the last of each by kind and ref. */
  readonly items: readonly TapeLine<"item">[];
  readonly #byParent: ReadonlyMap<number, readonly RecordedCall[]>;
  readonly #questions: ReadonlyMap<string, readonly TapeLine<"question">[]>;
  readonly #alike: ReadonlyMap<string, readonly RecordedCall[]>;

  constructor({ lines }: Tape) {
    const ends = new Map(lines.flatMap((line) => (line.type === "result" ? [[line.call, line] as const] : [])));
    const calls = new Map<number, RecordedCall>();
    const runs = new Map<string, TapeLine<"turn">[]>();
    const items = new Map<string, TapeLine<"item">>();
    for (const line of lines) {
      if (line.type === "call") calls.set(line.call, { line, end: ends.get(line.call) });
      else if (line.type === "item") items.set(`${line.kind} ${line.ref}`, line);
      else if (line.type === "turn") {
        const turns = runs.get(line.run);
        if (turns === undefined) runs.set(line.run, [line]);
        else turns.push(line);
      }
    }
    this.calls = calls;
    this.items = [...items.values()];
    this.runs = [...runs].flatMap(([id, turns]) => {
      const [first] = turns;
      return first === undefined ? [] : [{ id, ref: first.ref, call: first.call, turns }];
    });
    this.#byParent = Map.groupBy(calls.values(), ({ line }) => line.parent ?? 0);
    const questions = lines.filter((line) => line.type === "question");
    this.#questions = Map.groupBy(questions, ({ kind, requester }) => `${kind} ${requester}`);
    this.#alike = Map.groupBy(calls.values(), ({ line }) => callKey(line));
  }

  /** The calls of an item with an input, the first first. */
  alike(call: Pick<TapeLine<"call">, "verb" | "kind" | "ref" | "input">): readonly RecordedCall[] {
    return this.#alike.get(callKey(call)) ?? [];
  }

  /** The request of a turn, its messages put together again. Undefined where a line was cut or dropped. */
  requestOf(run: RecordedRun, turn: TapeLine<"turn">): TapedRequest | undefined {
    const messages: unknown[] = [];
    for (const { request } of run.turns.slice(0, run.turns.indexOf(turn) + 1)) {
      if (request === undefined || request.kept > messages.length) return undefined;
      messages.length = request.kept;
      for (const message of request.added) messages.push(message);
    }
    const { digest = "", tools = {}, settings = {} } = turn.request ?? {};
    return { digest, messages, tools, settings };
  }

  /** The calls that a call made. */
  inside(call: number | undefined): readonly RecordedCall[] {
    return call === undefined ? [] : (this.#byParent.get(call) ?? []);
  }

  /** The questions of a kind by one who asked, in their order. */
  questions(kind: string, requester: string): readonly TapeLine<"question">[] {
    return this.#questions.get(`${kind} ${requester}`) ?? [];
  }
}

function callKey({ verb, kind, ref, input }: Pick<TapeLine<"call">, "verb" | "kind" | "ref" | "input">): string {
  return `${verb} ${kind} ${ref} ${canonicalJson(input ?? {})}`;
}

/** The error for a line that the recording had to shorten. */
export function cutLine(name: string, what: string): ToolkitError<"INVALID_INPUT"> {
  const message = `${name} does not have ${what} whole: the line was longer than maxLineBytes, or the recording ended before. Record it again with a larger limit.`;
  return new ToolkitError("INVALID_INPUT", message, { issues: [{ pointer: "", message }] });
}

/** The ids of runs, which are others in each: texts hold them, such as the URIs of long results. */
export class RunNames {
  readonly #pairs: (readonly [then: string, now: string])[] = [];

  /** @param then - on the tape */
  add(then: string, now: string): void {
    this.#pairs.push([then, now]);
  }

  /** A JSON text with the ids of the tape. */
  toTape(json: string): string {
    return this.#pairs.reduce((text, [then, now]) => text.replaceAll(now, then), json);
  }

  /** A value of the tape with the ids of now. */
  fromTape(value: unknown): unknown {
    if (this.#pairs.length === 0 || value === undefined) return value;
    return JSON.parse(this.#pairs.reduce((text, [then, now]) => text.replaceAll(then, now), JSON.stringify(value)));
  }
}
