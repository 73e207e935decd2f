import { visibleLines } from "../lib/visible-text.ts";
import { type ErrorCode, type ErrorDetails, errorCatalog, type Phase } from "./error-catalog.ts";

const brand: unique symbol = Symbol.for("toolweave.error") as never;

/** The options of an error beside its code, message and details. */
export interface ToolkitErrorOptions {
  readonly cause?: unknown;
  readonly ref?: string | undefined;
  readonly phase?: Phase | undefined;
}

/** An error as plain data. */
interface ErrorJson<C extends ErrorCode> {
  code: C;
  status: number;
  message: string;
  details: ErrorDetails[C];
  ref?: string;
  phase?: Phase;
  remedy: string;
}

/**
 * The error class of Toolweave. `code` says what went wrong, `details` the particulars of that code, the message what, where and what to
 * do. An error of a call also carries the `ref` of what was called and the `phase` in which it failed.
 *
 * @example
 * ```ts
 * try {
 *   await toolkit.call("weather.forecast", { city: "Bern" });
 * } catch (error) {
 *   if (ToolkitError.is(error, "UNAVAILABLE")) retryLater(error.details.retryInMs);
 *   else throw error;
 * }
 * ```
 */
export class ToolkitError<C extends ErrorCode = ErrorCode> extends Error {
  override readonly name = "ToolkitError";
  readonly code: C;
  readonly details: ErrorDetails[C];
  readonly ref: string | undefined;
  readonly phase: Phase | undefined;

  constructor(code: C, message: string, details: ErrorDetails[C], options: ToolkitErrorOptions = {}) {
    // Any message may quote a stranger. It reaches terminals and logs.
    super(
      typeof message === "string" ? visibleLines(message) : message,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.code = code;
    this.details = details;
    this.ref = options.ref;
    this.phase = options.phase;
  }

  /** The status of HTTP with which a service may answer: 404, 503 and so on, by the code alone. See the table of errors. */
  get status(): number {
    return errorCatalog[this.code].status;
  }

  get [brand](): true {
    return true;
  }

  /** True for a ToolkitError, also of another copy of this package; with a code, only for that code. */
  static is<C extends ErrorCode = ErrorCode>(error: unknown, code?: C): error is ToolkitError<C> {
    if (typeof error !== "object" || error === null || (error as { [brand]?: unknown })[brand] !== true) return false;
    return code === undefined || (error as ToolkitError).code === code;
  }

  /** For logs and the wire: everything but the stack and the cause. */
  toJSON(): ErrorJson<C> {
    return {
      code: this.code,
      status: this.status,
      message: this.message,
      details: this.details,
      ...(this.ref === undefined ? {} : { ref: this.ref }),
      ...(this.phase === undefined ? {} : { phase: this.phase }),
      remedy: errorCatalog[this.code].remedy,
    };
  }
}

/** The error with ref and phase where it has none yet; what it says of itself stays. */
export function located<C extends ErrorCode>(error: ToolkitError<C>, ref: string, phase: Phase): ToolkitError<C> {
  if (error.ref !== undefined && error.phase !== undefined) return error;
  const copy = new ToolkitError(error.code, error.message, error.details, {
    ref: error.ref ?? ref,
    phase: error.phase ?? phase,
    cause: error.cause,
  });
  if (error.stack !== undefined) copy.stack = error.stack;
  return copy;
}

/** The thrown value as an Error: itself if it is one, else an Error with the same text and the value as its cause. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(messageOf(thrown), { cause: thrown });
}

/** The message of an unknown thrown value. Never throws. */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return String(thrown.message || thrown.name);
    return typeof thrown === "string" ? thrown : (JSON.stringify(thrown) ?? String(thrown));
  } catch {}
  try {
    return String(thrown);
  } catch {
    return `a value of type ${typeof thrown} that cannot be shown`;
  }
}
