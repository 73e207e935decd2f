import { ToolkitError } from "../core/error.ts";
import type { ErrorCode } from "../core/error-catalog.ts";

/** The exit codes of the command. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  /** The command, its arguments or its configuration are wrong: nothing ran. */
  usage: 2,
  notFound: 3,
  unreachable: 4,
  /** The tool ran and reported an error. */
  tool: 5,
  interrupted: 130,
} as const;

const ofErrors: Partial<Record<ErrorCode, number>> = {
  NOT_FOUND: exitCodes.notFound,
  AMBIGUOUS_NAME: exitCodes.usage,
  INVALID_INPUT: exitCodes.usage,
  INVALID_CONFIG: exitCodes.usage,
  INVALID_TARGET: exitCodes.usage,
  INVALID_NAME: exitCodes.usage,
  UNAVAILABLE: exitCodes.unreachable,
  UNAUTHORIZED: exitCodes.unreachable,
  TOOL_FAILED: exitCodes.tool,
  REMOTE_ERROR: exitCodes.tool,
};

/** A command that was written wrongly. */
export class UsageMistake extends Error {
  override readonly name = "UsageMistake";
}

/** The exit code of an error. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageMistake) return exitCodes.usage;
  return ToolkitError.is(error) ? (ofErrors[error.code] ?? exitCodes.failed) : exitCodes.failed;
}
