import { randomUUID } from "node:crypto";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { agent, type ModelsOptions } from "../agent/index.ts";
import type { AppliedChanges } from "../config/configured-toolkit.ts";
import type { ReadConfig } from "../config/read-config.ts";
import { messageOf } from "../core/error.ts";
import type { HttpAuth } from "../core/http-auth.ts";
import { kinds } from "../core/item.ts";
import type { Session } from "../core/session.ts";
import type { ToolkitOptions } from "../core/toolkit-options.ts";
import { abortable } from "../lib/promise.ts";
import { visible, visibleLines } from "../lib/visible-text.ts";
import type { OpenPage } from "../mcp/auth/oauth-options.ts";
import { Toolkit } from "../toolkit/toolkit.ts";
import type { Workflows } from "../workflow/workflows.ts";
import { loggerOf } from "./command-log.ts";
import { pairOf, type ServerOptions, targetsOf } from "./command-options.ts";
import { UsageMistake } from "./exit-code.ts";
import { answersOf } from "./person.ts";
import type { Terminal, TerminalStreams } from "./terminal.ts";

/** The options that every command has. */
export interface GlobalOptions extends ServerOptions {
  readonly config?: string | undefined;
  readonly json?: boolean | undefined;
  readonly verbose?: boolean | undefined;
  readonly timeout?: number | undefined;
}

/** The toolkit of a command, open until it is disposed of. */
export interface Workspace extends AsyncDisposable {
  readonly toolkit: Toolkit;
  /** Undefined where servers were named on the command line. */
  readonly config: ReadConfig | undefined;
  /** The caller: the person at the terminal. */
  readonly session: Session;
  /** The workflows of the configuration. */
  readonly workflows: Workflows | undefined;
}

/** The use that a command makes of its toolkit. */
export interface WorkspaceUse {
  /** Connect only what is asked for. Default: everything is started and waited for. */
  readonly lazy?: boolean | undefined;
  /** Follow the configuration and its folders. Default false. */
  readonly watch?: boolean | undefined;
  /** Leave it to the caller to start it. Default false. */
  readonly isBackground?: boolean | undefined;
  /** Do without a configuration where there is none. Default false. */
  readonly isOptional?: boolean | undefined;
  /** Models beside those of the configuration. */
  readonly models?: ModelsOptions["models"];
  /** Approvals are decided elsewhere, such as on the page, and not asked for in the terminal. Default false. */
  readonly decidesElsewhere?: boolean | undefined;
  readonly signal: AbortSignal;
}

/** A server may have to be downloaded before it starts. */
const downloadMs = 120_000;

/**
 * Opens the toolkit of a command: of the servers it names, else of the configuration.
 *
 * @throws UsageMistake where there is neither; ToolkitError as `readConfig` does
 */
export async function openWorkspace(options: GlobalOptions, terminal: Terminal, use: WorkspaceUse): Promise<Workspace> {
  const person = answersOf(terminal);
  const delegate = use.decidesElsewhere === true ? {} : person.delegate;
  const shared: ToolkitOptions = {
    delegate,
    startTimeoutMs: downloadMs,
    ...loggedBy(options, use, terminal),
  };
  const config = options.server === undefined ? await configOf(options, terminal, use.isOptional) : undefined;
  // A server that is named needs no reader of configurations, which takes a fifth of a second to load.
  const loaded = config === undefined ? undefined : await import("../config/configured-toolkit.ts");
  const configured =
    config === undefined || loaded === undefined
      ? undefined
      : await loaded.ConfiguredToolkit.of(config, {
          lazy: use.lazy === true ? true : undefined,
          watch: use.watch,
          // A command that ends soon would leave a step of another process's run in the middle.
          takeOver: use.isBackground === true,
          env: terminal.streams.env,
          openPage: person.openPage,
          models: use.models,
          toolkit: shared,
        });
  const toolkit =
    configured?.toolkit ??
    (await serversOf(options, terminal, {
      ...use,
      openPage: person.openPage,
      toolkit: { ...shared, delegate: [delegate, agent({ models: use.models })] },
    }));
  const follower =
    configured === undefined || config === undefined || loaded === undefined || use.watch !== true
      ? undefined
      : loaded.followConfig(configured, config, {
          onApplied: (changes) => reportChanges(changes, terminal),
          onProblem: (error) => terminal.note(visibleLines(messageOf(error)), "red"),
        });
  const stopReports = reportConnectors(toolkit, terminal, options.verbose === true);
  const session: Session = {
    id: randomUUID(),
    clientInfo: { name: "toolweave", version: "cli" },
    ...(person.elicit === undefined ? {} : { elicit: person.elicit }),
    log: ({ level, logger = "server", data }) => {
      if (options.verbose === true || !["debug", "info"].includes(level)) {
        terminal.note(visible(`${logger} ${level}: ${typeof data === "string" ? data : JSON.stringify(data)}`), "dim");
      }
    },
  };
  const workspace = {
    toolkit,
    config,
    session,
    // A configuration that is followed may have its first ones later.
    get workflows() {
      return configured?.workflows;
    },
    [Symbol.asyncDispose]: async () => {
      follower?.close();
      stopReports();
      terminal.clearStatus();
      await toolkit.close();
    },
  };
  if (use.lazy === true || use.isBackground === true) return workspace;
  try {
    await abortable(toolkit.start(), use.signal);
    return workspace;
  } catch (error) {
    await workspace[Symbol.asyncDispose]();
    throw error;
  }
}

/** Waits until the servers that are connected have listed everything, as long as a start may last. */
export async function untilListed(toolkit: Toolkit, signal: AbortSignal): Promise<void> {
  const connected = toolkit.connections.filter(({ state }) => state === "connected");
  await toolkit.list({ kind: kinds, namespace: connected.map(({ namespace }) => namespace), limit: 0, signal });
}

/** Records what happens in a toolkit, where a file for it is named, until it is disposed of. */
export async function recordTo(
  file: string | undefined,
  toolkit: Toolkit,
  terminal: Terminal,
): Promise<AsyncDisposable | undefined> {
  if (file === undefined) return undefined;
  const { record } = await import("../tape/recording.ts");
  const recording = record(toolkit, { to: resolve(terminal.streams.cwd, file) });
  return {
    [Symbol.asyncDispose]: async () => {
      await recording.close();
      const { lines, dropped, failure } = recording;
      const missing =
        dropped === 0 ? "" : `, without ${dropped} more${failure === undefined ? "" : `: ${messageOf(failure)}`}`;
      terminal.note(visible(`Recorded ${lines} lines to ${file}${missing}.`), dropped === 0 ? "dim" : "yellow");
    },
  };
}

async function configOf(
  { config }: GlobalOptions,
  { streams }: Terminal,
  isOptional = false,
): Promise<ReadConfig | undefined> {
  const { findConfig, readConfig } = await import("../config/read-config.ts");
  const file = config === undefined ? await findConfig(streams.cwd) : resolve(streams.cwd, config);
  if (file === undefined) {
    if (isOptional) return undefined;
    throw new UsageMistake(
      `There is no toolweave.yaml in ${streams.cwd} or above it. Make one with: toolweave init. Or look at a server without one: --server 'npx -y some-server', or --server URL.`,
    );
  }
  return readConfig(file);
}

async function serversOf(
  options: GlobalOptions,
  { streams }: Terminal,
  {
    lazy,
    toolkit: given,
    openPage,
  }: WorkspaceUse & { readonly toolkit: ToolkitOptions; readonly openPage: OpenPage | undefined },
): Promise<Toolkit> {
  const toolkit = new Toolkit(given);
  const targets = targetsOf(options, streams.cwd);
  const headers = Object.fromEntries((options.header ?? []).map((pair) => pairOf(pair, ":", "--header 'Name: value'")));
  const isAuthorized = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  const wantsLogin = !isAuthorized && targets.some((target) => "url" in target);
  const login = wantsLogin ? { auth: await loginOf(openPage, streams.env) } : {};
  for (const target of targets) {
    if ("url" in target) toolkit.addConnector({ ...target, headers }, { lazy, ...login });
    else toolkit.addConnector(target, { lazy, connectTimeoutMs: downloadMs });
  }
  return toolkit;
}

/** The login at servers over HTTP. It is loaded for them alone: a child process needs none, and it takes as long as a third of the rest. */
async function loginOf(openPage: OpenPage | undefined, env: TerminalStreams["env"]): Promise<HttpAuth> {
  const [{ oauth }, { fileTokenStore }] = await Promise.all([
    import("../mcp/auth/oauth.ts"),
    import("../mcp/auth/file-token-store.ts"),
  ]);
  return oauth({ open: openPage, store: fileTokenStore(tokenFile(env)) });
}

/** Tokens of servers that stand in no configuration. */
function tokenFile({ XDG_STATE_HOME }: TerminalStreams["env"]): string {
  const state =
    XDG_STATE_HOME === undefined || XDG_STATE_HOME === "" ? join(homedir(), ".local", "state") : XDG_STATE_HOME;
  return join(state, "toolweave", "tokens.json");
}

function reportChanges({ added, removed, changed, waiting }: AppliedChanges, terminal: Terminal): void {
  const parts = Object.entries({ added, removed, changed }).filter(([, names]) => names.length > 0);
  if (parts.length > 0) terminal.note(parts.map(([what, names]) => `${what} ${names.join(", ")}`).join("; "), "dim");
  if (waiting.length > 0)
    terminal.note(`${waiting.join(", ")} changed: start the command again to apply that.`, "yellow");
}

/** The most of what a process printed that is shown, in characters. */
const maxPrinted = 2_000;

/** Says on stderr what the connectors do while a person waits for them. */
function reportConnectors(toolkit: Toolkit, terminal: Terminal, isVerbose: boolean): () => void {
  const reported = new Set<string>();
  const ends = [
    toolkit.on("connectorConnected", ({ namespace }) => {
      if (isVerbose) terminal.note(visible(`${namespace}: connected`), "dim");
    }),
    toolkit.on("connectorConnecting", ({ namespace, elapsedMs, hint }) => {
      const seconds = Math.round(elapsedMs / 1_000);
      terminal.note(
        visible(`${namespace}: still connecting after ${seconds} s${hint === undefined ? "" : ` (${hint})`}`),
        "dim",
      );
    }),
    toolkit.on("connectorDisconnected", ({ namespace, connection, error }) => {
      // The error itself is in the failure of the command. What the process printed is nowhere else.
      const printed = connection.stderr?.trim();
      if (error === undefined || reported.has(namespace) || printed === undefined || printed === "") return;
      reported.add(namespace);
      terminal.note(visibleLines(`${namespace} printed:\n${printed.slice(-maxPrinted)}`), "dim");
    }),
  ];
  return () => {
    for (const end of ends) end();
  };
}

/** The message of a connection, without the end of stderr that it quotes: that was printed when the process ended. */
export function withoutStderr(message: string): string {
  const [said = message, ...quoted] = message.split('; stderr ended with "');
  return quoted.length === 0 ? message : `${said}.`;
}

/** The message of a connection, without its next attempt: a command that ends makes none. */
export function withoutNextAttempt(message: string): string {
  return message.replace(/, next attempt in \d+ s\.$/, ".");
}

/** The log of a toolkit: all of it where that is asked for, what is wrong where it serves others, else nothing, since the command itself says it. */
function loggedBy({ verbose }: GlobalOptions, { isBackground }: WorkspaceUse, terminal: Terminal): ToolkitOptions {
  if (verbose === true) return { logger: loggerOf(terminal, "debug") };
  return isBackground === true ? { logger: loggerOf(terminal, "warn") } : {};
}
