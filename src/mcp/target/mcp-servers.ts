import type { ConnectorConfig } from "../../core/target.ts";
import { invalidTarget } from "./target-values.ts";

/** A server of a shared configuration, with its name. */
export type NamedConfig = readonly [name: string, config: ConnectorConfig];

/**
 * Reads the configuration MCP clients share: `{ mcpServers: { name: { command, args, env, wrap } | { url, headers, type } } }`, or the
 * same under `mcp_servers`. Entries with `disabled: true` or `enabled: false` are left out, fields we do not know are ignored.
 * Variables are expanded later, when a connector is made.
 *
 * @throws ToolkitError `INVALID_TARGET` with the path of what is wrong
 */
export function parseMcpServers(config: unknown): readonly NamedConfig[] {
  const root = asObject(config, "the configuration", 'it must be an object with "mcpServers"');
  const path = root.mcpServers === undefined ? "mcp_servers" : "mcpServers";
  const servers = root[path];
  if (servers === undefined) {
    // As VS Code writes it.
    if (root.servers !== undefined) {
      throw invalidTarget(
        'The configuration has its servers under "servers": write the same under "mcpServers", { "mcpServers": { "name": { ... } } }.',
        "servers",
      );
    }
    throw invalidTarget(
      'The configuration has no "mcpServers": write { "mcpServers": { "name": { "command": "npx" } } }.',
      "mcpServers",
    );
  }
  return Object.entries(asObject(servers, path, "it must be an object of servers by name"))
    .map(([name, entry]) => [name, asObject(entry, `${path}.${name}`, "it must be an object")] as const)
    .filter(([, entry]) => entry.disabled !== true && entry.enabled !== false)
    .map(([name, entry]) => [name, readServer(entry, `${path}.${name}`)] as const);
}

function readServer(entry: Readonly<Record<string, unknown>>, path: string): ConnectorConfig {
  const { url = entry.serverUrl ?? entry.httpUrl, command } = entry;
  if ((url === undefined) === (command === undefined)) {
    const found = url === undefined ? 'has neither "url" nor "command"' : 'has both "url" and "command"';
    throw invalidTarget(`${path} ${found}: give one of them.`, path);
  }
  const fields = url === undefined ? stdioFields : httpFields;
  const given: Record<string, unknown> = { ...entry, ...(url === undefined ? {} : { url }) };
  const server: Record<string, unknown> = {};
  for (const [field, [expected, fits]] of Object.entries(fields)) {
    const value = given[field];
    if (value === undefined || value === null) continue;
    if (!fits(value)) throw invalidTarget(`${path}.${field} must be ${expected}.`, `${path}.${field}`);
    server[field] = value;
  }
  return server as unknown as ConnectorConfig;
}

type Field = readonly [expected: string, fits: (value: unknown) => boolean];

const isString = (value: unknown): boolean => typeof value === "string";
const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);
const text: Field = ["a string", isString];
const texts: Field = ["a list of strings", (value) => Array.isArray(value) && value.every(isString)];
const values: Field = ["an object of strings", isObject];

const httpFields: Readonly<Record<string, Field>> = { url: text, headers: values, type: text };
const stdioFields: Readonly<Record<string, Field>> = {
  // Refused with the target, for a child process takes none.
  headers: values,
  command: text,
  args: texts,
  env: values,
  cwd: text,
  wrap: texts,
  type: text,
};

function asObject(value: unknown, path: string, expected: string): Readonly<Record<string, unknown>> {
  if (isObject(value)) return value as Readonly<Record<string, unknown>>;
  throw invalidTarget(`${path} is wrong: ${expected}.`, path);
}
