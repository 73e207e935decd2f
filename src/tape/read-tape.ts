import { basename, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { z } from "zod";
import { messageOf, ToolkitError } from "../core/error.ts";
import { FileTooLarge, readBounded } from "../lib/bounded-file.ts";
import { jsonFault } from "../lib/nesting.ts";
import { pointerTo } from "../lib/pointer.ts";
import { isRecord } from "../lib/value.ts";
import { lineSchema, lineTypes, type Tape, type TapeLine, tapeVersion } from "./tape-format.ts";

// A tape may come from a stranger.
const maxBytes = 256 * 2 ** 20;
const maxLines = 1_000_000;
const maxLineLength = 16 * 2 ** 20;
const maxDepth = 200;

/**
 * Reads a tape.
 *
 * @param file - a path or a `file:` URL
 * @throws ToolkitError `NOT_FOUND`; `INVALID_INPUT`, with file and line, for what is no tape; `LIMIT_EXCEEDED` for one that is too large
 */
export async function readTape(file: string | URL): Promise<Tape> {
  const path = file instanceof URL ? fileURLToPath(file) : resolve(file);
  let bytes: Buffer;
  try {
    bytes = await readBounded(path, { maxBytes });
  } catch (error) {
    throw unreadable(path, error);
  }
  return parseTape(bytes.toString("utf8"), basename(path));
}

/**
 * Reads a tape that is in memory: its text, or the lines that a recording gave to a function.
 *
 * @param name - for messages. Default `tape`
 * @throws as `readTape`
 */
export function parseTape(given: string | readonly unknown[], name = "tape"): Tape {
  const raw = typeof given === "string" ? given.split("\n") : given;
  if (raw.length > maxLines + 1) throw tooLarge(name, "lines", maxLines, raw.length);
  const [first, ...rest] = raw;
  if (raw.every((line) => line === "")) throw invalid(name, 1, "", "is no tape: the file is empty");
  const header = parseLine(jsonOf(first, name, 1), name, 1);
  if (header?.type !== "tape") throw invalid(name, 1, "", "is no first line of a tape");
  const lines: TapeLine[] = [];
  for (const [index, text] of rest.entries()) {
    const number = index + 2;
    if (text === "") continue;
    const isLast = index === rest.length - 1;
    const value = jsonOf(text, name, number, isLast);
    const line = value === undefined ? undefined : parseLine(value, name, number);
    if (line?.type === "tape") throw invalid(name, number, "/type", "is the first line of another tape");
    if (line !== undefined) lines.push(line);
  }
  const last = lines.at(-1);
  return { name, header, lines, isComplete: last?.type === "end", dropped: last?.type === "end" ? last.dropped : 0 };
}

/** The value of a line. Of the last one there may be a part, where the process ended while it wrote: it is passed over. */
function jsonOf(text: unknown, name: string, number: number, isLast = false): unknown {
  if (typeof text !== "string") return text;
  if (text.length > maxLineLength)
    throw tooLarge(`${name}:${number}`, "characters of a line", maxLineLength, text.length);
  try {
    return JSON.parse(text);
  } catch (error) {
    if (isLast) return undefined;
    throw invalid(name, number, "", `is no JSON: ${messageOf(error)}`);
  }
}

/** Undefined for a line of a type that is not known: a later version of the package may have written it. */
function parseLine(value: unknown, name: string, number: number): TapeLine | undefined {
  if (jsonFault(value, maxDepth) !== undefined)
    throw invalid(name, number, "", `is nested deeper than ${maxDepth} levels`);
  if (!isRecord(value) || typeof value.type !== "string") throw invalid(name, number, "/type", "is missing");
  if (value.type === "tape" && value.version !== tapeVersion) {
    const version = JSON.stringify(value.version) ?? "missing";
    throw invalid(name, number, "/version", `is ${version}, and this package reads version ${tapeVersion}`);
  }
  if (!lineTypes.has(value.type)) return undefined;
  const parsed = lineSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const pointer = (issue?.path ?? []).reduce<string>((outer, key) => pointerTo(outer, String(key)), "");
  throw invalid(name, number, pointer, wordsOf(issue));
}

function wordsOf(issue: z.core.$ZodIssue | undefined): string {
  const text = issue?.message ?? "is not of a tape";
  return text.charAt(0).toLowerCase() + text.slice(1);
}

function invalid(name: string, line: number, pointer: string, problem: string): ToolkitError<"INVALID_INPUT"> {
  const where = pointer === "" ? "" : ` ${pointer}`;
  const message = `${name}:${line}${where} ${problem}. A tape is written by record(), and is not to be edited.`;
  return new ToolkitError("INVALID_INPUT", message, { issues: [{ pointer: `/${line}${pointer}`, message: problem }] });
}

function tooLarge(name: string, limit: string, max: number, actual: number): ToolkitError<"LIMIT_EXCEEDED"> {
  const message = `${name} has ${actual} ${limit}, and a tape may have ${max}. Record less of it, such as one run.`;
  return new ToolkitError("LIMIT_EXCEEDED", message, { limit, max, actual });
}

function unreadable(path: string, error: unknown): ToolkitError {
  if (error instanceof FileTooLarge) return tooLarge(path, "bytes", maxBytes, error.bytes);
  if (isRecord(error) && error.code === "ENOENT") {
    const message = `There is no tape ${path}. Record one with record(), or toolweave run --record FILE.`;
    return new ToolkitError("NOT_FOUND", message, { key: path, suggestions: [] });
  }
  const message = `The tape ${path} cannot be read: ${messageOf(error)}.`;
  return new ToolkitError("INVALID_INPUT", message, { issues: [{ pointer: "", message }] }, { cause: error });
}
