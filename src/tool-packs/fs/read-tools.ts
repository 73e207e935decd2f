import { extname } from "node:path";
import { z } from "zod";
import type { Tool } from "../../core/item.ts";
import type { Content } from "../../core/resource.ts";
import { defineTool } from "../../core/tool.ts";
import { textContent } from "../../resource/content.ts";
import { contentOfBytes } from "../../resource/sniff.ts";
import type { ContainedFolder } from "../folder/contained-folder.ts";
import { invalidPath } from "../folder/file-errors.ts";
import type { ReadLimits } from "../folder/folder-config.ts";
import { IgnoreRules } from "../folder/ignore-rules.ts";
import { readWhole, withFile } from "../folder/read-whole.ts";
import { walk } from "../folder/walk.ts";

/** The use of the tools, for a model: said once for all of them. */
export const fsGuidance =
  "Paths are relative to one folder, with /. Look at read_tree or search first, and read only the lines you need. " +
  "What .gitignore leaves out is not listed or searched unless ignored is true.";

/** A path as the tools take it. */
export const pathSchema = z.string().min(1).max(4_096);
const readOnly = { readOnlyHint: true, openWorldHint: false } as const;
const shared = { guidance: fsGuidance } as const;

/** More characters of a tree are not given. */
const maxTreeLength = 100_000;

/** `read_tree`. */
export function readTreeTool(folder: ContainedFolder, { maxEntries }: ReadLimits): Tool {
  return defineTool({
    name: "read_tree",
    description: "Lists the files and folders below a folder as an indented tree, with sizes.",
    input: z.object({
      path: pathSchema.default("."),
      depth: z.int().min(1).max(40).default(3).describe("1: its own entries"),
      include: z.string().max(500).optional().describe("Only files that fit, in the syntax of .gitignore: *.ts"),
      ignored: z.boolean().default(false),
    }),
    output: z.object({ tree: z.string(), files: z.int(), folders: z.int(), complete: z.boolean() }),
    annotations: readOnly,
    options: shared,
    run: async ({ path, depth, include, ignored }, { signal }) => {
      const wanted = include === undefined ? undefined : new IgnoreRules(include);
      const lines: string[] = [];
      const counts = { files: 0, folders: 0 };
      let length = 0;
      const entries = walk(folder, path, { depth, maxEntries, ignored, signal });
      for (let step = await entries.next(); ; step = await entries.next()) {
        if (step.done === true) return { tree: lines.join("\n"), ...counts, complete: step.value.complete };
        const { name, parts, kind, size } = step.value;
        if (kind !== "folder" && wanted?.fits(parts) === false) continue;
        counts[kind === "folder" ? "folders" : "files"] += 1;
        const line = `${"  ".repeat(parts.length - 1)}${oneLine(name)}${await mark(kind, size)}`;
        length += line.length + 1;
        if (length > maxTreeLength) {
          await entries.return({ complete: false });
          return { tree: lines.join("\n"), ...counts, complete: false };
        }
        lines.push(line);
      }
    },
  });
}

async function mark(kind: "file" | "folder" | "link" | "other", size: () => Promise<number>): Promise<string> {
  if (kind === "folder") return "/";
  if (kind === "file") return ` ${await size()}`;
  return kind === "link" ? " (link)" : " (no file)";
}

/** A name may hold a line break, which would make a line of its own. */
function oneLine(name: string): string {
  return name.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, "\uFFFD");
}

/** `read_file`. */
export function readFileTool(folder: ContainedFolder, { maxFileBytes }: ReadLimits): Tool {
  return defineTool({
    name: "read_file",
    description: "Reads a file: a text by lines, anything else as bytes with its media type.",
    input: z.object({
      path: pathSchema,
      from: z.int().min(1).default(1).describe("First line, from 1"),
      lines: z.int().min(1).max(10_000).default(1_000),
    }),
    annotations: readOnly,
    options: shared,
    run: async ({ path, from, lines }) => {
      const bytes = await withFile(await folder.openFile(path), (file) => readWhole(file, path, maxFileBytes));
      const name = path.split(/[\\/]/).at(-1) ?? path;
      const content = await contentOfBytes(bytes, { name }, { extension: extname(path).slice(1).toLowerCase() });
      return await rangeOf(content, path, from, lines);
    },
  });
}

/** The lines of a text, and a note on what is left. */
async function rangeOf(content: Content, path: string, from: number, count: number): Promise<Content | Content[]> {
  if (!content.mediaType.startsWith("text/") && !/json|xml|yaml|javascript/.test(content.mediaType)) return content;
  const text = await content.text();
  const begin = lineStart(text, 0, from - 1);
  if (begin === undefined && text !== "") {
    const total = text.split("\n").length;
    throw invalidPath(path, `has ${total} lines, and none is line ${from}`);
  }
  const end = lineStart(text, begin ?? 0, count);
  if (end === undefined && from === 1) return content;
  const { name, mediaType } = content;
  const part = textContent(text.slice(begin, end), { name, uri: content.uri, mediaType });
  if (end === undefined) return part;
  const note = `[Lines ${from} to ${from + count - 1}. Go on with from: ${from + count}.]`;
  return [part, textContent(note, { name: "more", uri: "data:more" })];
}

/** Where the line begins that comes so many after another; undefined for one after the end. */
function lineStart(text: string, begin: number, lines: number): number | undefined {
  let at = begin;
  for (let line = 0; line < lines; line += 1) {
    const next = text.indexOf("\n", at) + 1;
    if (next === 0 || next === text.length) return undefined;
    at = next;
  }
  return at;
}

/** `stat`. */
export function statTool(folder: ContainedFolder): Tool {
  return defineTool({
    name: "stat",
    description: "Says what is at a path: its kind, size in bytes, and when it was changed.",
    input: z.object({ path: pathSchema }),
    output: z.object({
      path: z.string(),
      kind: z.enum(["file", "folder", "other"]),
      bytes: z.int(),
      modified: z.iso.datetime(),
    }),
    annotations: readOnly,
    options: shared,
    run: async ({ path }) => {
      const stats = await folder.stat(path);
      const kind = stats.isFile() ? ("file" as const) : stats.isDirectory() ? ("folder" as const) : ("other" as const);
      return { path, kind, bytes: stats.size, modified: stats.mtime.toISOString() };
    },
  });
}
