import { messageOf, ToolkitError, toError } from "../core/error.ts";
import type { ListFailure } from "../core/item.ts";
import type { Logger } from "../core/session.ts";
import type { Source } from "../core/source.ts";
import type { Clock } from "../lib/clock.ts";

/** The parts of a toolkit that failures are reported to. */
export interface SourceFailureHost {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Problems that a source reports of some of its items: each is logged once, and once more when it is gone. */
export class SourceFailures {
  readonly #namespace: string;
  readonly #source: Source;
  readonly #host: SourceFailureHost;
  #known: ReadonlyMap<string, ListFailure> = new Map();

  constructor(namespace: string, source: Source, host: SourceFailureHost) {
    this.#namespace = namespace;
    this.#source = source;
    this.#host = host;
  }

  get failures(): readonly ListFailure[] {
    return [...this.#known.values()];
  }

  /** Asks for them. It never throws. */
  refresh(): void {
    const { clock, logger } = this.#host;
    const now = new Map<string, ListFailure>();
    for (const problem of this.#read()) {
      const { message } = problem;
      const known = this.#known.get(message);
      if (known === undefined) logger.warn(`${this.#namespace}: ${message}`, { error: problem });
      now.set(
        message,
        known ?? { namespace: this.#namespace, error: this.#errorOf(problem), since: Math.floor(clock.now()) },
      );
    }
    const files = new Set([...now.values()].map(({ error }) => fileOf(error)));
    for (const [message, { error }] of this.#known) {
      const file = fileOf(error);
      // Of a file that is broken in another way now, the new problem is enough.
      if (now.has(message) || (file !== undefined && files.has(file))) continue;
      logger.info(`${this.#namespace}: ${file ?? "A problem"} is repaired. It was: ${message}`);
    }
    this.#known = now;
  }

  #read(): readonly Error[] {
    try {
      const problems: readonly unknown[] = this.#source.problems?.() ?? [];
      return problems.map(toError);
    } catch (error) {
      this.#host.logger.error(`The source ${this.#namespace} could not report its problems: ${messageOf(error)}`, {
        error,
      });
      return [];
    }
  }

  #errorOf(problem: Error): ToolkitError {
    if (ToolkitError.is(problem)) return problem;
    return new ToolkitError("UNAVAILABLE", messageOf(problem), { namespace: this.#namespace }, { cause: problem });
  }
}

function fileOf(error: ToolkitError): string | undefined {
  const isOfFile = ToolkitError.is(error, "INVALID_PROMPT") || ToolkitError.is(error, "INVALID_MANIFEST");
  return isOfFile ? error.details.file : undefined;
}
