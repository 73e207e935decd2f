import type { ConnectorSession } from "../core/connector.ts";
import type { Clock, Timer } from "../lib/clock.ts";

/** Options of a health check. */
export interface HealthOptions {
  readonly session: ConnectorSession;
  readonly clock: Clock;
  /** Time after which a far side that sends nothing and answers no ping is taken for lost, in milliseconds. */
  readonly silenceMs: number;
  /** It is taken for lost. */
  failed(error: Error): void;
  /** A ping was answered, after so many milliseconds. */
  answered(latencyMs: number): void;
}

/**
 * The interval of the checks, as a part of `silenceMs`. The last message may come right after a check: five checks pass until four of
 * them have seen nothing new, and the rest is margin.
 */
const part = 0.19;
/** Checks in a row without a message after which a ping is sent. */
const pingAfter = 2;
/** Checks in a row without a message after which it is taken for lost: the ping had two of them. */
const failAfter = 4;

/**
 * Notices that the far side is gone where nothing else does, such as with a socket that is open at this end only.
 *
 * Any message is a sign of life, so that no ping is sent while there is traffic. Any answer to a ping is one too, even an error.
 */
export class Health {
  readonly #options: HealthOptions;
  readonly #everyMs: number;
  #timer: Timer | undefined;
  /** The count of messages at the last check. */
  #received = 0;
  /** Checks in a row without a message. */
  #silentChecks = 0;
  #ping: AbortController | undefined;

  constructor(options: HealthOptions) {
    this.#options = options;
    this.#everyMs = options.silenceMs * part;
  }

  /** Checks from now on; never where the session cannot ping, or has no limit. */
  begin(): void {
    const { session, silenceMs } = this.#options;
    if (session.ping === undefined || silenceMs === Number.POSITIVE_INFINITY) return;
    this.#received = session.received?.() ?? 0;
    this.#schedule();
  }

  end(): void {
    this.#timer?.cancel();
    this.#ping?.abort(new Error("The connection has ended."));
    this.#ping = undefined;
  }

  #schedule(): void {
    const { clock } = this.#options;
    const due = clock.now() + this.#everyMs;
    this.#timer = clock.setTimer(() => this.#check(clock.now() - due), this.#everyMs);
  }

  #check(lateMs: number): void {
    const { session, silenceMs, failed } = this.#options;
    const received = session.received?.() ?? 0;
    // After a pause of this process itself, such as of a laptop that slept, messages that have arrived are not read yet.
    const isOnTime = lateMs < this.#everyMs;
    this.#silentChecks++;
    if (received !== this.#received) this.#alive();
    else if (this.#ping === undefined) {
      if (this.#silentChecks >= pingAfter) this.#sendPing();
    } else if (isOnTime && this.#silentChecks >= failAfter) {
      this.end();
      failed(new Error(`it has been silent for ${Math.round(silenceMs)} ms and answers no ping (healthCheckMs)`));
      return;
    }
    this.#received = received;
    this.#schedule();
  }

  #alive(): void {
    this.#silentChecks = 0;
    this.#ping?.abort(new Error("It sent another message."));
    this.#ping = undefined;
  }

  #sendPing(): void {
    const { session, clock, answered } = this.#options;
    const ping = new AbortController();
    const sentAt = clock.now();
    this.#ping = ping;
    const over = () => {
      if (this.#ping !== ping) return;
      this.#ping = undefined;
      this.#silentChecks = 0;
      answered(clock.now() - sentAt);
    };
    const pinging = async () => session.ping?.({ signal: ping.signal });
    pinging().then(over, over);
  }
}
