import { ToolkitError } from "../core/error.ts";
import type { Handler, Middleware } from "../core/middleware.ts";
import { type Content, isContent } from "../core/resource.ts";
import { andThen, rescue } from "../lib/promise.ts";
import { typeName } from "../lib/value.ts";
import { toCallError } from "./call-error.ts";
import { described, type Next, type Step, StepCall, type Target, unparsed } from "./step.ts";

/**
 * Puts the user's middleware into the chain. An input it changes is validated again, so that nothing unchecked reaches a tool.
 */
export function use(middleware: readonly Middleware[], revalidate: Step): Step {
  const step: Step = (target, next) => {
    const [first, ...others] = middleware;
    if (first === undefined) return next;
    const inner = use(others, revalidate)(target, next);
    const again = revalidate(target, inner);
    const onward: Handler = async (call) => {
      if (!(call instanceof StepCall)) throw new TypeError("Pass on the call you were given, or call.with({ input }).");
      return (await (call.parsed === unparsed ? again(call) : inner(call))) as Content;
    };
    const failed = toCallError(target.entry.ref, "execute");
    const answer = (call: StepCall) => andThen(first(call, onward), (content) => assertContent(content, target));
    return ((call) => rescue(() => answer(call), failed)) as typeof next & Next<never>;
  };
  return described(() => ({ use: middleware.map(({ name }) => name || "anonymous") }), step);
}

function assertContent(content: unknown, { entry: { ref } }: Target): Content {
  if (isContent(content)) return content;
  const message = `its middleware gave ${typeName(content)} in place of a Content`;
  throw new ToolkitError(
    "INVALID_OUTPUT",
    `${ref} has no result: ${message}. Return what next() gave, or a Content made with resource.*.`,
    { issues: [{ pointer: "", message }] },
    { ref, phase: "result" },
  );
}
