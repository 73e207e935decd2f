import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { clientFiles, type FoundServer, findServers } from "../../config/other-clients.ts";
import { findConfig, readConfig } from "../../config/read-config.ts";
import { toIdentifier } from "../../core/identifier.ts";
import { visible } from "../../lib/visible-text.ts";
import { exitCodes, UsageMistake } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import type { GlobalOptions } from "../workspace.ts";
import { writeConnectors } from "./edit-commands.ts";

/** The options of `import`. */
export interface ImportCommandOptions extends GlobalOptions {
  readonly from?: string | undefined;
  readonly dryRun?: boolean | undefined;
}

/** Adds the servers that other clients have configured, and names the variables that must be set for them. @returns the exit code */
export async function importServers(
  names: readonly string[],
  options: ImportCommandOptions,
  terminal: Terminal,
): Promise<number> {
  const { env, cwd } = terminal.streams;
  const home = env.HOME ?? env.USERPROFILE ?? homedir();
  const known = clientFiles({ home, cwd, appData: env.APPDATA, platform: process.platform });
  const { servers, problems } = await findServers(await filesFrom(options.from, known, cwd), cwd);
  for (const problem of problems) terminal.note(visible(problem), "yellow");
  const config = options.config ?? (await findConfig(cwd));
  const isOwn = (file: string) => config !== undefined && resolve(cwd, config) === file;
  const wanted = servers.filter(({ name, file }) => !isOwn(file) && (names.length === 0 || names.includes(name)));
  const missing = names.filter((name) => !wanted.some((server) => server.name === name));
  if (missing.length > 0) {
    terminal.note(
      `No client has a server ${missing.join(", ")}. There are ${servers.map(({ name }) => name).join(", ") || "none"}.`,
      "red",
    );
    return exitCodes.notFound;
  }
  const chosen = withoutDoubles(wanted, config === undefined ? new Set() : await namesIn(resolve(cwd, config)));
  if (options.json === true) terminal.printJson(chosen);
  else if (chosen.length === 0) terminal.note("No client has servers that are not in the configuration already.");
  else terminal.print(tableOf(chosen, terminal));
  if (options.dryRun === true || chosen.length === 0) return exitCodes.ok;
  const file = await writeConnectors(
    chosen.map(({ name, connector }) => [name, connector]),
    options,
    terminal,
  );
  terminal.note(`Added ${chosen.length} ${chosen.length === 1 ? "server" : "servers"} to ${file}.`);
  const variables = [...new Set(chosen.flatMap((server) => server.variables))].filter(
    (name) => env[name] === undefined,
  );
  if (variables.length > 0) {
    terminal.note(`Credentials are not copied. Set these variables first: ${variables.join(", ")}`, "yellow");
  }
  return exitCodes.ok;
}

async function filesFrom(from: string | undefined, known: ReturnType<typeof clientFiles>, cwd: string) {
  if (from === undefined) return known;
  const ofClient = known.filter(({ client }) => client === from);
  if (ofClient.length > 0) return ofClient;
  if (!/[./\\]/.test(from)) {
    throw new UsageMistake(
      `--from is a file or one of ${[...new Set(known.map(({ client }) => client))].join(", ")}, and not ${from}.`,
    );
  }
  const file = resolve(cwd, from);
  await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new UsageMistake(error.code === "ENOENT" ? `There is no file ${file}.` : error.message);
  });
  return [{ client: "file", file }];
}

async function namesIn(file: string): Promise<ReadonlySet<string>> {
  const { connectors, mcpServers, mcp_servers, servers } = (await readConfig(file)).written;
  return new Set(
    [connectors, mcpServers, mcp_servers, servers].flatMap((list) => Object.keys(list ?? {})).map(namespaceOf),
  );
}

function namespaceOf(name: string): string {
  return toIdentifier(name, "server");
}

/** Several clients have the same server: the first one is taken. */
function withoutDoubles(servers: readonly FoundServer[], taken: ReadonlySet<string>): readonly FoundServer[] {
  const seen = new Set(taken);
  return servers.filter(({ name }) => {
    const isNew = !seen.has(namespaceOf(name));
    seen.add(namespaceOf(name));
    return isNew;
  });
}

function tableOf(servers: readonly FoundServer[], terminal: Terminal): string {
  const rows = servers.map(({ name, client, connector }) => {
    const target =
      typeof connector === "string"
        ? connector
        : (connector.url ?? [connector.command, ...(connector.args ?? [])].join(" "));
    return [name, client, target];
  });
  return terminal.table(["NAME", "FROM", "SERVER"], rows);
}
