import { type Session, sessionKey } from "../core/session.ts";
import type { Clock, Timer } from "../lib/clock.ts";

/** Time after the answer of a call in which a log message is still taken for one of it, in milliseconds. */
const lateLogMs = 250;
/** The most sessions that are remembered; the oldest go first. */
const maxSessions = 1_000;

/**
 * The sessions whose calls have just been answered. A log message and the answer may come on different streams: what was written first
 * may arrive last. It is not known whose call a message belongs to, so that each of them gets it, as each session that is calling does;
 * but none gets one that may be of a call that began after its own was over.
 *
 * One timer for all, and only while there are such sessions: a call costs an entry of a map, and one of a session that takes no log
 * messages costs nothing.
 */
export class LateLoggers {
  readonly #clock: Clock;
  /** By the key of the session. */
  readonly #ended = new Map<string, { readonly session: Session; readonly at: number }>();
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The sessions whose calls ended within the last quarter of a second. */
  get sessions(): readonly Session[] {
    if (this.#ended.size === 0) return [];
    this.#sweep();
    return [...this.#ended.values()].map(({ session }) => session);
  }

  /** A call begins: messages may be its own from now on. */
  began(session: Session | undefined): void {
    if (this.#ended.size === 0) return;
    const own = session && sessionKey(session);
    for (const key of this.#ended.keys()) if (key !== own) this.#ended.delete(key);
  }

  /** A call of a session that takes log messages is over. */
  ended(session: Session): void {
    const ended = this.#ended;
    const key = sessionKey(session);
    ended.delete(key);
    ended.set(key, { session, at: this.#clock.now() });
    if (ended.size > maxSessions) ended.delete(ended.keys().next().value as string);
    this.#timer ??= this.#clock.setTimer(() => this.#again(), lateLogMs);
  }

  /** Forgets them all. */
  clear(): void {
    this.#ended.clear();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #again(): void {
    this.#sweep();
    this.#timer = this.#ended.size === 0 ? undefined : this.#clock.setTimer(() => this.#again(), lateLogMs);
  }

  #sweep(): void {
    const since = this.#clock.now() - lateLogMs;
    for (const [key, { at }] of this.#ended) {
      if (at > since) return;
      this.#ended.delete(key);
    }
  }
}
