import type { Connector, ConnectorSession } from "../core/connector.ts";
import { connectorLimitOptions, type ReadConnectorLimits, readConnectorLimits } from "../core/connector-limits.ts";
import { type EgressOptions, readEgress } from "../core/egress.ts";
import type { HeadersOption, HttpAuth } from "../core/http-auth.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../core/options.ts";
import type { ConnectorTarget } from "../core/target.ts";
import { inheritedEnvironment, likelyMissing } from "../lib/child/child-command.ts";
import { guardedFetch } from "../lib/fetch/guarded-fetch.ts";
import { defaultFetch } from "../lib/fetch/node-fetch.ts";
import { present } from "../lib/value.ts";
import { httpConnect } from "./connect-http.ts";
import { EraMemory } from "./era/era-memory.ts";
import { openOverPipe } from "./era/open-either.ts";
import {
  type Attempt,
  type ConnectorOptions,
  connectFailure,
  defaultConnectTimeoutMs,
  type ProtocolOption,
  within,
} from "./open-session.ts";
import { noRedactor, type Redactor, redactorOf } from "./redact.ts";
import { childOf } from "./target/child-of.ts";
import {
  type CheckedHttpTarget,
  type CheckedStdioTarget,
  type CheckedTarget,
  parseTarget,
} from "./target/parse-target.ts";
import { labelOf, packageOf, suggestedNameOf } from "./target/target-label.ts";
import { canonicalUrl } from "./target/target-values.ts";
import type { ServerFactory } from "./transport/in-memory-transport.ts";

/** The options of a connector for an MCP server. */
export interface McpConnectorOptions extends ConnectorOptions {
  /**
   * For HTTP: sent with every request, in addition to the target's own; of the same name, these win. A function decides at each
   * request, and gets the session of the call. A child process takes none.
   */
  readonly headers?: HeadersOption | undefined;
  /** For HTTP: the way it gets its credentials, such as `oauth()` or `clientCredentials()`. A child process takes none. */
  readonly auth?: HttpAuth | undefined;
  /** For HTTP: the `fetch` that sends the requests, such as `globalThis.fetch`. Default: a `nodeFetch()` all connectors share. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /**
   * For HTTP: where requests of `auth` may go, whose URLs the server and its authorization server choose. Default: public addresses. The
   * origin of the target is always among them. With a `fetch` that is no `nodeFetch`, names are not looked up, and only URLs are judged.
   */
  readonly egress?: EgressOptions | undefined;
  /** The values of `${VAR}` in the target. Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** With `untrusted`, its default limits are tighter, and a child process inherits `PATH` alone. Default `standard`. */
  readonly trust?: "standard" | "untrusted" | undefined;
}

/**
 * A connector for an MCP server: over Streamable HTTP (falling back to SSE where the server speaks only that) for a URL, over stdio
 * with a child process for a command.
 *
 * Nothing is started here: `connect` does, each time anew.
 *
 * @throws ToolkitError `INVALID_TARGET`; an environment variable that is missing is named. `INVALID_CONFIG` for a limit that is no
 *   whole number from 1, and for an option or a field of the target there is not
 * @example
 * ```ts
 * toolkit.addConnector(mcpConnector({ command: "npx", args: ["-y", "@modelcontextprotocol/server-everything"] }));
 * toolkit.addConnector(mcpConnector("https://example.com/mcp", { headers: { Authorization: `Bearer ${token}` } }));
 * ```
 */
export function mcpConnector(target: ConnectorTarget, options: McpConnectorOptions = {}): Connector {
  assertOptionNames(options, mcpConnectorNames, "of an MCP connector");
  const checked = parseTarget(target, options);
  const label = labelOf(checked);
  const redactor = redactorOf(checked);
  const limits = readConnectorLimits(options, options.trust);
  assertProtocol(options.protocol);
  if (checked.kind === "http" && checked.protocol === "sse" && options.protocol === "2026-07-28") {
    throw invalidOption(
      "protocol",
      'one that has the type "sse" of its target',
      options.protocol,
      "of an MCP connector",
    );
  }
  const era = new EraMemory(...identityOf(checked));
  const open =
    checked.kind === "http"
      ? httpOpener(checked, { ...options, ...limits }, redactor)
      : stdioOpener(checked, options.trust);
  const hint = checked.kind === "stdio" ? () => startHint(checked, options.trust) : undefined;
  return {
    label,
    ...present({ startHint: hint }),
    // Two children with the same command line are two servers.
    key: checked.kind === "http" ? canonicalUrl(checked.url) : undefined,
    suggestedName: suggestedNameOf(checked),
    connectTimeoutMs: options.connectTimeoutMs ?? defaultConnectTimeoutMs,
    maxConcurrentCalls: limits.maxConcurrentCalls,
    // A second process beside the first would cost more than a wait, and may not be able to run.
    whenSilent: checked.kind === "http" ? "beside" : "instead",
    connect: (connection) => attempt({ label, options, limits, redactor, era, ...connection }, open),
  };
}

/** The options of a connector for an MCP server in this process. */
export interface InMemoryConnectorOptions extends ConnectorOptions {
  /** The name people see. Default: `in-memory`. */
  readonly label?: string | undefined;
}

/**
 * A connector for an MCP server in this process.
 *
 * @param create - connects a new server to the transport it is given, for each connection: one server object serves one session
 * @example
 * ```ts
 * toolkit.addConnector(inMemoryConnector((transport) => createMyServer().connect(transport)));
 * ```
 */
export function inMemoryConnector(create: ServerFactory, options: InMemoryConnectorOptions = {}): Connector {
  assertOptionNames(options, inMemoryNames, "of an in-memory connector");
  const label = options.label ?? "in-memory";
  const limits = readConnectorLimits(options);
  assertProtocol(options.protocol);
  // The verdict about a factory is kept for the process alone: nothing tells it from another.
  const era = new EraMemory();
  return {
    label,
    connectTimeoutMs: options.connectTimeoutMs ?? defaultConnectTimeoutMs,
    maxConcurrentCalls: limits.maxConcurrentCalls,
    connect: (connection) =>
      attempt({ label, options, limits, redactor: noRedactor, era, ...connection }, async (current) => {
        const { InMemoryTransport } = await import("./transport/in-memory-transport.ts");
        return openOverPipe(() => new InMemoryTransport(create), current);
      }),
  };
}

/** The texts that tell a target from others. */
function identityOf(target: CheckedTarget): readonly string[] {
  if (target.kind === "http") return ["http", target.url.href];
  return ["stdio", target.cwd ?? "", ...target.wrap, target.command, ...target.args];
}

const protocols: readonly ProtocolOption[] = ["auto", "2025-11-25", "2026-07-28"];

/** @throws ToolkitError `INVALID_CONFIG` */
function assertProtocol(value: unknown): void {
  if (value === undefined || protocols.includes(value as ProtocolOption)) return;
  throw invalidOption(
    "protocol",
    protocols.map((each) => JSON.stringify(each)).join(" or "),
    value,
    "of an MCP connector",
  );
}

const connectorNames: OptionNames<ConnectorOptions> = {
  ...connectorLimitOptions,
  connectTimeoutMs: true,
  clientInfo: true,
  roots: true,
  logLevel: true,
  protocol: true,
};
const mcpConnectorNames: OptionNames<McpConnectorOptions> = {
  ...connectorNames,
  headers: true,
  auth: true,
  fetch: true,
  egress: true,
  env: true,
  trust: true,
};
const inMemoryNames: OptionNames<InMemoryConnectorOptions> = { ...connectorNames, label: true };

/** Makes one session, within one attempt. */
type Open = (attempt: Attempt) => Promise<ConnectorSession>;

async function attempt(begun: Attempt, run: Open): Promise<ConnectorSession> {
  return within(begun, async (current) => {
    try {
      return await run(current);
    } catch (error) {
      throw connectFailure(error, current);
    }
  });
}

function httpOpener(
  target: CheckedHttpTarget,
  options: McpConnectorOptions & ReadConnectorLimits,
  redactor: Redactor,
): Open {
  const { fetch = defaultFetch, maxMessageBytes, auth } = options;
  const label = labelOf(target);
  const policy = readEgress(options.egress, "of a connector").allowing(target.url.origin, ...(auth?.origins ?? []));
  const conceal = (secret: string) => redactor.conceal(secret);
  return httpConnect(target, {
    fetch,
    maxMessageBytes,
    headers: typeof options.headers === "function" ? options.headers : undefined,
    credentials: auth?.open({ url: target.url, label, fetch: guardedFetch(fetch, policy), conceal }),
  });
}

function stdioOpener(target: CheckedStdioTarget, trust: McpConnectorOptions["trust"]): Open {
  const runner = packageOf(target)?.runner;
  const timeoutHint =
    runner && `${runner} may still have been downloading it: raise connectTimeoutMs, or install the package beforehand`;
  let isReported = false;
  return async (attempt) => {
    // Loaded when it is needed: a service that speaks HTTP only needs no child processes.
    const { StdioTransport } = await import("./transport/stdio/stdio-transport.ts");
    const { limits, redactor } = attempt;
    const { parameters, missing, secrets } = childOf(target, trust);
    for (const secret of secrets) redactor.conceal(secret);
    if (missing.length > 0 && !isReported) {
      isReported = true;
      attempt.host.log({ level: "warning", logger: attempt.label, data: withheldText(missing) });
    }
    return openOverPipe(() => new StdioTransport({ ...parameters, ...limits, redactor }), { ...attempt, timeoutHint });
  };
}

/** The likely reasons why a child process does not answer yet. */
function startHint(target: CheckedStdioTarget, trust: McpConnectorOptions["trust"]): string | undefined {
  const { variables } = inheritedEnvironment(process.env, { inheritEnv: target.inheritEnv, trust });
  const missing = likelyMissing({ ...variables, ...target.env });
  const runner = packageOf(target)?.runner;
  const hints = [
    ...(runner === undefined
      ? []
      : [`${runner} may be downloading it: that needs a registry, and the proxy and certificates on the way to it.`]),
    ...(missing.length === 0
      ? []
      : [`It does not inherit ${missing.join(", ")}: if it needs one, name it in inheritEnv of the target.`]),
  ];
  return hints.length === 0 ? undefined : hints.join(" ");
}

function withheldText([name = "", ...others]: readonly string[]): string {
  return `${[name, ...others].join(", ")} of this process may hold a credential, so the child does not get it. If it needs it, name it in the target: inheritEnv: ["${name}"].`;
}
