import { readdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { messageOf, ToolkitError } from "../core/error.ts";
import { readBounded } from "../lib/bounded-file.ts";
import { type FieldPath, isRecord } from "../lib/value.ts";
import { mistakesOf } from "../lib/written-mistakes.ts";
import type { Place } from "../prompt/prompt-problem.ts";
import { type ConfigDocument, parseConfig } from "./config-document.ts";
import { configSchema, type WrittenConfig } from "./config-schema.ts";

/** The names under which a configuration is looked for, the first one wins. */
const configNames: readonly string[] = [
  "toolweave.yaml",
  "toolweave.yml",
  "toolweave.json",
  "toolweave.jsonc",
  ".mcp.json",
  "mcp.json",
  ".vscode/mcp.json",
];

const maxConfigBytes = 1024 * 1024;

/** A configuration that was read. */
export interface ReadConfig {
  /** Its absolute path. */
  readonly file: string;
  /** The folder that its relative paths begin at. */
  readonly folder: string;
  readonly written: WrittenConfig;
  /** The line and column of a part. */
  positionOf(path: FieldPath): Place;
  /** An `INVALID_CONFIG` that names the file, line and column of a part. */
  problem(path: FieldPath, message: string): ToolkitError<"INVALID_CONFIG">;
}

/** The configuration of a folder, or of the nearest one above that has one; undefined where there is none. */
export async function findConfig(folder: string): Promise<string | undefined> {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const names = new Set(await readdir(at).catch(() => []));
    const inside = names.has(".vscode") ? await readdir(join(at, ".vscode")).catch(() => []) : [];
    for (const name of inside) names.add(`.vscode/${name}`);
    const found = configNames.find((name) => names.has(name));
    if (found !== undefined) return join(at, found);
    if (dirname(at) === at) return undefined;
  }
}

/**
 * Reads a configuration: YAML, JSON or JSON with comments, in our form or in that of other clients.
 *
 * @throws ToolkitError `NOT_FOUND` where there is no such file; `INVALID_CONFIG` naming file, line and column of each mistake
 */
export async function readConfig(file: string): Promise<ReadConfig> {
  const { path, shown, parsed } = await parsedFile(file);
  const result = configSchema.safeParse(withoutForeignFields(parsed.value));
  if (!result.success) throw mistakes(shown, parsed, result.error.issues);
  return {
    file: path,
    folder: dirname(path).replace(/[\\/]\.vscode$/, ""),
    written: result.data,
    positionOf: (at) => parsed.positionOf(at),
    problem: (at, message) => invalid([`${placeOf(shown, parsed, at)} ${message}`], at),
  };
}

/**
 * The names of the entries in some fields of a configuration, whatever else is wrong in it.
 *
 * @throws ToolkitError `NOT_FOUND`, and `INVALID_CONFIG` for a file that cannot be parsed
 */
export async function namesIn(
  file: string,
  fields: readonly string[],
): Promise<Readonly<Record<string, readonly string[]>>> {
  const { value } = (await parsedFile(file)).parsed;
  const entriesOf = (field: string) => (isRecord(value) && Object.hasOwn(value, field) ? value[field] : undefined);
  return Object.fromEntries(
    fields.map((field) => {
      const entries = entriesOf(field);
      return [field, isRecord(entries) ? Object.keys(entries) : []];
    }),
  );
}

async function parsedFile(file: string) {
  const path = resolve(file);
  const shown = basename(path);
  const parsed = parseConfig(path, await readText(path));
  if (!("message" in parsed)) return { path, shown, parsed };
  const where = `${shown}:${parsed.line}:${parsed.column}`;
  throw new ToolkitError("INVALID_CONFIG", `${where} cannot be parsed: ${parsed.message}.`, { path: where });
}

async function readText(path: string): Promise<string> {
  try {
    const bytes = await readBounded(path, { maxBytes: maxConfigBytes });
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (isRecord(error) && error.code === "ENOENT") {
      throw new ToolkitError("NOT_FOUND", `There is no file ${path}.`, { key: path, suggestions: [] });
    }
    throw new ToolkitError(
      "INVALID_CONFIG",
      `${path} cannot be read: ${messageOf(error)}.`,
      { path },
      { cause: error },
    );
  }
}

const foreignLists = ["mcpServers", "mcp_servers", "servers"];

/** Other clients keep more in such a file, such as the inputs of VS Code: those fields mean nothing here. */
function withoutForeignFields(value: unknown): unknown {
  if (!isRecord(value) || "connectors" in value) return value;
  if (!foreignLists.some((name) => name in value)) return value;
  const known = Object.keys(configSchema.shape);
  return Object.fromEntries(Object.entries(value).filter(([name]) => known.includes(name)));
}

/** All mistakes in one error, in the order of the file. */
function mistakes(
  file: string,
  document: ConfigDocument,
  issues: Parameters<typeof mistakesOf>[2],
): ToolkitError<"INVALID_CONFIG"> {
  const found = mistakesOf(configSchema, document.value, issues)
    .map(({ path, message }) => ({ path, message, ...document.positionOf(path) }))
    .sort((a, b) => a.line - b.line || a.column - b.column);
  return invalid(
    found.map(({ line, column, message }) => `${file}:${line}:${column} ${message}`),
    found[0]?.path ?? [],
  );
}

function placeOf(file: string, document: ConfigDocument, path: FieldPath): string {
  const { line, column } = document.positionOf(path);
  return `${file}:${line}:${column}`;
}

function invalid(lines: readonly string[], path: FieldPath): ToolkitError<"INVALID_CONFIG"> {
  return new ToolkitError("INVALID_CONFIG", lines.join("\n"), { path: path.join(".") });
}
