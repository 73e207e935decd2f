import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { commandLine, isFolder, isNowhere } from "./child-command.ts";
import { adopt } from "./process-group.ts";

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
    const child = spawnGroup(parameters);
    onSpawn(child);
    if (child.pid !== undefined) adopt(child.pid);
    await spawned(child);
    return child;
  } catch (error) {
    throw await spawnError(parameters, shown, (error as NodeJS.ErrnoException).code);
  }
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
