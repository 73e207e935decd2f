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
    this.#alike = Map.groupBy(calls.values(), ({ line }) => callKey(line));
  }

  /** The calls of an item with an input, the first first. */
  alike(call: Pick<TapeLine<"call">, "verb" | "kind" | "ref" | "input">): readonly RecordedCall[] {
    return this.#alike.get(callKey(call)) ?? [];
  }

  /** The request of a turn, its messages put together again. Undefined where a line was cut or dropped. */
  requestOf(run: RecordedRun, turn: TapeLine<"turn">): TapedRequest | undefined {
    let messages: readonly unknown[] = [];
    for (const each of run.turns) {
      if (each.request === undefined || each.request.kept > messages.length) return undefined;
      messages = [...messages.slice(0, each.request.kept), ...each.request.added];
      if (each === turn)
        return { digest: each.request.digest, messages, tools: each.request.tools, settings: each.request.settings };
    }
    return undefined;
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
