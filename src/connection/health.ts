import type { ConnectorSession } from "../core/connector.ts";
import type { Clock, Timer } from "../lib/clock.ts";

/** Whose health it is, and who hears of its end. */
export interface HealthOptions {
  readonly session: ConnectorSession;
  readonly clock: Clock;
  /** How long the far side may be silent, in milliseconds, before it is taken for gone. */
  readonly silenceMs: number;
  /** Nothing was heard for so long, though it was asked. */
  failed(error: Error): void;
  /** How long a ping took, in milliseconds. */
  answered(latencyMs: number): void;
}

/**
 * So often it is looked at within the silence that is allowed, in parts of it. What was said last may have come right after a look: five
 * looks pass until four of them have heard nothing, and the rest is margin.
 */
const part = 0.19;
/** After so many looks in a row that heard nothing it is asked. */
const askAfter = 2;
/** After so many it is given up: the ping had two of them. */
const giveUpAfter = 4;

/**
 * Finds out that the far side is gone where nothing else tells, such as a socket that is open at this end only.
 *
 * Whatever it sends is a sign of life, so that while there is traffic nothing is asked. Any answer to a ping is one too, even an
 * error.
 */
export class Health {
  readonly #options: HealthOptions;
  readonly #everyMs: number;
  #timer: Timer | undefined;
  #heard = 0;
  /** Looks in a row that heard nothing. */
  #quiet = 0;
  #ping: AbortController | undefined;

  constructor(options: HealthOptions) {
    this.#options = options;
    this.#everyMs = options.silenceMs * part;
  }

  /** Looks from now on. Where there is no way to ask, or no limit, it never looks. */
  begin(): void {
    const { session, silenceMs } = this.#options;
    if (session.ping === undefined || silenceMs === Number.POSITIVE_INFINITY) return;
    this.#heard = session.heard?.() ?? 0;
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
    this.#timer = clock.setTimer(() => this.#look(clock.now() - due), this.#everyMs);
  }

  #look(lateMs: number): void {
    const { session, silenceMs, failed } = this.#options;
    const heard = session.heard?.() ?? 0;
    // Where this process itself stood still, such as a laptop that slept, what was sent has not been read yet.
    const fair = lateMs < this.#everyMs;
    this.#quiet++;
    if (heard !== this.#heard) this.#alive();
    else if (this.#ping === undefined) {
      if (this.#quiet >= askAfter) this.#ask();
    } else if (fair && this.#quiet >= giveUpAfter) {
      this.end();
      failed(new Error(`it has been silent for ${Math.round(silenceMs)} ms and answers no ping (healthCheckMs)`));
      return;
    }
    this.#heard = heard;
    this.#schedule();
  }

  #alive(): void {
    this.#quiet = 0;
    this.#ping?.abort(new Error("It said something else."));
    this.#ping = undefined;
  }

  #ask(): void {
    const { session, clock, answered } = this.#options;
    const ping = new AbortController();
    const askedAt = clock.now();
    this.#ping = ping;
    const over = () => {
      if (this.#ping !== ping) return;
      this.#ping = undefined;
      this.#quiet = 0;
      answered(clock.now() - askedAt);
    };
    const asking = async () => session.ping?.({ signal: ping.signal });
    asking().then(over, over);
  }
}
