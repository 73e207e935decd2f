import type { Handler, Middleware } from "../core/middleware.ts";
import type { Content } from "../core/resource.ts";
import { type Next, type Step, StepCall, unparsed } from "./step.ts";

/**
 * Puts the user's middleware into the chain. An input it changes is validated again, so that nothing unchecked reaches a tool.
 */
export function use(middleware: readonly Middleware[], revalidate: Step): Step {
  return (target, next) => {
    const [first, ...others] = middleware;
    if (first === undefined) return next;
    const inner = use(others, revalidate)(target, next);
    const again = revalidate(target, inner);
    const onward: Handler = async (call) => {
      if (!(call instanceof StepCall)) throw new TypeError("Pass on the call you were given, or call.with({ input }).");
      return (await (call.parsed === unparsed ? again(call) : inner(call))) as Content;
    };
    return ((call) => first(call, onward)) as typeof next & Next<never>;
  };
}
