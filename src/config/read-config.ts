import { readdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { z } from "zod";
import { messageOf, ToolkitError } from "../core/error.ts";
import { readBounded } from "../lib/bounded-file.ts";
import { nearest } from "../lib/similar.ts";
import { isRecord } from "../lib/value.ts";
import { type ConfigDocument, type ConfigPath, parseConfig } from "./config-document.ts";
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
  /** An `INVALID_CONFIG` that names the file, line and column of a part. */
  problem(path: ConfigPath, message: string): ToolkitError<"INVALID_CONFIG">;
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

type Issue = z.core.$ZodIssue;

/** All mistakes in one error, in the order of the file. */
function mistakes(file: string, document: ConfigDocument, issues: readonly Issue[]): ToolkitError<"INVALID_CONFIG"> {
  const found = issues
    .flatMap((issue) => flatten(issue, document.value))
    .map(({ path, message }) => ({ path, message, ...document.positionOf(path) }))
    .sort((a, b) => a.line - b.line || a.column - b.column);
  return invalid(
    found.map(({ line, column, message }) => `${file}:${line}:${column} ${message}`),
    found[0]?.path ?? [],
  );
}

function placeOf(file: string, document: ConfigDocument, path: ConfigPath): string {
  const { line, column } = document.positionOf(path);
  return `${file}:${line}:${column}`;
}

function invalid(lines: readonly string[], path: ConfigPath): ToolkitError<"INVALID_CONFIG"> {
  return new ToolkitError("INVALID_CONFIG", lines.join("\n"), { path: path.join(".") });
}

interface Mistake {
  readonly path: ConfigPath;
  readonly message: string;
}

/** The mistakes of an issue. Of a value that fits no form of several, those of the form that it comes nearest to. */
function flatten(issue: Issue, root: unknown, before: ConfigPath = []): readonly Mistake[] {
  const path = [...before, ...(issue.path as ConfigPath)];
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({ path: [...path, key], message: unknownField(key, path) }));
  }
  if (issue.code === "invalid_union") {
    const value = at(root, path);
    const forms = issue.errors.map((errors) => errors.flatMap((each) => flatten(each, root, path)));
    const isWrongType = (form: readonly Mistake[]) => form.some((mistake) => mistake.path.length === path.length);
    const near = isRecord(value) ? forms.filter((form) => form.length > 0 && !isTypeMistake(form, path)) : forms;
    const [form] = near.sort((a, b) => Number(isWrongType(a)) - Number(isWrongType(b)) || a.length - b.length);
    if (form !== undefined && isRecord(value)) return form;
    const wanted = forms.flat().map(({ message }) => / must be (.+?), and is /.exec(message)?.[1] ?? "something else");
    return [{ path, message: `${nameOf(path)} must be ${wanted.join(" or ")}, and is ${kindOf(value)}.` }];
  }
  const value = at(root, path);
  if (issue.code === "invalid_type") {
    return [
      { path, message: `${nameOf(path)} must be ${kinds[issue.expected] ?? issue.expected}, and is ${kindOf(value)}.` },
    ];
  }
  if (issue.code === "invalid_value") {
    const near = typeof value === "string" ? nearest(value, issue.values.map(String), 1) : [];
    const hint = near.length === 0 ? "" : ` Did you mean ${near[0]}?`;
    return [
      { path, message: `${nameOf(path)} must be ${issue.values.join(", ")}, and is ${JSON.stringify(value)}.${hint}` },
    ];
  }
  return [{ path, message: `${nameOf(path)} is wrong: ${issue.message}.` }];
}

function isTypeMistake(form: readonly Mistake[], path: ConfigPath): boolean {
  return form.every((mistake) => mistake.path.length === path.length && / must be a /.test(mistake.message));
}

const kinds: Readonly<Record<string, string>> = {
  string: "a text",
  object: "fields by name",
  record: "entries by name",
  array: "a list",
  boolean: "true or false",
  number: "a number",
  int: "a whole number",
};

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return "empty";
  if (Array.isArray(value)) return "a list";
  return isRecord(value) ? "fields by name" : JSON.stringify(value);
}

function nameOf(path: ConfigPath): string {
  return path.length === 0 ? "The file" : path.join(".");
}

function at(root: unknown, path: ConfigPath): unknown {
  return path.reduce<unknown>(
    (value, step) =>
      typeof value === "object" && value !== null ? (value as Record<string | number, unknown>)[step] : undefined,
    root,
  );
}

function unknownField(key: string, path: ConfigPath): string {
  const known = knownFields(path);
  const [near] = nearest(key, known, 1);
  const where = path.length === 0 ? "" : ` in ${path.join(".")}`;
  const rest = near === undefined ? `There are ${known.join(", ")}.` : `Did you mean ${near}?`;
  return `There is no field ${JSON.stringify(key)}${where}. ${rest}`;
}

/** The names of the fields at a path, from the schema. */
function knownFields(path: ConfigPath): readonly string[] {
  const shapes = path.reduce<readonly z.core.$ZodType[]>(
    (schemas, step) => schemas.flatMap((schema) => inside(schema, step)),
    [configSchema],
  );
  return [...new Set(shapes.flatMap(shapesOf))];
}

function inside(schema: z.core.$ZodType, step: string | number): readonly z.core.$ZodType[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === "optional") return inside(def.innerType, step);
  if (def.type === "union") return def.options.flatMap((option) => inside(option, step));
  if (def.type === "record") return [def.valueType];
  if (def.type === "array") return [def.element];
  const field = def.type === "object" ? def.shape[String(step)] : undefined;
  return field === undefined ? [] : [field];
}

function shapesOf(schema: z.core.$ZodType): readonly string[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === "optional") return shapesOf(def.innerType);
  if (def.type === "union") return def.options.flatMap(shapesOf);
  return def.type === "object" ? Object.keys(def.shape) : [];
}
