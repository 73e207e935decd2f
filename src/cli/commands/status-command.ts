import type { Connection } from "../../core/connection.ts";
import { visible } from "../../lib/visible-text.ts";
import { exitCodes } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { type GlobalOptions, openWorkspace, problemOf } from "../workspace.ts";

/** The options of `status`. */
export interface StatusCommandOptions extends GlobalOptions {
  readonly watch?: boolean | undefined;
}

/** Shows every connector. @returns the exit code: `unreachable` where one is not connected */
export async function status(options: StatusCommandOptions, terminal: Terminal, signal: AbortSignal): Promise<number> {
  await using workspace = await openWorkspace(options, terminal, { watch: options.watch, signal });
  const { toolkit } = workspace;
  const show = () => {
    if (options.json === true) terminal.print(JSON.stringify(toolkit.connections.map(jsonOf)));
    else terminal.print(statusText(toolkit.connections, terminal, options.watch === true));
  };
  show();
  if (options.watch !== true) {
    const isWell = toolkit.connections.every(({ state }) => state === "connected" || state === "idle");
    return isWell ? exitCodes.ok : exitCodes.unreachable;
  }
  for (const type of ["connectorConnected", "connectorDisconnected", "connectorRemoved", "toolListChanged"] as const) {
    toolkit.on(type, ({ connection }) => connection === undefined || show());
  }
  await new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });
  return exitCodes.ok;
}

/** @param isWatched - this process tries again: one that ends after this line does not */
function statusText(connections: readonly Connection[], terminal: Terminal, isWatched: boolean): string {
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
            visible(`${namespace}: ${problemOf(lastError)}${isWatched ? nextText(nextAttemptAt) : ""}`),
          ),
        ]),
    ...warnings.map((warning) => terminal.style("yellow", visible(`${namespace}: ${warning}`))),
  ]);
  return [table, ...problems].join("\n");
}

/** The target and, since many targets are only `node` or `npx`, the name that the server gives itself. */
function serverText({ label, server, trust }: Connection): string {
  const parts = [
    ...(server === undefined ? [] : [`${server.name} ${server.version}`]),
    ...(trust === "untrusted" ? ["untrusted"] : []),
  ];
  return parts.length === 0 ? label : `${label} (${parts.join(", ")})`;
}

function nextText(at: number | undefined): string {
  return at === undefined ? "" : ` It is tried again at ${new Date(at).toLocaleTimeString()}.`;
}

function jsonOf(connection: Connection) {
  const { namespace, label, trust, transport, state, since, protocolVersion, counts, lastError, attempts } = connection;
  const { nextAttemptAt, latencyMs, callsInFlight, processId, warnings, server } = connection;
  const shown = { namespace, label, trust, transport, state, since, protocolVersion, counts, attempts, nextAttemptAt };
  return { ...shown, latencyMs, callsInFlight, processId, warnings, server, lastError: lastError?.message };
}
