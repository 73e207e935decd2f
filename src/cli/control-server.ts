import { once } from "node:events";
import { chmod, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { ToolkitError, toError } from "../core/error.ts";
import { errorToJson } from "../core/error-json.ts";
import { withFileLock } from "../lib/file-lock.ts";
import type { Toolkit } from "../toolkit/toolkit.ts";
import type { Workflows } from "../workflow/workflows.ts";
import { statusEvents, statusOf } from "./connection-status.ts";
import { isAnswered } from "./control-client.ts";
import { type ControlRequest, controlPath, controlRequest, controlVersion, maxRequestBytes } from "./control-socket.ts";
import { errorText } from "./exit-code.ts";
import { runAfter, runsOf } from "./run-requests.ts";

/** So long a client may take to send its request. */
const requestMs = 10_000;
const maxClients = 32;
/** A client that reads nothing misses states, and gets a later one. */
const maxWaiting = 1_048_576;

/**
 * Answers other commands of this user and configuration: the state of the servers, approvals, and runs of workflows.
 *
 * @returns undefined where another service of the configuration does so already, or there is no place for a socket
 */
export async function openControl(
  toolkit: Toolkit,
  config: string,
  env: NodeJS.ProcessEnv,
  flows: () => Workflows | undefined,
): Promise<AsyncDisposable | undefined> {
  const path = await controlPath(config, env);
  if (path === undefined) return undefined;
  const clients = new Set<Socket>();
  const server = createServer((socket) => {
    clients.add(socket);
    socket.on("close", () => clients.delete(socket));
    // A client that is gone is no concern of the service.
    socket.on("error", () => socket.destroy());
    void answer(socket, { toolkit, flows });
  });
  server.maxConnections = maxClients;
  // An error while it begins to listen is that of `listen`; a later one ends no service.
  server.on("error", () => undefined);
  if (!(await withFileLock(`${path}.lock`, () => listen(server, path)))) return undefined;
  return {
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, "close");
      // The socket goes with the server.
      server.close();
      for (const socket of clients) socket.destroy();
      await closed;
    },
  };
}

async function listen(server: Server, path: string): Promise<boolean> {
  if (await isAnswered(path)) return false;
  // That of a service that was killed.
  await rm(path, { force: true });
  server.listen(path);
  await once(server, "listening");
  await chmod(path, 0o600);
  return true;
}

/** The parts of a service that others ask about. */
interface Controlled {
  readonly toolkit: Toolkit;
  flows(): Workflows | undefined;
}

async function answer(socket: Socket, controlled: Controlled): Promise<void> {
  const { toolkit } = controlled;
  const gone = new AbortController();
  socket.on("close", () => gone.abort(new Error("The client is gone.")));
  const send = (line: object) => {
    if (!socket.writable || socket.writableLength > maxWaiting) return;
    socket.write(`${JSON.stringify(line)}\n`);
  };
  try {
    const request = await requestOf(socket);
    if (request.method === "status" && request.watch === true) {
      const show = () => send({ result: toolkit.connections.map(statusOf) });
      const ends = statusEvents.map((type) => toolkit.on(type, show));
      gone.signal.addEventListener("abort", () => {
        for (const end of ends) end();
      });
      show();
      return;
    }
    send({ result: await resultOf(request, controlled, gone.signal) });
  } catch (thrown) {
    send({ error: ToolkitError.is(thrown) ? errorToJson(thrown) : { message: toError(thrown).message } });
  }
  socket.end();
}

async function resultOf(
  request: ControlRequest,
  { toolkit, flows }: Controlled,
  signal: AbortSignal,
): Promise<unknown> {
  if (request.method === "status") return toolkit.connections.map(statusOf);
  if (request.method === "approvals") return toolkit.approvals.list({ status: "pending" });
  if (request.method === "workflows") return runsOf(flows(), request.status);
  if (request.method === "workflow") return runAfter(flows(), request, signal);
  const { id, approved } = request;
  const { tool, status, error } = await toolkit.approvals.resolve(id, { approved, by: "toolweave" }, { signal });
  return { tool, status, problem: status === "failed" ? errorText(error) : undefined };
}

async function requestOf(socket: Socket): Promise<ControlRequest> {
  socket.setTimeout(requestMs, () => socket.destroy());
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    if (text.includes("\n")) resolve(text);
    else if (text.length > maxRequestBytes) reject(new Error("The request is too long."));
  });
  socket.on("end", () => reject(new Error("There is no request.")));
  socket.on("close", () => reject(new Error("The client is gone.")));
  const [line = ""] = (await promise).split("\n", 1);
  socket.setTimeout(0);
  const request = controlRequest.parse(JSON.parse(line));
  if (request.version !== controlVersion) throw new Error(`The service speaks version ${controlVersion}.`);
  return request;
}
