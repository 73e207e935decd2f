import type { Session } from "../core/session.ts";
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
  readonly #endedAt = new Map<Session, number>();
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The sessions whose calls ended within the last quarter of a second. */
  get sessions(): readonly Session[] {
    if (this.#endedAt.size === 0) return [];
    this.#sweep();
    return [...this.#endedAt.keys()];
  }

  /** A call begins: messages may be its own from now on. */
  began(session: Session | undefined): void {
    if (this.#endedAt.size === 0) return;
    for (const ended of this.#endedAt.keys()) if (ended !== session) this.#endedAt.delete(ended);
  }

  /** A call of a session that takes log messages is over. */
  ended(session: Session): void {
    const endedAt = this.#endedAt;
    endedAt.delete(session);
    endedAt.set(session, this.#clock.now());
    if (endedAt.size > maxSessions) endedAt.delete(endedAt.keys().next().value as Session);
    this.#timer ??= this.#clock.setTimer(() => this.#again(), lateLogMs);
  }

  /** Forgets them all. */
  clear(): void {
    this.#endedAt.clear();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #again(): void {
    this.#sweep();
    this.#timer = this.#endedAt.size === 0 ? undefined : this.#clock.setTimer(() => this.#again(), lateLogMs);
  }

  #sweep(): void {
    const since = this.#clock.now() - lateLogMs;
    for (const [session, endedAt] of this.#endedAt) {
      if (endedAt > since) return;
      this.#endedAt.delete(session);
    }
  }
}
