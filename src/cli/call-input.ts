import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Readable } from "node:stream";
import { messageOf } from "../core/error.ts";
import { isRecord } from "../lib/value.ts";
import { UsageMistake } from "./exit-code.ts";
import type { TerminalStreams } from "./terminal.ts";

/** An input as it is written in a command, and whether its texts may stand for numbers and the like. */
export interface WrittenInput {
  readonly value: Readonly<Record<string, unknown>>;
  readonly isLoose: boolean;
}

const maxInputBytes = 64 * 1024 * 1024;

/**
 * Reads the input of a call: one JSON object; `name=value`, where a value may be text, JSON after `:=`, or `@FILE` for the text of a file;
 * `a.b=1` sets a field inside a field; `-` reads JSON from stdin.
 *
 * @throws UsageMistake
 */
export async function readCallInput(args: readonly string[], streams: TerminalStreams): Promise<WrittenInput> {
  const [first] = args;
  if (first === "-" || first?.trimStart().startsWith("{") === true) {
    if (args.length > 1) throw new UsageMistake("Give one JSON object, or several name=value.");
    const text = first === "-" ? await readAll(streams.stdin) : first;
    return { value: objectOf(text, first === "-" ? "What came from stdin" : "The input"), isLoose: false };
  }
  const value: Record<string, unknown> = {};
  for (const arg of args) await setField(value, arg, streams);
  return { value, isLoose: true };
}

function objectOf(text: string, what: string): Readonly<Record<string, unknown>> {
  const value = jsonOf(text, what);
  if (!isRecord(value) || Array.isArray(value))
    throw new UsageMistake(`${what} must be a JSON object, such as { "name": "Ada" }.`);
  return value;
}

function jsonOf(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageMistake(`${what} is no JSON: ${messageOf(error)}.`);
  }
}

const assignment = /^([^=:]+(?::[^=]+)*?)(:?=)([\s\S]*)$/;

async function setField(target: Record<string, unknown>, arg: string, { cwd }: TerminalStreams): Promise<void> {
  const [, path = "", operator, text = ""] = assignment.exec(arg) ?? [];
  if (operator === undefined) {
    throw new UsageMistake(`Write name=value, name:=JSON, or one JSON object; this is ${JSON.stringify(arg)}.`);
  }
  const value =
    operator === ":=" ? jsonOf(text, path) : text.startsWith("@") ? await textOf(resolve(cwd, text.slice(1))) : text;
  const names = path.split(".");
  if (names.some((name) => name === "" || name === "__proto__"))
    throw new UsageMistake(`${JSON.stringify(path)} is no name of a field.`);
  const last = names.pop() ?? path;
  let inside = target;
  for (const name of names) {
    const next = Object.hasOwn(inside, name) ? inside[name] : undefined;
    if (next !== undefined && !isRecord(next))
      throw new UsageMistake(`${name} has a value already: it can have no fields.`);
    const field = (next ?? {}) as Record<string, unknown>;
    inside[name] = field;
    inside = field;
  }
  // The same name again: a list.
  const before = Object.hasOwn(inside, last) ? inside[last] : undefined;
  inside[last] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new UsageMistake(`${file} cannot be read: ${messageOf(error)}.`);
  }
}

async function readAll(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk as Uint8Array | string);
    size += bytes.length;
    if (size > maxInputBytes) throw new UsageMistake("What came from stdin is larger than 64 MiB.");
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}
