import { writeFile } from "node:fs/promises";
import { join, parse, resolve } from "node:path";
import type { Content } from "../core/resource.ts";
import { isRecord, jsonIn } from "../lib/value.ts";
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
    for (const { part, path } of filesOf(content, file)) {
      const bytes = await part.bytes();
      await writeFile(path, bytes);
      terminal.note(`Wrote ${bytes.length} bytes of ${part.mediaType} to ${path}.`);
    }
  } else if (options.json === true) terminal.printJson(content.toJSON());
  else for (const part of content.parts ?? [content]) await showPart(part, terminal);
}

/** The parts that go into files: of a picture with texts around it the picture. Several get numbers: `chart.png`, `chart-2.png`. */
function filesOf(content: Content, file: string): readonly { readonly part: Content; readonly path: string }[] {
  const binary = leavesOf(content).filter(({ mediaType }) => !isText(mediaType));
  if (content.parts === undefined || binary.length === 0) return [{ part: content, path: file }];
  const { dir, name, ext } = parse(file);
  return binary.map((part, at) => ({ part, path: at === 0 ? file : join(dir, `${name}-${at + 1}${ext}`) }));
}

function leavesOf(content: Content): readonly Content[] {
  return content.parts === undefined ? [content] : content.parts.flatMap(leavesOf);
}

function isText(mediaType: string): boolean {
  return /^(?:text\/.*|.*[/+](?:json|xml|yaml|javascript))$/.test(mediaType.split(";", 1)[0] ?? "");
}

async function showPart(part: Content, terminal: Terminal): Promise<void> {
  if (part.parts !== undefined) {
    for (const each of part.parts) await showPart(each, terminal);
    return;
  }
  const [type = ""] = part.mediaType.split(";");
  if (/\bjson$/.test(type)) return showValue(await part.json(), terminal);
  if (!isText(type)) {
    terminal.note(`${part.name}: ${type}, ${part.size} bytes. Write it to a file with --output FILE.`, "dim");
    return;
  }
  const text = stripInvisible(await part.text());
  // Many servers answer with a JSON object or list as text.
  const value = type === "text/plain" && /^\s*[[{]/.test(text) ? jsonIn(text) : undefined;
  if (value !== undefined) showValue(value, terminal);
  else terminal.print(type === "text/markdown" || looksLikeMarkdown(text) ? markdown(text, terminal) : text);
}

function showValue(value: unknown, terminal: Terminal): void {
  const rows = isRecord(value) && Object.keys(value).length === 1 ? Object.values(value)[0] : value;
  const isForPerson = terminal.streams.stdout.isTTY === true;
  // Many servers wrap a text, such as that of a file, into an object: its lines are for people.
  const text = isForPerson && isRecord(value) && typeof rows === "string" ? stripInvisible(rows) : undefined;
  const table = isForPerson && Array.isArray(rows) ? tableOf(rows, terminal) : undefined;
  terminal.print(text ?? table ?? stripInvisible(JSON.stringify(value, undefined, 2) ?? "null"));
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
