import { randomBytes } from "node:crypto";
import type { Timer } from "../../lib/clock.ts";
import type { ClientSession } from "../client-session.ts";
import type { ReadHandlerOptions } from "./handler-options.ts";
import type { HttpChannel } from "./http-channel.ts";
import { RequestRefusal } from "./http-exchange-port.ts";

/** A session as its client knows it. */
export interface ServedSession {
  /** Whoever has it is its client, unless there are principals. */
  readonly id: string;
  readonly principal: string | undefined;
  readonly channel: HttpChannel;
  readonly client: ClientSession;
  lastUsedAt: number;
}

const sweepMs = 60_000;

/** The sessions of a handler: bounded in number, and ended when they are idle for long. */
export class SessionRegistry {
  readonly #options: ReadHandlerOptions;
  readonly #byId = new Map<string, ServedSession>();
  /** The least recently used first. */
  readonly #byPrincipal = new Map<string | undefined, Set<ServedSession>>();
  #sweep: Timer | undefined;
  #keepAlive: Timer | undefined;

  constructor(options: ReadHandlerOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#byId.size;
  }

  get all(): readonly ServedSession[] {
    return [...this.#byId.values()];
  }

  /** An id that cannot be guessed. */
  newId(): string {
    return randomBytes(24).toString("base64url");
  }

  /**
   * Makes room for one more session of a principal: by the end of the one of its own that was idle for longest, where it has too many.
   *
   * @throws RequestRefusal where there are too many sessions, and none of its own is idle
   */
  makeRoom(principal: string | undefined): void {
    const { maxSessions, maxSessionsPerPrincipal } = this.#options;
    const own = this.#byPrincipal.get(principal);
    if (this.#byId.size < maxSessions && (own?.size ?? 0) < maxSessionsPerPrincipal) return;
    // Those of others stay: a caller who opens sessions without end takes the place of none but their own.
    for (const session of own ?? []) {
      if (!session.channel.isIdle) continue;
      this.end(session);
      return;
    }
    throw new RequestRefusal(503, "Too many sessions: end one first.", { headers: { "retry-after": "60" } });
  }

  add(session: ServedSession): void {
    const { principal, id } = session;
    this.#byId.set(id, session);
    const own = this.#byPrincipal.get(principal) ?? new Set();
    own.add(session);
    this.#byPrincipal.set(principal, own);
    void session.client.closed.then(() => this.#remove(session));
    this.#schedule();
  }

  /** The session of a request. That of another principal is not there. @throws RequestRefusal */
  find(id: string, principal: string | undefined): ServedSession {
    const session = this.#byId.get(id);
    if (session === undefined || session.principal !== principal)
      throw new RequestRefusal(404, "Session not found: begin a new one with initialize.", { rpcCode: -32_001 });
    session.lastUsedAt = this.#options.clock.now();
    const own = this.#byPrincipal.get(principal);
    own?.delete(session);
    own?.add(session);
    return session;
  }

  end(session: ServedSession): void {
    this.#remove(session);
    void session.client.close();
  }

  stop(): void {
    this.#sweep?.cancel();
    this.#keepAlive?.cancel();
    this.#sweep = undefined;
    this.#keepAlive = undefined;
    for (const session of this.all) this.end(session);
  }

  #remove(session: ServedSession): void {
    if (!this.#byId.delete(session.id)) return;
    const own = this.#byPrincipal.get(session.principal);
    own?.delete(session);
    if (own?.size === 0) this.#byPrincipal.delete(session.principal);
  }

  #schedule(): void {
    const { clock, sessionIdleMs, keepAliveMs } = this.#options;
    this.#sweep ??= clock.setTimer(
      () => {
        this.#sweep = undefined;
        this.#endIdle();
        if (this.#byId.size > 0) this.#schedule();
      },
      Math.min(sweepMs, sessionIdleMs),
    );
    this.#keepAlive ??= clock.setTimer(() => {
      this.#keepAlive = undefined;
      for (const { channel } of this.#byId.values()) channel.keepAlive();
      if (this.#byId.size > 0) this.#schedule();
    }, keepAliveMs);
  }

  #endIdle(): void {
    const { clock, sessionIdleMs } = this.#options;
    const since = clock.now() - sessionIdleMs;
    for (const session of this.all) if (session.lastUsedAt <= since && session.channel.isIdle) this.end(session);
  }
}
