import { messageOf, ToolkitError } from "../core/error.ts";
import type { Logger } from "../core/session.ts";

/** So many warnings are kept; the oldest go first. */
const maxWarnings = 100;

/** What an operator is told of one connection: each thing once. */
export class ConnectionLog {
  readonly #logger: Logger;
  readonly #namespace: () => string;
  readonly #warnings = new Set<string>();
  /** What was last said of why it is down. */
  #complaint: string | undefined;

  constructor(logger: Logger, namespace: () => string) {
    this.#logger = logger;
    this.#namespace = namespace;
  }

  /** What is not as it should be, the oldest first. */
  get warnings(): readonly string[] {
    return [...this.#warnings];
  }

  /** Something is not as it should be, and harms nothing else. */
  warn(message: string): void {
    if (this.#warnings.has(message)) return;
    const [oldest] = this.#warnings;
    if (this.#warnings.size >= maxWarnings && oldest !== undefined) this.#warnings.delete(oldest);
    this.#warnings.add(message);
    this.#logger.warn(`${this.#namespace()}: ${message}`);
  }

  /** It was lost, or an attempt failed. The same again is no news: the connection has the whole error. */
  down(error: Error, attempts: number): void {
    const details = { attempts, ...(ToolkitError.is(error) ? { code: error.code } : {}) };
    const method = this.#complaint === error.message ? "debug" : "warn";
    this.#complaint = error.message;
    this.#logger[method](`${this.#namespace()} is not connected: ${error.message}`, details);
  }

  /** It is connected; worth a word where it was said to be down. */
  up(label: string): void {
    if (this.#complaint !== undefined) this.#logger.info(`${this.#namespace()} is connected to ${label}`);
    this.#complaint = undefined;
  }

  /** Something failed where nobody waits for it. */
  background(error: unknown): void {
    this.#logger.error(`${this.#namespace()}: ${messageOf(error)}`, { error });
  }
}
