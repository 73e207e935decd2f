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
 * Makes one turn of calls that are made one by one, as the AI SDK makes those of a step: whatever is called before the event loop turns
 * is executed together.
 */
export class CallBatch {
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
    // Each call hears of a failure by itself; one that was aborted no longer listens.
    answers.catch(() => undefined);
    return { calls, answers };
  }
}
