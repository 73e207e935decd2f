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
import { described, type Next, type StepCall, type StepOf, type Target } from "./step.ts";

/** What keeps answers. */
export interface CacheOptions {
  readonly answers: AnswerCache;
  readonly room: DeadlineScheduler;
}

/**
 * Answers a call that is equal to one before it without a run, and runs those that are equal and come at the same time once. Failures
 * are nobody's answer but that of those who waited for them.
 */
export function cache({ answers, room }: CacheOptions): StepOf<Content> {
  const step: StepOf<Content> = (target, next) => {
    const { settings, entry } = target;
    const setting = settings.cache;
    if (setting === undefined || setting === false || entry.kind !== "tool") return next;
    const keep = (key: string) => (content: Content) => {
      answers.keep(key, content, room.clock.now() + setting.ttlMs);
      return content;
    };
    const keyOf = keyMaker(target, setting);
    return (call) => {
      const key = keyOf(call);
      if (key === undefined) return next(call);
      const { state } = call;
      if (state.options.bypassCache === true) return andThen(next(call), keep(key));
      const content = answers.get(key, room.clock.now());
      if (content !== undefined) {
        state.cached = true;
        state.attempts = 0;
        return content;
      }
      const flight = answers.flights.get(key);
      if (flight === undefined) return depart(call, key, (own) => andThen(next(own), keep(key)));
      return isAwaited(state) ? andThen(next(call), keep(key)) : flight.join(state);
    };
  };
  return described(({ settings }) => ({ cache: settings.cache }), step);

  function depart(call: StepCall, key: string, run: Next): MaybePromise<Content> {
    const flight = new SharedCall(call.state, room, () => {
      if (answers.flights.get(key) === flight) answers.flights.delete(key);
    });
    answers.flights.set(key, flight);
    return flight.run(() => run(call.on(flight.state)), call.state);
  }
}

/** Makes what equal calls have in common; undefined for one that is like no other: with attachments, or with what JSON does not hold. */
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
  return ({ input, state }) => {
    // Through a view a tool may come to less, or to what others must not be shown.
    const apart = state.attachments.length > 0 || state.origin.isConfined;
    const part = apart ? undefined : partOf(input);
    const principal = state.givenSession?.principal;
    return part === undefined
      ? undefined
      : `${owner} ${principal === undefined ? "" : JSON.stringify(principal)} ${part}`;
  };
}

/**
 * Whether somebody may be waiting for what this call is inside of, who would wait for it in turn: such a call joins no other, but runs by
 * itself.
 */
function isAwaited({ parent }: CallState): boolean {
  for (let outer = parent; outer !== undefined; outer = outer.parent)
    if (outer.isShared || outer.limits.length > 0) return true;
  return false;
}
