import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expanded } from "../../config/config-parts.ts";
import type { WrittenConfig } from "../../config/config-schema.ts";
import { createMcpHandler } from "../../server/http/mcp-handler.ts";
import type { ServeOptions } from "../../server/serve-options.ts";
import { serveStdio } from "../../server/stdio/serve-stdio.ts";
import type { Toolkit } from "../../toolkit/toolkit.ts";
import { exitCodes, UsageMistake } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { type GlobalOptions, loggerOf, openWorkspace, type Workspace } from "../workspace.ts";

/** The options of `serve`. */
export interface ServeCommandOptions extends GlobalOptions {
  /** True without a place. */
  readonly http?: string | true | undefined;
  readonly names?: string | undefined;
  readonly promptsAsTools?: boolean | undefined;
}

type Served = NonNullable<WrittenConfig["server"]>;

const defaultPort = 8_808;

/** Serves the toolkit until the client is gone, or the command is interrupted. @returns the exit code */
export async function serve(options: ServeCommandOptions, terminal: Terminal, signal: AbortSignal): Promise<number> {
  // Clients connect at once: servers that are slow appear when they are ready.
  await using workspace = await openWorkspace(options, terminal, { watch: true, isBackground: true, signal });
  const { toolkit, config } = workspace;
  const written = config?.written.server ?? {};
  const shared: ServeOptions = {
    ...(written.name === undefined ? {} : { server: { name: written.name, version: "1" } }),
    instructions: written.instructions,
    names: namesOf(options.names) ?? written.names,
    promptsAsTools: options.promptsAsTools ?? written.promptsAsTools,
    protocol: written.protocol,
    discovery: written.discovery,
    logger: loggerOf(terminal, options.verbose === true ? "debug" : "warn"),
  };
  void toolkit.start();
  if (options.http !== undefined) await serveHttp(workspace, options.http, written, shared, terminal, signal);
  else await serveOverStdio(toolkit, shared, signal);
  return exitCodes.ok;
}

function namesOf(given: string | undefined): "prefixed" | "bare" | undefined {
  if (given === undefined || given === "prefixed" || given === "bare") return given;
  throw new UsageMistake(`--names is prefixed or bare, and not ${given}.`);
}

async function serveOverStdio(toolkit: Toolkit, shared: ServeOptions, signal: AbortSignal): Promise<void> {
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
    if (!signal.aborted) await once(signal, "abort");
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
