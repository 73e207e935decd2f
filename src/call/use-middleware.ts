import { ToolkitError } from "../core/error.ts";
import type { Call, CallAnswer, Handler, Middleware } from "../core/middleware.ts";
import { isContent } from "../core/resource.ts";
import { rescue } from "../lib/promise.ts";
import { isRecord, typeName } from "../lib/value.ts";
import { toCallError } from "./call-error.ts";
import { described, type Next, type Step, StepCall, type Target, unparsed } from "./step.ts";

/**
 * Puts the user's middleware into the chain, the first outermost. An input it changes is validated again, so that nothing unchecked
 * reaches a tool.
 */
export function useMiddleware(middleware: readonly Middleware[], revalidate: Step): Step {
  return described(
    () => ({ use: middleware.map(({ name }) => name || "anonymous") }),
    (target, next) => middleware.reduceRight((inner, each) => wrapped(each, inner, target, revalidate), next),
  );
}

function wrapped(middleware: Middleware, inner: Next, target: Target, revalidate: Step): Next {
  const again = target.verb === "read" ? inner : revalidate(target, inner);
  const failed = toCallError(target.entry.ref, "execute");
  return (call) => {
    const onward = async (given: unknown): Promise<unknown> => {
      if (!(given instanceof StepCall) || given.state !== call.state)
        throw new TypeError("next() takes the call of the middleware, or the result of its with().");
      return given.parsed === unparsed ? again(given) : inner(given);
    };
    const next = (given: unknown) => {
      const answer = onward(given);
      // Middleware may leave it: then it fails for nothing but itself.
      answer.catch(ignore);
      return answer;
    };
    const answer = rescue(() => middleware(call as unknown as Call, next as Handler), failed);
    return answer instanceof Promise ? answer.then((given) => asAnswer(given, target)) : asAnswer(answer, target);
  };
}

/** @throws ToolkitError `INVALID_OUTPUT` for what is no answer of the verb */
function asAnswer(given: unknown, { verb, entry: { ref } }: Target): CallAnswer {
  if (verb === "render" ? isRecord(given) && Array.isArray(given.messages) : isContent(given))
    return given as CallAnswer;
  const wanted = verb === "render" ? "the messages of a prompt" : "a Content";
  const message = `its middleware gave ${typeName(given)} in place of ${wanted}`;
  const instead = verb === "render" ? "{ messages }" : "a Content made with resource.*";
  throw new ToolkitError(
    "INVALID_OUTPUT",
    `${ref} has no result: ${message}. Return what next() gave, or ${instead}.`,
    { issues: [{ pointer: "", message }] },
    { ref, phase: "result" },
  );
}

function ignore(): void {
  // The caller of next() has it.
}
