import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse as parseToml } from "smol-toml";
import { messageOf } from "../core/error.ts";
import { credentialName } from "../lib/token-shape.ts";
import { isRecord } from "../lib/value.ts";
import { parseConfig } from "./config-document.ts";
import type { NewConnector } from "./edit-config.ts";

/** A server that another client has configured. */
export interface FoundServer {
  readonly name: string;
  readonly client: string;
  readonly file: string;
  readonly connector: NewConnector;
  /** Variables that stand in place of credentials, which are not copied. */
  readonly variables: readonly string[];
}

/** The servers of other clients, and the files of theirs that cannot be read. */
export interface FoundServers {
  readonly servers: readonly FoundServer[];
  readonly problems: readonly string[];
}

/** The folders that clients keep their configurations in. */
export interface ClientFolders {
  readonly home: string;
  readonly cwd: string;
  /** `%APPDATA%` on Windows. */
  readonly appData?: string | undefined;
  readonly platform: NodeJS.Platform;
}

interface ClientFile {
  readonly client: string;
  readonly file: string;
}

/** The files in which well-known clients keep servers, on this system. */
export function clientFiles({ home, cwd, appData, platform }: ClientFolders): readonly ClientFile[] {
  const support =
    platform === "darwin"
      ? join(home, "Library", "Application Support")
      : platform === "win32"
        ? (appData ?? join(home, "AppData", "Roaming"))
        : join(home, ".config");
  const files: Readonly<Record<string, readonly string[]>> = {
    "claude-desktop": [join(support, "Claude", "claude_desktop_config.json")],
    "claude-code": [join(home, ".claude.json"), join(cwd, ".mcp.json")],
    cursor: [join(home, ".cursor", "mcp.json"), join(cwd, ".cursor", "mcp.json")],
    vscode: [join(support, "Code", "User", "mcp.json"), join(cwd, ".vscode", "mcp.json")],
    codex: [join(home, ".codex", "config.toml"), join(cwd, ".codex", "config.toml")],
    windsurf: [join(home, ".codeium", "windsurf", "mcp_config.json")],
    gemini: [join(home, ".gemini", "settings.json"), join(cwd, ".gemini", "settings.json")],
    zed: [join(home, ".config", "zed", "settings.json"), join(cwd, ".zed", "settings.json")],
    opencode: [join(home, ".config", "opencode", "opencode.json"), join(cwd, "opencode.json")],
  };
  return Object.entries(files).flatMap(([client, paths]) => paths.map((file) => ({ client, file })));
}

/** Reads the servers of these files. Files that are not there have none. */
export async function findServers(files: readonly ClientFile[], cwd: string): Promise<FoundServers> {
  const servers: FoundServer[] = [];
  const problems: string[] = [];
  for (const { client, file } of files) {
    try {
      const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
        throw error;
      });
      if (text === undefined) continue;
      for (const [name, entry] of Object.entries(serversIn(file, text, cwd))) {
        const found = serverOf(entry);
        if (found !== undefined) servers.push({ name, client, file, ...found });
      }
    } catch (error) {
      problems.push(`${file}: ${messageOf(error)}`);
    }
  }
  return { servers, problems };
}

function serversIn(file: string, text: string, cwd: string): Readonly<Record<string, unknown>> {
  const root = valueIn(file, text);
  if (!isRecord(root)) return {};
  const project = isRecord(root.projects) ? root.projects[cwd] : undefined;
  const lists = [root.mcpServers, root.mcp_servers, root.servers, root.context_servers, root.mcp];
  const own = isRecord(project) ? project.mcpServers : undefined;
  return Object.assign({}, ...[...lists, own].filter(isRecord));
}

function valueIn(file: string, text: string): unknown {
  if (file.endsWith(".toml")) return parseToml(text);
  const parsed = parseConfig(/\.ya?ml$/i.test(file) ? file : `${file}c`, text);
  if ("message" in parsed) throw new Error(`line ${parsed.line}, column ${parsed.column}: ${parsed.message}`);
  return parsed.value;
}

/** The forms of all clients as one. Undefined for an entry that is switched off, or names no server. */
function serverOf(entry: unknown): Pick<FoundServer, "connector" | "variables"> | undefined {
  if (!isRecord(entry) || entry.disabled === true || entry.enabled === false) return undefined;
  const variables = new Set<string>();
  const text = (value: string) =>
    value.replace(/\$\{(?:env|input):([^}]+)\}/g, (_, name: string) => {
      const variable = name.replace(/[^A-Za-z0-9_]/g, "_").toUpperCase();
      const kept = value.includes("${env:") ? name : variable;
      variables.add(kept);
      return `\${${kept}}`;
    });
  const hidden = (name: string, value: string) => {
    const written = text(value);
    if (written.includes("${") || !credentialName.test(name)) return written;
    const variable = name.replace(/[^A-Za-z0-9_]/g, "_").toUpperCase();
    variables.add(variable);
    const [scheme = ""] = /^(?:Bearer|Basic|token) /i.exec(value) ?? [];
    return `${scheme}\${${variable}}`;
  };
  const values = (given: unknown) =>
    isRecord(given)
      ? Object.fromEntries(Object.entries(given).map(([name, value]) => [name, hidden(name, String(value))]))
      : undefined;
  const url = [entry.url, entry.serverUrl, entry.httpUrl].find((each) => typeof each === "string");
  if (url !== undefined) {
    const headers = { ...values(entry.headers ?? entry.http_headers), ...codexHeaders(entry, variables) };
    return {
      connector: { url: text(String(url)), ...(Object.keys(headers).length > 0 && { headers }) },
      variables: [...variables],
    };
  }
  // Zed writes { command: { path, args } }, opencode { command: ["npx", "..."] }.
  const { command } = entry;
  const [program, ...rest] = Array.isArray(command) ? command : isRecord(command) ? [command.path] : [command];
  if (typeof program !== "string") return undefined;
  const args = [...rest, ...listOf(isRecord(command) && !Array.isArray(command) ? command.args : entry.args)];
  const env = values(entry.env ?? entry.environment ?? (isRecord(command) ? command.env : undefined));
  const connector = {
    command: text(program),
    ...(args.length > 0 && { args: args.map((arg) => text(String(arg))) }),
    ...(env !== undefined && Object.keys(env).length > 0 && { env }),
    ...(typeof entry.cwd === "string" && { cwd: entry.cwd }),
  };
  return { connector, variables: [...variables] };
}

/** Codex names the variables that hold headers and the token. */
function codexHeaders(
  entry: Readonly<Record<string, unknown>>,
  variables: Set<string>,
): Readonly<Record<string, string>> {
  const { bearer_token_env_var: token, env_http_headers: named } = entry;
  const from = (variable: unknown): string => {
    variables.add(String(variable));
    return `\${${String(variable)}}`;
  };
  const headers = Object.entries(isRecord(named) ? named : {}).map(([name, variable]) => [name, from(variable)]);
  if (typeof token === "string") headers.push(["Authorization", `Bearer ${from(token)}`]);
  return Object.fromEntries(headers);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
