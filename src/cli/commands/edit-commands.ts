import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { commandLine } from "../../config/command-line.ts";
import { emptyConfigOf, type NewConnector, withConnector, withoutConnector } from "../../config/edit-config.ts";
import { findConfig, namesIn, readConfig } from "../../config/read-config.ts";
import { toIdentifier } from "../../core/identifier.ts";
import { replaceFile, withFileLock } from "../../lib/file-lock.ts";
import { didYouMean, nearest } from "../../lib/similar.ts";
import { exitCodes, UsageMistake } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import type { GlobalOptions } from "../workspace.ts";

/** The options of `add`. */
export interface AddCommandOptions extends GlobalOptions {
  readonly trust?: string | undefined;
  readonly allow?: readonly string[] | undefined;
}

const lists = ["connectors", "mcpServers", "mcp_servers", "servers"] as const;

/** Adds a server to the configuration, which is made where there is none. @returns the exit code */
export async function add(
  name: string,
  words: readonly string[],
  options: AddCommandOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const { allow } = options;
  const trust = trustOf(options.trust);
  const [first = "", ...args] = words;
  const target = args.length === 0 ? commandLine(first) : { command: first, args };
  const given = "url" in target ? headersOf(options) : envOf(options);
  const connector = { ...target, ...given, ...(trust && { trust }), ...(allow && { allow: [...allow] }) };
  const isPlain = Object.keys(connector).every((key) => ["url", "command", "args"].includes(key));
  const file = await writeConnectors(
    [[name, isPlain && "url" in connector ? connector.url : connector]],
    options,
    terminal,
  );
  signal.throwIfAborted();
  terminal.print(`Added ${name} to ${file}.`);
  terminal.note(`Look at it with: toolweave list --namespace ${toIdentifier(name, "server")}`, "dim");
  return exitCodes.ok;
}

function trustOf(given: string | undefined): "standard" | "untrusted" | undefined {
  if (given === undefined || given === "standard" || given === "untrusted") return given;
  throw new UsageMistake(`--trust is standard or untrusted, and not ${given}.`);
}

function headersOf({ header = [], env }: GlobalOptions): Pick<Exclude<NewConnector, string>, "headers"> {
  if (env !== undefined) throw new UsageMistake("A server over HTTP has no variables: use --header.");
  const pairs = header.map((each) => /^([^:]+):\s*(.*)$/s.exec(each)?.slice(1));
  if (!pairs.every((pair) => pair !== undefined)) throw new UsageMistake("Write --header 'Name: value'.");
  return pairs.length === 0 ? {} : { headers: Object.fromEntries(pairs) };
}

function envOf({ header, env = [] }: GlobalOptions): Pick<Exclude<NewConnector, string>, "env"> {
  if (header !== undefined) throw new UsageMistake("A server that is started has no headers: use --env.");
  const pairs = env.map((each) => /^([^=]+)=(.*)$/s.exec(each)?.slice(1));
  if (!pairs.every((pair) => pair !== undefined)) throw new UsageMistake("Write --env NAME=VALUE.");
  return pairs.length === 0 ? {} : { env: Object.fromEntries(pairs) };
}

/**
 * Writes servers into the configuration, whole or not at all.
 *
 * @returns its path
 * @throws UsageMistake where a name is taken; ToolkitError `INVALID_CONFIG` for a file that is wrong already
 */
export async function writeConnectors(
  servers: readonly (readonly [name: string, connector: NewConnector])[],
  { config }: GlobalOptions,
  { streams }: Terminal,
): Promise<string> {
  const file = await fileToEdit(config, streams.cwd);
  return withFileLock(`${file}.lock`, async () => {
    const isThere = await stat(file).then(
      () => true,
      () => false,
    );
    const written = isThere ? (await readConfig(file)).written : {};
    const before = isThere ? await readFile(file, "utf8") : emptyConfigOf(file);
    const taken = new Set(lists.flatMap((list) => Object.keys(written[list] ?? {})));
    const list = lists.find((each) => written[each] !== undefined) ?? listOf(file);
    let text = before;
    for (const [name, connector] of servers) {
      if (taken.has(name))
        throw new UsageMistake(`${file} has a server ${name} already. Remove it first: toolweave remove ${name}`);
      // Other clients know no server that is its URL alone.
      const value = typeof connector === "string" && list !== "connectors" ? { url: connector } : connector;
      text = withConnector(file, text, list, name, value);
    }
    await replaceFile(file, text, isThere ? (await stat(file)).mode & 0o777 : 0o644);
    return file;
  });
}

/** The list of a file that has none yet: other clients look for their servers in one of their own. */
function listOf(file: string): (typeof lists)[number] {
  if (!/^\.?mcp\.json$/.test(basename(file))) return "connectors";
  return basename(dirname(file)) === ".vscode" ? "servers" : "mcpServers";
}

/** Removes a server from the configuration, also from one in which that entry or another is wrong. @returns the exit code */
export async function remove(name: string, { config }: GlobalOptions, terminal: Terminal): Promise<number> {
  const file = await fileToEdit(config, terminal.streams.cwd);
  return withFileLock(`${file}.lock`, async () => {
    const written = await namesIn(file, lists);
    const list = lists.find((each) => written[each]?.includes(name));
    const text = list === undefined ? undefined : withoutConnector(file, await readFile(file, "utf8"), list, name);
    if (text === undefined) {
      const known = lists.flatMap((each) => written[each] ?? []);
      const hint = didYouMean(nearest(name, known), `There are ${known.join(", ") || "none"}.`);
      terminal.note(`${file} has no server ${name}. ${hint}`, "red");
      return exitCodes.notFound;
    }
    await replaceFile(file, text, (await stat(file)).mode & 0o777);
    terminal.print(`Removed ${name} from ${file}.`);
    return exitCodes.ok;
  });
}

async function fileToEdit(config: string | undefined, cwd: string): Promise<string> {
  return config === undefined ? ((await findConfig(cwd)) ?? join(cwd, "toolweave.yaml")) : resolve(cwd, config);
}
