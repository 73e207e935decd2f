import { resolve } from "node:path";
import type { A2aOptions } from "../a2a/index.ts";
import type { AddConnectorOptions } from "../connection/connect-options.ts";
import type { Connector } from "../core/connector.ts";
import { ToolkitError } from "../core/error.ts";
import { toIdentifier } from "../core/identifier.ts";
import type { ConnectorConfig } from "../core/target.ts";
import type { FieldPath } from "../lib/value.ts";
import { mapTexts } from "../lib/visible-text.ts";
import { fileTokenStore } from "../mcp/auth/file-token-store.ts";
import { oauth } from "../mcp/auth/oauth.ts";
import type { Toolkit } from "../toolkit/toolkit.ts";
import { commandLine } from "./command-line.ts";
import type { ConfiguredOptions } from "./config-parts.ts";
import type { WrittenConnector } from "./connector-schema.ts";
import type { ReadConfig } from "./read-config.ts";

/** A connector of a configuration, ready to be added. */
export interface ConfiguredConnector {
  readonly namespace: string;
  readonly path: FieldPath;
  readonly target: ConnectorConfig;
  readonly options: AddConnectorOptions;
  /** For an agent: the options of its connector. */
  readonly agent?: A2aOptions | undefined;
}

/** Makes the connector of an agent. */
type AgentMaker = typeof import("../a2a/index.ts")["a2a"];

/** The maker of connectors of agents, which is loaded for a configuration that has some. */
export async function agentMaker(config: ReadConfig): Promise<AgentMaker | undefined> {
  if (!plannedConnectors(config, {}).some(({ agent }) => agent !== undefined)) return undefined;
  return (await import("../a2a/index.ts")).a2a;
}

/** Adds a connector. One that needs a variable which is not set fails when it connects, and says so: it harms no other one. */
export function addConnector(
  toolkit: Toolkit,
  { target, path, agent, ...planned }: ConfiguredConnector,
  config: ReadConfig,
  a2a: AgentMaker | undefined,
): void {
  const options = { ...planned.options, namespace: planned.namespace };
  try {
    if (agent === undefined || a2a === undefined || !("url" in target)) toolkit.addConnector(target, options);
    else toolkit.addConnector(a2a(target, agent), options);
  } catch (error) {
    if (!ToolkitError.is(error, "INVALID_TARGET") || error.details.variable === undefined) throw error;
    const problem = config.problem(path, error.message);
    const { namespace, lazy, allow } = options;
    const connector: Connector = { label: path.join("."), connect: () => Promise.reject(problem) };
    toolkit.addConnector(connector, { namespace, lazy, allow });
  }
}

/** The connectors of a configuration, those of other clients' lists included. */
export function plannedConnectors(config: ReadConfig, options: ConfiguredOptions): readonly ConfiguredConnector[] {
  const { connectors = {}, mcpServers = {}, mcp_servers = {}, servers = {} } = config.written;
  return Object.entries({ connectors, mcpServers, mcp_servers, servers })
    .flatMap(([list, entries]) => Object.entries(entries).map(([name, entry]) => ({ path: [list, name], name, entry })))
    .map(({ path, name, entry }) => ({ path, name, entry: longForm(entry, config.folder) }))
    .filter(({ entry }) => entry.disabled !== true && entry.enabled !== false)
    .map(({ path, name, entry }) => {
      const planned = { path, namespace: toIdentifier(name, "server"), target: targetOf(config, path, entry) };
      const given = connectorOptions(config.folder, entry, options);
      if (entry.type !== "a2a") return { ...planned, options: given };
      // A connector that is made here has these by itself.
      const { auth, egress, maxMessageBytes, maxListSize, ...supervision } = given;
      const { trust, maxConcurrentCalls, connectTimeoutMs } = given;
      const { signature } = entry;
      const limits = { maxMessageBytes, maxListSize, maxConcurrentCalls, connectTimeoutMs };
      const agent = { auth, trust, signature, egress, ...limits };
      return { ...planned, options: supervision, agent };
    });
}

/** The entry without shorthands, and with variables in one form. */
function longForm(entry: string | WrittenConnector, folder: string): WrittenConnector {
  const long = typeof entry === "string" ? commandLine(entry) : entry;
  const plain = (text: string) => text.replaceAll("${env:", "${").replaceAll("${workspaceFolder}", folder);
  return mapTexts(long, plain) as WrittenConnector;
}

function targetOf(config: ReadConfig, path: FieldPath, entry: WrittenConnector): ConnectorConfig {
  const { url, headers, command, args, env, inheritEnv, cwd, wrap, type } = entry;
  if ((url === undefined) === (command === undefined)) {
    const found = url === undefined ? "has neither url nor command" : "has both url and command";
    throw config.problem(path, `${path.join(".")} ${found}: write one of them.`);
  }
  if (type === "a2a" && url === undefined) {
    throw config.problem(path, `${path.join(".")} is an agent and has no url: write that of its card.`);
  }
  if (url !== undefined) return { url, headers, type: type === "stdio" || type === "a2a" ? undefined : type };
  return {
    command: command ?? "",
    args,
    env,
    inheritEnv,
    cwd: resolve(config.folder, cwd ?? "."),
    wrap,
    ...(headers === undefined ? {} : { headers }),
  };
}

function connectorOptions(
  folder: string,
  { auth, pins, ...entry }: WrittenConnector,
  { lazy, openPage }: ConfiguredOptions,
): AddConnectorOptions {
  const {
    trust,
    allow,
    egress,
    elicitation,
    sampling,
    callerRoots,
    timeoutMs,
    connectTimeoutMs,
    pollMs,
    healthCheckMs,
  } = entry;
  const { retryMs, maxRetryMs, maxAttempts, maxConcurrentCalls, maxMessageBytes, maxListSize } = entry;
  const pinned = typeof pins === "string" ? { onChange: pins } : pins;
  const login = auth === "oauth" ? {} : auth;
  const tokens = () => fileTokenStore(resolve(folder, ".toolweave", "tokens.json"));
  return {
    ...{ trust, allow, egress, elicitation, sampling, callerRoots, timeoutMs, connectTimeoutMs, pollMs, healthCheckMs },
    ...{ retryMs, maxRetryMs, maxAttempts, maxConcurrentCalls, maxMessageBytes, maxListSize },
    lazy: lazy ?? entry.lazy,
    pins: pinned,
    ...(login === undefined ? {} : { auth: oauth({ ...login, open: openPage, store: tokens() }) }),
  };
}
