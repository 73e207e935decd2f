import type { CallContext, Entry, Prompt, RenderedPrompt, Tool } from "../core/item.ts";
import { runnerOf } from "../core/prompt-runner.ts";
import type { Unsubscribe } from "../core/source.ts";
import type { DeadlineScheduler, Settlement } from "../lib/deadline-scheduler.ts";
import { genuine, isPromiseLike } from "../lib/promise.ts";
import { loadResource } from "../resource/handle.ts";
import type { ApprovalPort } from "./approval-port.ts";
import { toCallError } from "./call-error.ts";
import type { CallLimits } from "./call-lifetime.ts";
import { CallState } from "./call-state.ts";
import { completeArgument, type ReadCompletionRequest } from "./complete-argument.ts";
import { PendingCall } from "./pending-call.ts";
import type { ActionResult, Next, Receive, StepCall, Target } from "./step.ts";

/** The code that each action comes to, beside that of the items. */
export interface Runners {
  /** Executes a prompt: the work of delegates. */
  runPrompt(entry: Entry<"prompt">, input: unknown, context: CallContext): Promise<unknown>;
  /** Has the source of a resource report its changes. */
  subscribe(entry: Entry<"resource">, context: CallContext): Promise<Unsubscribe> | Unsubscribe;
}

type Invoke = (call: StepCall) => unknown;

/** The user's code that a target comes to. Items run as their own methods. */
function invokerOf({ verb, entry }: Target, runners: Runners): Invoke {
  if (verb === "complete") {
    const completed = entry as Entry<"prompt" | "resource">;
    return ({ input, context }) => completeArgument(completed, input as ReadCompletionRequest, context);
  }
  if (entry.kind === "tool") {
    const tool: Tool = entry.item;
    return ({ parsed, context }) => tool.run(parsed, context);
  }
  if (entry.kind === "prompt") {
    const prompt: Prompt = entry.item;
    if (verb === "render") return ({ parsed, context }) => prompt.render(parsed, context);
    const own = runnerOf(prompt);
    if (own !== undefined) return ({ parsed, context }) => own(parsed, context);
    return ({ parsed, context }) => runners.runPrompt(entry, parsed, context);
  }
  if (verb === "read") return ({ context }) => loadResource(entry.item, context);
  return async ({ context }) => runners.subscribe(entry, context);
}

/** The parts of the innermost step. */
export interface RunItemOptions extends Runners {
  /** Makes the answer from the result of the user's code. */
  readonly receive: Receive;
  readonly deadlines: DeadlineScheduler;
  /** Undefined where an attempt may take any time. */
  readonly limits: CallLimits | undefined;
  /** Keeps calls that complete elsewhere. */
  readonly approvals: ApprovalPort;
}

/** The innermost step. Errors of the user's code become errors of the call. */
export function runItem(target: Target, options: RunItemOptions): Next {
  const { receive, deadlines, limits, approvals } = options;
  const { ref, kind } = target.entry;
  const invoke = invokerOf(target, options);
  const failed = toCallError(ref, "execute");
  const fail = (thrown: unknown, state: CallState): Promise<never> => {
    const mayWait = kind !== "resource" && target.verb !== "complete";
    if (!(thrown instanceof PendingCall) || thrown.ref !== ref || !mayWait) throw failed(thrown);
    // A context that was derived from this one may have another session.
    const shown = thrown.state instanceof CallState && thrown.state.base === state ? thrown.state : state;
    return approvals.defer(
      { entry: target.entry as Entry<"tool" | "prompt">, state: shown, input: state.input },
      thrown,
    );
  };
  const outcome: Settlement<unknown, CallState, ActionResult> = { receive, fail };
  return (call) => {
    const { state } = call;
    // A call that was ended while its input was read or validated runs nothing: its caller has had its answer.
    state.throwIfAborted();
    state.input = call.input;
    let result: unknown;
    try {
      result = invoke(call);
    } catch (thrown) {
      return fail(thrown, state);
    }
    // A text is no promise: it need not be looked at.
    if (typeof result !== "string" && isPromiseLike(result)) {
      const promise = genuine(result);
      // The limit of time is not put around the run, so that both share one promise.
      return limits === undefined ? settled(promise, state, outcome) : deadlines.wait(promise, state, limits, outcome);
    }
    const answer = receive(result, state);
    return answer instanceof Promise && limits !== undefined ? deadlines.wait(answer, state, limits) : answer;
  };
}

function settled<T, R>(promise: Promise<T>, state: CallState, settle: Settlement<T, CallState, R>): Promise<R> {
  return promise.then(
    (value) => settle.receive(value, state),
    (thrown) => settle.fail(thrown, state),
  );
}

/** The answer of reading, rendering, subscribing and completing: no other than the result. */
export const asResult: Receive = (value) => value as RenderedPrompt;
