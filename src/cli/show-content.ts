import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Content } from "../core/resource.ts";
import { isRecord } from "../lib/value.ts";
import { stripInvisible } from "../lib/visible-text.ts";
import type { Terminal } from "./terminal.ts";

/** The form in which a result is shown. */
export interface ShowOptions {
  readonly json?: boolean | undefined;
  /** A file for the bytes of the result. */
  readonly output?: string | undefined;
}

/** Shows a result to a person, as JSON, or writes it to a file. */
export async function showContent(content: Content, options: ShowOptions, terminal: Terminal): Promise<void> {
  if (options.output !== undefined) {
    const file = resolve(terminal.streams.cwd, options.output);
    const bytes = await content.bytes();
    await writeFile(file, bytes);
    terminal.note(`Wrote ${bytes.length} bytes of ${content.mediaType} to ${file}.`);
  } else if (options.json === true) terminal.printJson(content.toJSON());
  else for (const part of content.parts ?? [content]) await showPart(part, terminal);
}

async function showPart(part: Content, terminal: Terminal): Promise<void> {
  if (part.parts !== undefined) {
    for (const each of part.parts) await showPart(each, terminal);
    return;
  }
  const [type = ""] = part.mediaType.split(";");
  if (/\bjson$/.test(type)) return showValue(await part.json(), terminal);
  const isText = /^text\/|[/+](?:xml|yaml|javascript)$/.test(type);
  if (!isText) {
    terminal.note(`${part.name}: ${type}, ${part.size} bytes. Write it to a file with --output FILE.`, "dim");
    return;
  }
  const text = stripInvisible(await part.text());
  const value = type === "text/plain" ? jsonIn(text) : undefined;
  if (value !== undefined) showValue(value, terminal);
  else terminal.print(type === "text/markdown" || looksLikeMarkdown(text) ? markdown(text, terminal) : text);
}

/** The value of a text that is a JSON object or list, as many servers answer; else undefined. */
function jsonIn(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function showValue(value: unknown, terminal: Terminal): void {
  const rows = isRecord(value) && Object.keys(value).length === 1 ? Object.values(value)[0] : value;
  const table = Array.isArray(rows) && terminal.streams.stdout.isTTY === true ? tableOf(rows, terminal) : undefined;
  terminal.print(table ?? stripInvisible(JSON.stringify(value, undefined, 2) ?? "null"));
}

const maxColumns = 8;

/** A table of objects that are alike and flat; undefined for other lists. */
function tableOf(rows: readonly unknown[], terminal: Terminal): string | undefined {
  if (rows.length === 0 || !rows.every((row) => isRecord(row) && !Array.isArray(row))) return undefined;
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row as object)))];
  const isFlat = rows.every((row) =>
    Object.values(row as object).every((cell) => typeof cell !== "object" || cell === null),
  );
  if (columns.length > maxColumns || columns.length === 0 || !isFlat) return undefined;
  return terminal.table(
    columns.map((column) => stripInvisible(column).toUpperCase()),
    rows.map((row) => columns.map((column) => String((row as Record<string, unknown>)[column] ?? ""))),
  );
}

function looksLikeMarkdown(text: string): boolean {
  return /^#{1,6} \S/m.test(text) && text.includes("\n");
}

/** Markdown with its headings, strong words and code in styles; without colours it stays as it is. */
function markdown(text: string, terminal: Terminal): string {
  let isCode = false;
  return text
    .split("\n")
    .map((line) => {
      if (/^\s*(?:```|~~~)/.test(line)) isCode = !isCode;
      if (isCode || /^\s*(?:```|~~~)/.test(line)) return terminal.style("dim", line);
      if (/^#{1,6} /.test(line)) return terminal.style(["bold", "cyan"], line);
      return line
        .replace(/\*\*([^*\n]+)\*\*/g, (_, strong: string) => terminal.style("bold", strong))
        .replace(/`([^`\n]+)`/g, (_, code: string) => terminal.style("yellow", code));
    })
    .join("\n");
}
