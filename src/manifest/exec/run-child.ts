import { ToolkitError } from "../../core/error.ts";
import { withServerOutput } from "../../core/server-output.ts";
import { OutputTail } from "../../lib/child/child-output.ts";
import { endGroup } from "../../lib/child/process-group.ts";
import { type ChildParameters, type PipedChild, SpawnError, spawnChild } from "../../lib/child/spawn-child.ts";
import { abortable } from "../../lib/promise.ts";
import { maskedText } from "../../lib/secret-forms.ts";

/** A program that a manifest names. */
export interface ManifestCommand extends Omit<ChildParameters, "args"> {
  /** The part of it that may be shown. */
  readonly shown: string;
  /** The values of variables that its output must not show. */
  readonly secrets: readonly string[];
  /** The most that it may write, in bytes. */
  readonly maxOutputBytes: number;
}

const maxStderrBytes = 16 * 1024;
const shownStderr = 1_000;
/** After a child has exited a grandchild may keep its output open for ever. */
const drainMs = 500;

/**
 * Starts a program, and keeps the end of what it says on stderr.
 *
 * @throws ToolkitError `UNAVAILABLE`; `INVALID_INPUT` where an argument of the call holds a NUL character, `LIMIT_EXCEEDED` where it is too long for
 *   the system
 */
export async function startChild(
  command: ManifestCommand,
  args: readonly string[],
  onSpawn: (child: PipedChild) => void,
): Promise<{ readonly child: PipedChild; readonly stderr: OutputTail }> {
  if (args.some((argument) => argument.includes("\0"))) {
    const message = "An argument of the program holds a NUL character.";
    throw new ToolkitError("INVALID_INPUT", message, { issues: [{ pointer: "", message }] });
  }
  const { shown } = command;
  try {
    const child = await spawnChild({ ...command, args }, shown, onSpawn);
    const stderr = new OutputTail(maxStderrBytes);
    child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
    // A broken pipe shows by the exit that follows.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => {});
    return { child, stderr };
  } catch (error) {
    if (!(error instanceof SpawnError)) throw error;
    if (tooLongCodes.has((error.cause as NodeJS.ErrnoException).code ?? "")) throw tooLong(shown, args, error.cause);
    throw new ToolkitError("UNAVAILABLE", error.message, { namespace: shown }, { cause: error.cause });
  }
}

const tooLongCodes: ReadonlySet<string> = new Set(["E2BIG", ...(process.platform === "win32" ? ["ENAMETOOLONG"] : [])]);
/** The most bytes of one argument on Linux, without its end. Other systems limit all of them together. */
const maxArgumentBytes = 2 ** 17 - 1;
/** The usual limits of all arguments together; those of Linux and others are set by the machine. */
const maxArgumentsBytes: Partial<Record<NodeJS.Platform, number>> = { win32: 32_767, darwin: 2 ** 20 };

/** The system refused to start a program, since its arguments are too long: those of the call are, as a manifest is small. */
function tooLong(shown: string, args: readonly string[], cause: unknown): ToolkitError {
  const sizes = args.map((argument) => Buffer.byteLength(argument));
  const longest = sizes.reduce((most, size) => Math.max(most, size), 0);
  const isOne = process.platform === "linux" && longest > maxArgumentBytes;
  const max = isOne ? maxArgumentBytes : (maxArgumentsBytes[process.platform] ?? 2 ** 21);
  const actual = isOne ? longest : sizes.reduce((sum, size) => sum + size, 0);
  const what = isOne ? "An argument" : "The arguments";
  const verb = isOne ? "has" : "have";
  const message = `${what} of the program ${shown} ${verb} ${actual} bytes, and the system takes ${max}. Give less; or have the program read it on stdin, where it gets all arguments of the call, and leave it out of exec.args.`;
  return new ToolkitError("LIMIT_EXCEEDED", message, { limit: "exec.args", max, actual }, { cause });
}

/** Ends a child and all that it started. */
export async function endChild(child: PipedChild): Promise<void> {
  child.stdin.destroy();
  try {
    await endGroup(child);
  } finally {
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    child.unref();
  }
}

/**
 * Runs a program once: writes to its stdin, and reads its stdout to the end. Whatever happens nothing of it is left running.
 *
 * @param onEnding - gets the promise of its end: of one that was aborted it may take seconds
 * @throws ToolkitError `TOOL_FAILED` with the exit code, `LIMIT_EXCEEDED`, `UNAVAILABLE`; the reason of an abort
 */
export async function runChild(
  command: ManifestCommand,
  args: readonly string[],
  input: string,
  { signal, onEnding }: { readonly signal: AbortSignal; onEnding(ending: Promise<void>): void },
): Promise<string> {
  signal.throwIfAborted();
  let spawned: PipedChild | undefined;
  const running = (async () => {
    const { child, stderr } = await startChild(command, args, (each) => {
      spawned = each;
    });
    const output = collected(child, command);
    child.stdin.end(input);
    const stdout = await output;
    const exit = exitOf(child);
    if (exit === undefined) return stdout;
    throw childFailure(command, exit, stderr.text());
  })();
  // An abort leaves it alone.
  running.catch(() => undefined);
  try {
    return await abortable(running, signal);
  } finally {
    if (spawned !== undefined) {
      const ending = endChild(spawned);
      onEnding(ending);
      if (!signal.aborted) await ending;
    }
  }
}

/** The error of a program that failed; what it said on stderr is for the operator alone. */
export function childFailure({ shown, secrets }: ManifestCommand, why: string, stderr: string): ToolkitError {
  const masked = maskedText(stderr, secrets).trim();
  const quoted = masked === "" ? undefined : `stderr ended with ${JSON.stringify(masked.slice(-shownStderr))}`;
  const cause = withServerOutput(new Error(maskedText(why, secrets)), quoted);
  return new ToolkitError("TOOL_FAILED", `The program ${shown} failed: ${maskedText(why, secrets)}.`, {}, { cause });
}

/** Undefined where it ended well. */
export function exitOf({ exitCode, signalCode }: PipedChild): string | undefined {
  if (signalCode !== null) return `it was ended by ${signalCode}`;
  return exitCode === 0 ? undefined : `it exited with code ${exitCode}`;
}

/** All that a child writes to stdout until it has ended. @throws ToolkitError `LIMIT_EXCEEDED` */
function collected(child: PipedChild, { shown, maxOutputBytes }: ManifestCommand): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  return new Promise((resolve, reject) => {
    const finish = () => resolve(Buffer.concat(chunks).toString("utf8"));
    child.stdout.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxOutputBytes) {
        chunks.push(chunk);
        return;
      }
      chunks.length = 0;
      child.stdout.pause();
      const message = `The program ${shown} wrote more than ${maxOutputBytes} bytes: raise exec.max_output_bytes, or ask for less.`;
      reject(new ToolkitError("LIMIT_EXCEEDED", message, { limit: "max_output_bytes", max: maxOutputBytes }));
    });
    child.once("close", finish);
    // A turn later: on a busy machine what can be read already is read first.
    child.once("exit", () => setTimeout(() => setImmediate(finish), drainMs).unref());
  });
}
