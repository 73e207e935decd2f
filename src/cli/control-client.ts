import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { findConfig } from "../config/read-config.ts";
import { errorFromJson } from "../core/error-json.ts";
import { isRecord } from "../lib/value.ts";
import { type ControlRequest, controlAnswer, controlPath, controlVersion } from "./control-socket.ts";
import type { Terminal } from "./terminal.ts";
import type { GlobalOptions } from "./workspace.ts";

/** A request without its version. */
type Asked<R = ControlRequest> = R extends ControlRequest ? Omit<R, "version"> : never;

/** The service of a configuration that runs on this machine, as the same user. */
export interface RunningService {
  /** @throws ToolkitError as the service does; Error where it ends before */
  ask(request: Asked, signal: AbortSignal): Promise<unknown>;
  /** Each answer as it comes, until the service ends or the signal aborts. */
  follow(request: Asked, signal: AbortSignal): AsyncIterable<unknown>;
}

/** The service of the configuration that a command means; undefined where none runs. */
export async function runningService(
  { config, server }: GlobalOptions,
  { streams }: Terminal,
): Promise<RunningService | undefined> {
  if (server !== undefined) return undefined;
  const file = config === undefined ? await findConfig(streams.cwd) : resolve(streams.cwd, config);
  const path = file === undefined ? undefined : await controlPath(file, streams.env);
  if (path === undefined || !(await isAnswered(path))) return undefined;
  const follow = (request: Asked, signal: AbortSignal) => answers(path, request, signal);
  return {
    follow,
    ask: async (request, signal) => {
      for await (const result of follow(request, signal)) return result;
      signal.throwIfAborted();
      throw new Error("The service ended before it answered.");
    },
  };
}

/** True where a process listens at a socket. */
export async function isAnswered(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function* answers(path: string, request: Asked, signal: AbortSignal): AsyncGenerator<unknown> {
  signal.throwIfAborted();
  const socket: Socket = connect(path);
  const stop = () => socket.destroy();
  signal.addEventListener("abort", stop, { once: true });
  // The lines end then: there is no answer.
  socket.on("error", stop);
  try {
    socket.write(`${JSON.stringify({ version: controlVersion, ...request })}\n`);
    for await (const line of createInterface({ input: socket })) {
      const answer = controlAnswer.parse(JSON.parse(line));
      if ("error" in answer) throw errorOf(answer.error);
      yield answer.result;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    socket.destroy();
  }
}

function errorOf(error: unknown): Error {
  try {
    return errorFromJson(error);
  } catch {
    return new Error(isRecord(error) ? String(error.message) : "The service failed.");
  }
}
