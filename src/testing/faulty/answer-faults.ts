import type { ActiveFaults, FaultedRequest } from "./active-faults.ts";
import type { JsonRpcId, MethodOutcome } from "./client-channel.ts";

/** A message to write, and whether it is the answer. */
type Text = readonly [text: string, answer: boolean];

/** The answer to a request. */
export interface Answer {
  readonly id: JsonRpcId;
  readonly outcome: MethodOutcome;
  /** Defined if the client asked for progress. */
  readonly progressToken: unknown;
}

/** An id that no client gives. */
const foreignId = 987_654_321;
const defaultBytes = 80 * 1024 * 1024;
const defaultDepth = 100_000;

/** Applies the faults of a request to its answer. */
export class AnswerFaults {
  readonly #faults: ActiveFaults;
  readonly #kind: FaultedRequest;

  constructor(faults: ActiveFaults, kind: FaultedRequest) {
    this.#faults = faults;
    this.#kind = kind;
  }

  /** All messages to write, in order. */
  texts(answer: Answer): readonly Text[] {
    const text = this.#answer(answer);
    const texts: Text[] = [];
    if (this.#take("garbage") !== undefined) texts.push(["Listening on port 3000 {", false]);
    if (this.#take("unknown-id") !== undefined) {
      texts.push([JSON.stringify({ jsonrpc: "2.0", id: foreignId, result: {} }), false]);
    }
    texts.push([text, true]);
    if (this.#take("duplicate-answer") !== undefined) texts.push([text, true]);
    const { progressToken } = answer;
    if (progressToken !== undefined && this.#take("late-progress") !== undefined) {
      const params = { progressToken, progress: 1, message: "late" };
      texts.push([JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params }), false]);
    }
    return texts;
  }

  #answer({ id: given, outcome }: Answer): string {
    const id = this.#take("wrong-id-type") === undefined ? given : String(given);
    const deep = this.#take("deep");
    if (deep !== undefined) {
      // Written by hand: to stringify so deep a value overflows the stack.
      const depth = deep.depth ?? defaultDepth;
      const nested = `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
      return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[],"structuredContent":${nested}}}`;
    }
    const oversized = this.#take("oversized");
    if (oversized !== undefined) {
      const content = [{ type: "text", text: "x".repeat(oversized.bytes ?? defaultBytes) }];
      return JSON.stringify({ jsonrpc: "2.0", id, result: { content } });
    }
    return JSON.stringify({ jsonrpc: "2.0", id, ...outcome });
  }

  #take(name: Parameters<ActiveFaults["take"]>[0]): ReturnType<ActiveFaults["take"]> {
    return this.#faults.take(name, this.#kind);
  }
}
