import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { commandLine, isFolder, isNowhere } from "./child-command.ts";
import { endGroup, startGroup } from "./process-group.ts";

/** A program, and what it is started with. */
export interface ChildParameters {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
}

/** A child that is written to and read. */
export type PipedChild = ChildProcessByStdio<Writable, Readable, Readable>;

/** Why a program could not be started. */
export class SpawnError extends Error {}

/**
 * Starts a program without a shell, in a process group of its own that does not outlive this process: `endGroup` ends it.
 *
 * @param shown - the part of the command that may be shown
 * @param onSpawn - called with the child before it has started: it may be ended from then on
 * @throws SpawnError
 */
export async function spawnChild(
  parameters: ChildParameters,
  shown: string,
  onSpawn: (child: PipedChild) => void = () => {},
): Promise<PipedChild> {
  try {
    const { child, hasStarted } = takeAhead(parameters) ?? start(parameters);
    onSpawn(child);
    await hasStarted;
    return child;
  } catch (error) {
    throw await spawnError(parameters, shown, (error as NodeJS.ErrnoException).code);
  }
}

interface StartedChild {
  readonly child: PipedChild;
  /** Rejects where the program could not be started. */
  readonly hasStarted: Promise<void>;
}

/** The children that no `spawnChild` has taken over yet, by the text of their parameters. */
const ahead = new Map<StartedChild, string>();

/**
 * Starts a program before the `spawnChild` of the same parameters is called, which gives this child then.
 *
 * @returns ends the child where that call did not come
 */
export function spawnAhead(parameters: ChildParameters): () => Promise<void> {
  let started: StartedChild;
  try {
    started = start(parameters);
  } catch {
    // Refused before it was started, as it will be by that call.
    return async () => {};
  }
  const { child, hasStarted } = started;
  ahead.set(started, textOf(parameters));
  // The call that takes it over reports what fails; until then nothing else listens.
  hasStarted.catch(() => {});
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => {});
  return async () => {
    if (ahead.delete(started)) await endChild(child);
  };
}

/** Ends a child, and all that it started. */
export async function endChild(child: PipedChild): Promise<void> {
  child.stdin.end();
  try {
    await endGroup(child);
  } finally {
    // A grandchild may have inherited the far ends: ours must not keep this process alive.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    child.unref();
  }
}

function takeAhead(parameters: ChildParameters): StartedChild | undefined {
  if (ahead.size === 0) return undefined;
  const text = textOf(parameters);
  for (const [started, other] of ahead) {
    if (other === text && ahead.delete(started)) return started;
  }
  return undefined;
}

function textOf({ command, args, env, cwd }: ChildParameters): string {
  return JSON.stringify([command, args, env, cwd]);
}

function start(parameters: ChildParameters): StartedChild {
  const child = startGroup(() => spawnGroup(parameters));
  return { child, hasStarted: spawned(child) };
}

function spawnGroup({ command, args, env, cwd }: ChildParameters): PipedChild {
  const { platform } = process;
  const line = commandLine(command, args, { platform, shell: process.env.comspec });
  return spawn(line.file, line.args, {
    cwd,
    env,
    stdio: ["pipe", "pipe", "pipe"],
    shell: false,
    windowsHide: true,
    windowsVerbatimArguments: line.verbatim,
    // A group of its own, so that whatever it starts can be ended with it.
    detached: platform !== "win32",
  });
}

function spawned(child: PipedChild): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
}

/** Node's own error carries every argument, and may quote a value of the environment: nothing of it but the code goes on. */
async function spawnError(parameters: ChildParameters, shown: string, code: string | undefined): Promise<SpawnError> {
  const { command, cwd } = parameters;
  const why =
    code === "ERR_INVALID_ARG_VALUE"
      ? "its command, arguments, cwd or environment hold a NUL character"
      : `spawn ${code ?? "failed"}`;
  const cause = Object.assign(new Error(why), code === undefined ? {} : { code });
  if (cwd !== undefined && !(await isFolder(cwd)))
    return new SpawnError(`${shown} cannot be started: its cwd ${cwd} is no folder.`, { cause });
  const hint = /\s/.test(command) ? 'It has blanks: arguments belong in "args". ' : "";
  const isMissing = code === "ENOENT" || (code === "EACCES" && (await isNowhere(parameters)));
  const message = isMissing
    ? `The command ${shown} was not found. ${hint}A bare name is looked up in PATH, a path must lead to a file: install it, or correct "command".`
    : `The command ${shown} cannot be started: ${why}.`;
  return new SpawnError(message, { cause });
}
