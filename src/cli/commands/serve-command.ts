import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { expanded, promptFolders } from "../../config/config-parts.ts";
import type { WrittenConfig } from "../../config/config-schema.ts";
import type { ReadConfig } from "../../config/read-config.ts";
import { messageOf } from "../../core/error.ts";
import type { Logger } from "../../core/session.ts";
import type { Inspection } from "../../inspect/inspect.ts";
import { visible } from "../../lib/visible-text.ts";
import { createMcpHandler } from "../../server/http/mcp-handler.ts";
import type { ServeOptions } from "../../server/serve-options.ts";
import { serveStdio } from "../../server/stdio/serve-stdio.ts";
import type { Toolkit } from "../../toolkit/toolkit.ts";
import { loggerOf } from "../command-log.ts";
import { openControl } from "../control-server.ts";
import { exitCodes, UsageMistake } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { type GlobalOptions, openWorkspace, recordTo, type Workspace } from "../workspace.ts";

/** The options of `serve`. */
export interface ServeCommandOptions extends GlobalOptions {
  /** True without a place. */
  readonly http?: string | true | undefined;
  readonly names?: string | undefined;
  readonly promptsAsTools?: boolean | undefined;
  /** The port of the page; true without one. */
  readonly ui?: string | true | undefined;
  /** The number of seconds. */
  readonly wait?: string | undefined;
  readonly record?: string | undefined;
}

type Served = NonNullable<WrittenConfig["server"]>;

const defaultPort = 8_808;
/** Clients give a command some ten seconds to answer. */
const defaultWaitMs = 5_000;

/** Serves the toolkit until the client is gone, or the command is interrupted. @returns the exit code */
export async function serve(options: ServeCommandOptions, terminal: Terminal, signal: AbortSignal): Promise<number> {
  // Over HTTP clients connect at once: servers that are slow appear when they are ready.
  const port = uiPortOf(options.ui);
  const use = { watch: true, isBackground: true, decidesElsewhere: port !== undefined, signal };
  await using workspace = await openWorkspace(options, terminal, use);
  const { toolkit, config } = workspace;
  const written = config?.written.server ?? {};
  const shared: ServeOptions = {
    ...(written.name === undefined ? {} : { server: { name: written.name, version: "1" } }),
    instructions: written.instructions,
    names: namesOf(options.names) ?? written.names,
    promptsAsTools: options.promptsAsTools ?? written.promptsAsTools,
    protocol: written.protocol,
    discovery: written.discovery,
    ...parkingOf(written, config, terminal.streams.env),
    logger: loggerOf(terminal, options.verbose === true ? "debug" : "warn"),
  };
  await using _tape = await recordTo(options.record, toolkit, terminal);
  await using _control = await controlOf(workspace, terminal);
  void toolkit.start();
  await using page = port === undefined ? undefined : await showPage(workspace, port, shared.logger, terminal);
  if (options.http !== undefined) await serveHttp(workspace, options.http, written, shared, terminal, signal);
  // A person who looks at the page types no messages of MCP.
  else if (page !== undefined && terminal.streams.stdin.isTTY === true) await showLinks(page, terminal, signal);
  else await serveOverStdio(toolkit, shared, signal, waitOf(options.wait));
  return exitCodes.ok;
}

/** The options of clients without sessions, which are asked while their calls are parked. */
function parkingOf(written: Served, config: ReadConfig | undefined, env: NodeJS.ProcessEnv): ServeOptions {
  const { stateKey, inputTimeoutMs, maxParkedCalls, maxParkedCallsPerPrincipal, listTtlMs } = written;
  const limits = { inputTimeoutMs, maxParkedCalls, maxParkedCallsPerPrincipal, listTtlMs };
  if (stateKey === undefined || config === undefined) return limits;
  return { ...limits, stateKey: [stateKey].flat().map((key) => expanded(config, ["server", "stateKey"], key, env)) };
}

async function showPage(
  { toolkit, config }: Workspace,
  port: number,
  logger: Logger | undefined,
  terminal: Terminal,
): Promise<Inspection> {
  const { inspect } = await import("../../inspect/inspect.ts");
  const prompts = config === undefined ? [] : promptFolders(config).map(({ folder }) => folder);
  const page = await inspect(toolkit, { port, prompts, logger });
  terminal.note(`Look at it, once with this link: ${page.url}`);
  return page;
}

/** Prints another link whenever Enter is pressed: each opens the page once. */
async function showLinks(page: Inspection, terminal: Terminal, signal: AbortSignal): Promise<void> {
  const { stdin } = terminal.streams;
  terminal.note("Press Enter for another link, Ctrl-C to end.", "dim");
  const show = () => terminal.note(page.link());
  stdin.on("data", show);
  await untilAborted(signal);
  stdin.off("data", show).pause();
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}

/** @throws UsageMistake for what is no port */
function uiPortOf(given: string | true | undefined): number | undefined {
  if (given === undefined || given === true) return given === true ? 0 : undefined;
  if (/^\d+$/.test(given) && Number(given) <= 65_535) return Number(given);
  throw new UsageMistake(`--ui is a port, and not ${given}.`);
}

/** @throws UsageMistake for what is no number of seconds */
function waitOf(given: string | undefined): number {
  if (given === undefined) return defaultWaitMs;
  if (!/^\d+(\.\d+)?$/.test(given)) throw new UsageMistake(`--wait is a number of seconds, and not ${given}.`);
  return Number(given) * 1_000;
}

/** A service does without the socket where it cannot have one: other commands then connect themselves. */
async function controlOf(workspace: Workspace, terminal: Terminal): Promise<AsyncDisposable | undefined> {
  const { toolkit, config } = workspace;
  if (config === undefined) return undefined;
  return openControl(toolkit, config.file, terminal.streams.env, () => workspace.workflows).catch((error: unknown) => {
    terminal.note(visible(`Other commands cannot ask this service: ${messageOf(error)}`), "yellow");
    return undefined;
  });
}

function namesOf(given: string | undefined): "prefixed" | "bare" | undefined {
  if (given === undefined || given === "prefixed" || given === "bare") return given;
  throw new UsageMistake(`--names is prefixed or bare, and not ${given}.`);
}

async function serveOverStdio(
  toolkit: Toolkit,
  shared: ServeOptions,
  signal: AbortSignal,
  waitMs: number,
): Promise<void> {
  // Many clients list once, after they have started the command: a list that is still empty would stay it.
  const late = new AbortController();
  const waited = delay(waitMs, undefined, { signal: AbortSignal.any([signal, late.signal]) });
  await Promise.race([toolkit.start(), waited.catch(() => undefined)]);
  late.abort();
  const service = await serveStdio(toolkit, { ...shared, exitAtEnd: false });
  const stop = () => void service.close();
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  await service.closed;
  signal.removeEventListener("abort", stop);
}

async function serveHttp(
  { toolkit, config }: Workspace,
  given: string | true,
  written: Served,
  shared: ServeOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<void> {
  const { host, port } = placeOf(given === true ? written.http : given);
  const { path = "/mcp", allowedHosts, allowedOrigins, sessions, tokens = {} } = written;
  const principals = Object.entries(tokens).map(([principal, token]) => {
    const text =
      config === undefined ? token : expanded(config, ["server", "tokens", principal], token, terminal.streams.env);
    return [principal, text] as const;
  });
  await using handler = createMcpHandler(toolkit, {
    ...shared,
    allowedHosts,
    allowedOrigins,
    sessions,
    ...(principals.length === 0 ? {} : { tokens: Object.fromEntries(principals) }),
  });
  const http = createServer((request, response) => {
    if (request.url?.split("?", 1)[0] === path || request.url?.startsWith("/.well-known/") === true)
      return void handler.node(request, response);
    response.writeHead(404, { "content-type": "text/plain" }).end(`The endpoint is ${path}.\n`);
  });
  http.listen(port, host);
  await once(http, "listening", { signal });
  const address = http.address() as AddressInfo;
  const shown = address.family === "IPv6" ? `[${address.address}]` : address.address;
  terminal.note(`Serving on http://${shown}:${address.port}${path}`);
  try {
    await untilAborted(signal);
  } finally {
    const closed = once(http, "close");
    http.close();
    await handler.close();
    http.closeAllConnections();
    await closed;
  }
}

/** @throws UsageMistake for what is no `port`, `host:port` or `[IPv6]:port` */
function placeOf(given: string | number | undefined): { readonly host: string; readonly port: number } {
  const [, host = "127.0.0.1", port] = /^(?:(\[[^\]]+\]|[^:]+):)?(\d+)$/.exec(String(given ?? defaultPort)) ?? [];
  if (port === undefined || Number(port) > 65_535)
    throw new UsageMistake(`--http is a port or host:port, and not ${given}.`);
  return { host: host.replace(/^\[|\]$/g, ""), port: Number(port) };
}
