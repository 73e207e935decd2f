import { messageOf, ToolkitError } from "../core/error.ts";
import { excerpt } from "../lib/excerpt.ts";

/** So many characters of the input of a step are kept for those who look at a run, and in errors. */
const maxInput = 4_096;

/** Thrown where a run cannot go on before a call is settled that it waits for. What ran beside it has ended by then. */
export class RunWaits extends Error {
  override readonly name = "RunWaits";
}

/** Thrown where the state of a run cannot be kept: it ends here, whatever its steps say of failures. */
export class RunBroken extends Error {
  override readonly name = "RunBroken";
}

/** True for what ends a run, and is no failure of a step. */
export function endsRun(error: unknown): boolean {
  return error instanceof RunWaits || error instanceof RunBroken;
}

/** A step, for the error of its failure. */
export interface FailedStep {
  /** The ref of the workflow. */
  readonly ref: string;
  /** Its id, with `[n]` for the element it was done for. */
  readonly step: string;
  /** As `shownInput` gives it. */
  readonly input?: unknown;
}

/** The errors of steps. The answer of a workflow that a step called is a copy of one. */
const failures = new WeakSet<Error>();

/** The error of a step that failed; that of a step inside of it stays as it is. */
export function stepFailed(cause: unknown, { ref, step, input }: FailedStep): ToolkitError<"STEP_FAILED"> {
  if (ToolkitError.is(cause, "STEP_FAILED") && failures.has(cause)) return cause;
  const code = ToolkitError.is(cause) ? cause.code : "TOOL_FAILED";
  const message = messageOf(cause);
  const details = { step, ...(input === undefined ? {} : { input }), cause: { code, message } };
  const text = `The step ${step} of ${ref} failed: ${message}`;
  const failure = new ToolkitError("STEP_FAILED", text, details, { ref, cause });
  failures.add(failure);
  return failure;
}

/** A failure as the result of a step. */
export function failureValue({ details, message }: ToolkitError<"STEP_FAILED">): { readonly error: object } {
  return { error: details.cause ?? { code: "STEP_FAILED", message } };
}

/** The input of a step for people: secrets are masked, and what is long is cut. */
export function shownInput(input: unknown, isSecret: (key: string) => boolean): unknown {
  return JSON.parse(excerpt(input, { isSecret, maxLength: maxInput }));
}
