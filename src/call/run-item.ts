import type { Entry, Prompt, Tool } from "../core/item.ts";
import type { Settlement } from "../lib/deadline-scheduler.ts";
import { genuine, isPromiseLike, type MaybePromise } from "../lib/promise.ts";
import type { ApprovalPort } from "./approval-port.ts";
import { toCallError } from "./call-error.ts";
import type { CallState } from "./call-state.ts";
import { PendingCall } from "./pending-call.ts";
import type { Next, StepCall, Target } from "./step.ts";
import type { AwaitAttempt } from "./timeout.ts";

/** Executes a prompt: what the delegates do. */
export type PromptRunner = (entry: Entry<"prompt">, input: unknown, context: CallState) => Promise<unknown>;

/** The user's code that a call comes to. */
export type Invoke = (call: StepCall) => unknown;

/** Runs the tool as its own method, or hands the prompt to the delegates. */
export function calling({ entry }: Target, runPrompt: PromptRunner): Invoke {
  if (entry.kind === "prompt") return ({ parsed, state }) => runPrompt(entry, parsed, state);
  const tool: Tool = entry.item;
  return ({ parsed, state }) => tool.run(parsed, state);
}

/** Renders the prompt as its own method. */
export function rendering({ entry }: Target): Invoke {
  return ({ parsed, state }) => (entry.item as Prompt).render(parsed, state);
}

/** How the innermost step goes on. */
export interface RunItemOptions<R> {
  /** Makes the answer of what the user's code gave. */
  receive(value: unknown, state: CallState): MaybePromise<R>;
  /** Waits where it is not there at once. */
  readonly wait: AwaitAttempt;
  /** Keeps what completes elsewhere. */
  readonly approvals: ApprovalPort;
}

/** The innermost step. Whatever the user's code throws becomes an error of the call. */
export function runItem<R>(
  { entry }: Target,
  invoke: Invoke,
  { receive, wait, approvals }: RunItemOptions<R>,
): Next<R> {
  const failed = toCallError(entry.ref, "execute");
  const fail = (thrown: unknown, state: CallState): Promise<never> => {
    if (thrown instanceof PendingCall && thrown.ref === entry.ref)
      return approvals.defer({ entry, state, input: state.input }, thrown);
    throw failed(thrown);
  };
  const outcome: Settlement<unknown, CallState, R> = { receive, fail };
  return (call) => {
    const { state } = call;
    // A call that was ended while its input was read or validated runs nothing: its caller was told so.
    state.throwIfAborted();
    state.input = call.input;
    let result: unknown;
    try {
      result = invoke(call);
    } catch (thrown) {
      return fail(thrown, state);
    }
    if (isPromiseLike(result)) return wait(genuine(result), state, outcome);
    const answer = receive(result, state);
    return answer instanceof Promise ? wait<R, R>(answer, state, asItIs) : answer;
  };
}

function fail(thrown: unknown): never {
  throw thrown;
}

const asItIs = { receive: <T>(value: T): T => value, fail };
