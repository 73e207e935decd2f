import { abortable } from "../lib/promise.ts";
import type { ToolAnswer, ToolCall } from "../toolset/toolset-types.ts";

/** Executes the calls of one turn. */
export interface CallRunner {
  execute(calls: readonly ToolCall[]): Promise<readonly ToolAnswer[]>;
}

interface Batch {
  readonly calls: ToolCall[];
  readonly answers: Promise<readonly ToolAnswer[]>;
}

/**
 * Gathers calls that a framework makes one by one into one turn of a run: those made before the event loop turns are executed together.
 */
export class TurnBatch {
  readonly #runner: CallRunner;
  #open: Batch | undefined;

  constructor(runner: CallRunner) {
    this.#runner = runner;
  }

  /** The answer of one call. @throws the reason of an abort, of the run or of the call */
  async answer(call: ToolCall, signal: AbortSignal | undefined): Promise<ToolAnswer> {
    signal?.throwIfAborted();
    this.#open ??= this.#begin();
    const { calls, answers } = this.#open;
    const index = calls.push(call) - 1;
    const answer = (await abortable(answers, signal))[index];
    if (answer === undefined) throw new Error(`The call ${call.id} of ${call.name} was not answered.`);
    return answer;
  }

  #begin(): Batch {
    const calls: ToolCall[] = [];
    const answers = new Promise<readonly ToolAnswer[]>((resolve) => {
      setImmediate(() => {
        this.#open = undefined;
        resolve(this.#runner.execute(calls));
      });
    });
    // Each call awaits it by itself, and so rejects; one that was aborted does not wait any more.
    answers.catch(() => undefined);
    return { calls, answers };
  }
}
