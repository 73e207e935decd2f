import { visible } from "../../lib/visible-text.ts";
import { type ConnectionStatus, statusEvents, statusOf } from "../connection-status.ts";
import { type RunningService, runningService } from "../control-client.ts";
import { exitCodes } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { type GlobalOptions, openWorkspace, untilListed, withoutStderr } from "../workspace.ts";

/** The options of `status`. */
export interface StatusCommandOptions extends GlobalOptions {
  readonly watch?: boolean | undefined;
}

/**
 * Shows every connector: of the service of the configuration where one runs on this machine, else those that this command connects. @returns the
 * exit code: `unreachable` where one is not connected
 */
export async function status(options: StatusCommandOptions, terminal: Terminal, signal: AbortSignal): Promise<number> {
  const service = await runningService(options, terminal);
  return service === undefined
    ? ownStatus(options, terminal, signal)
    : serviceStatus(service, options, terminal, signal);
}

async function serviceStatus(
  service: RunningService,
  options: StatusCommandOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  terminal.note("Asked the service that runs.", "dim");
  if (options.watch !== true) {
    const connections = (await service.ask({ method: "status" }, signal)) as readonly ConnectionStatus[];
    show(connections, { options, terminal, isFollowed: true });
    return codeOf(connections);
  }
  for await (const connections of service.follow({ method: "status", watch: true }, signal))
    show(connections as readonly ConnectionStatus[], { options, terminal, isFollowed: true });
  if (!signal.aborted) terminal.note("The service has ended.");
  return exitCodes.ok;
}

async function ownStatus(options: StatusCommandOptions, terminal: Terminal, signal: AbortSignal): Promise<number> {
  await using workspace = await openWorkspace(options, terminal, { watch: options.watch, signal });
  const { toolkit } = workspace;
  await untilListed(toolkit, signal);
  const now = () => toolkit.connections.map(statusOf);
  const isFollowed = options.watch === true;
  show(now(), { options, terminal, isFollowed });
  if (!isFollowed) return codeOf(now());
  for (const type of statusEvents)
    toolkit.on(type, ({ connection }) => {
      // The servers that end with the command are no news.
      if (connection !== undefined && !signal.aborted) show(now(), { options, terminal, isFollowed });
    });
  await new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });
  return exitCodes.ok;
}

function codeOf(connections: readonly ConnectionStatus[]): number {
  const isWell = connections.every(({ state }) => state === "connected" || state === "idle");
  return isWell ? exitCodes.ok : exitCodes.unreachable;
}

interface ShowOptions {
  readonly options: StatusCommandOptions;
  readonly terminal: Terminal;
  /** The process that connects goes on, and tries again: one that ends after this line does not. */
  readonly isFollowed: boolean;
}

function show(connections: readonly ConnectionStatus[], { options, terminal, isFollowed }: ShowOptions): void {
  if (options.json === true) terminal.print(JSON.stringify(connections));
  else terminal.print(statusText(connections, terminal, isFollowed));
}

function statusText(connections: readonly ConnectionStatus[], terminal: Terminal, isFollowed: boolean): string {
  if (connections.length === 0) return "There are no servers. Add one with: toolweave add NAME -- COMMAND";
  const table = terminal.table(
    ["NAMESPACE", "STATE", "SINCE", "TOOLS", "PROMPTS", "RESOURCES", "LATENCY", "SERVER"],
    connections.map((connection) => [
      connection.namespace,
      connection.state,
      new Date(connection.since).toLocaleTimeString(),
      ...[connection.counts.tool, connection.counts.prompt, connection.counts.resource].map(String),
      connection.latencyMs === undefined ? "" : `${Math.round(connection.latencyMs)} ms`,
      serverText(connection),
    ]),
  );
  const problems = connections.flatMap(({ namespace, state, lastError, nextAttemptAt, warnings }) => [
    ...(state === "connected" || lastError === undefined
      ? []
      : [
          terminal.style(
            "red",
            visible(`${namespace}: ${withoutStderr(lastError)}${isFollowed ? nextText(nextAttemptAt) : ""}`),
          ),
        ]),
    ...warnings.map((warning) => terminal.style("yellow", visible(`${namespace}: ${warning}`))),
  ]);
  return [table, ...problems].join("\n");
}

/** The target and, since many targets are only `node` or `npx`, the name that the server gives itself. */
function serverText({ label, server, trust }: ConnectionStatus): string {
  const parts = [
    ...(server === undefined ? [] : [`${server.name} ${server.version}`]),
    ...(trust === "untrusted" ? ["untrusted"] : []),
  ];
  return parts.length === 0 ? label : `${label} (${parts.join(", ")})`;
}

function nextText(at: number | undefined): string {
  return at === undefined ? "" : ` It is tried again at ${new Date(at).toLocaleTimeString()}.`;
}
