import { messageOf, ToolkitError } from "../core/error.ts";
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

/** The text of an error for the person at the terminal, who has commands and no methods. */
export function errorText(error: unknown): string {
  if (ToolkitError.is(error, "PENDING")) {
    const until = `, and it waits until ${new Date(error.details.expiresAt).toLocaleTimeString()}.`;
    return `PENDING: ${messageOf(error).replace(/: approvals\.\w+ settles it, before \S+$/, until)}`;
  }
  if (ToolkitError.is(error)) return `${error.code}: ${messageOf(error)}`;
  // An error of the system, such as a disk that is full, says all in its message.
  const isClear = error instanceof UsageMistake || !(error instanceof Error) || "syscall" in error;
  return isClear ? messageOf(error) : (error.stack ?? error.message);
}
