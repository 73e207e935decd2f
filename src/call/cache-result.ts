import { randomUUID } from "node:crypto";
import type { CacheSetting } from "../core/call-settings.ts";
import { inlineNamespace } from "../core/identifier.ts";
import type { Content } from "../core/resource.ts";
import { canonicalJson } from "../lib/canonical.ts";
import type { DeadlineScheduler } from "../lib/deadline-scheduler.ts";
import { andThen, isPromiseLike, type MaybePromise } from "../lib/promise.ts";
import { isJson } from "../lib/value.ts";
import type { AnswerCache } from "./answer-cache.ts";
import { toCallError } from "./call-error.ts";
import type { CallState } from "./call-state.ts";
import { SharedCall } from "./shared-call.ts";
import { described, type Next, type Step, type StepCall, type Target } from "./step.ts";

/** The parts of the cache. */
export interface CacheOptions {
  readonly answers: AnswerCache;
  readonly deadlines: DeadlineScheduler;
}

/**
 * Answers a call that is equal to one before it without a run, and runs equal calls that come at the same time once. A failure is the
 * answer of those alone that waited for it.
 */
export function cacheResult({ answers, deadlines }: CacheOptions): Step {
  return described(
    ({ settings }) => ({ cache: settings.cache }),
    (target, next) => {
      const { settings, entry } = target;
      const setting = settings.cache;
      if (setting === undefined || setting === false || entry.kind !== "tool") return next;
      // The answer of a tool is a Content.
      const run = next as Next<Content>;
      const keep = (key: string) => (content: Content) => {
        answers.keep(key, content, deadlines.clock.now() + setting.ttlMs);
        return content;
      };
      const keyOf = keyMaker(target, setting);
      return (call) => {
        const key = keyOf(call);
        if (key === undefined) return run(call);
        const { state } = call;
        if (state.options.bypassCache === true) return andThen(run(call), keep(key));
        const content = answers.get(key, deadlines.clock.now());
        if (content !== undefined) {
          state.cached = true;
          state.attempts = 0;
          return content;
        }
        const shared = answers.running.get(key);
        if (shared === undefined) return share(call, key, (own) => andThen(run(own), keep(key)));
        return isAwaited(state) ? andThen(run(call), keep(key)) : shared.join(state);
      };
    },
  );

  function share(call: StepCall, key: string, run: Next<Content>): MaybePromise<Content> {
    const shared = new SharedCall(call.state, deadlines, () => {
      if (answers.running.get(key) === shared) answers.running.delete(key);
    });
    answers.running.set(key, shared);
    return shared.run(() => run(call.on(shared.state)), call.state);
  }
}

/** Makes the key of equal calls; undefined for a call that equals no other: with attachments, or with input that JSON does not hold. */
function keyMaker({ entry, definition }: Target, setting: CacheSetting): (call: StepCall) => string | undefined {
  // Of tools that were never added several may bear one name.
  const own = entry.namespace === inlineNamespace ? randomUUID() : "";
  const owner = JSON.stringify([entry.ref, definition.fingerprint, own]);
  const failed = toCallError(entry.ref, "execute");
  const partOf = (input: unknown) => {
    if (setting.key === undefined) return isJson(input) ? canonicalJson(input) : undefined;
    try {
      const key: unknown = setting.key(input);
      if (key === undefined || key === null || isPromiseLike(key) || !isJson(key))
        throw new TypeError("the key of its cache must be a text, or JSON, at once");
      return `key ${canonicalJson(key)}`;
    } catch (error) {
      throw failed(error);
    }
  };
  return ({ input, shown }) => {
    // Through a view the result of a tool may be less, or what others must not be shown.
    const isApart = shown.attachments.length > 0 || shown.isConfined;
    const part = isApart ? undefined : partOf(input);
    const principal = shown.givenSession?.principal;
    return part === undefined
      ? undefined
      : `${owner} ${principal === undefined ? "" : JSON.stringify(principal)} ${part}`;
  };
}

/**
 * True where another call may wait for one that this is inside of, and this would wait for that in turn: such a call joins no other, but
 * runs by itself.
 */
function isAwaited({ parent }: CallState): boolean {
  for (let outer = parent; outer !== undefined; outer = outer.parent)
    if (outer.isShared || outer.limits.length > 0) return true;
  return false;
}
