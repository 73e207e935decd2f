import { z } from "zod";
import type { Tool } from "../../core/item.ts";
import { defineTool } from "../../core/tool.ts";
import type { ContainedFolder } from "../folder/contained-folder.ts";
import type { ReadLimits } from "../folder/folder-config.ts";
import { IgnoreRules } from "../folder/ignore-rules.ts";
import { childText, readWhole, withFile } from "../folder/read-whole.ts";
import { maxDepth, walk } from "../folder/walk.ts";
import { type CodeSymbol, type Language, languageOf } from "./languages.ts";
import { type FileFacts, scanFile } from "./scan.ts";

const options = {
  guidance:
    "Begin with analyze at level summary; then outline a file or find_symbol. They read lines and know no types; what .gitignore leaves out is not read.",
} as const;
const annotations = { readOnlyHint: true, openWorldHint: false } as const;
const pathSchema = z.string().min(1).max(4_096);
const symbolSchema = z.object({ name: z.string(), kind: z.string(), line: z.int() });

/** So many of each are listed. */
const listed = { largest: 10, imports: 40, markers: 200, symbols: 500 } as const;

interface ScannedFile extends FileFacts {
  readonly path: string;
  readonly language: Language | undefined;
  readonly bytes: number;
}

/** `analyze`. */
export function analyzeTool(folder: ContainedFolder, limits: ReadLimits): Tool {
  return defineTool({
    name: "analyze",
    description:
      "Describes a code base: languages, sizes, imports, TODO and risk markers. full: also each marker and the files' symbols.",
    input: z.object({
      path: pathSchema.default("."),
      level: z.enum(["summary", "full"]).default("summary"),
      include: z.string().max(500).optional().describe("Only files that fit, in the syntax of .gitignore: *.ts"),
    }),
    output: z.object({
      files: z.int(),
      lines: z.int(),
      bytes: z.int(),
      languages: z.array(z.object({ name: z.string(), files: z.int(), lines: z.int() })),
      largest: z.array(z.object({ path: z.string(), lines: z.int() })),
      imports: z.array(z.object({ name: z.string(), files: z.int() })),
      markers: z.record(z.string(), z.int()),
      symbols: z.record(z.string(), z.int()),
      found: z.array(z.object({ path: z.string(), line: z.int(), kind: z.string(), text: z.string() })).optional(),
      outlines: z.array(z.object({ path: z.string(), symbols: z.array(z.string()) })).optional(),
      complete: z.boolean(),
    }),
    annotations,
    options,
    run: async ({ path, level, include }, { signal }) => {
      const summary = new Summary(level === "full");
      const complete = await scan(folder, { path, include, limits, signal }, (file) => summary.add(file));
      return { ...summary.result(), complete };
    },
  });
}

/** `outline`. */
export function outlineTool(folder: ContainedFolder, { maxFileBytes }: ReadLimits): Tool {
  return defineTool({
    name: "outline",
    description: "Lists what a source file defines and imports, with line numbers.",
    input: z.object({ path: pathSchema }),
    output: z.object({
      language: z.string().nullable(),
      lines: z.int(),
      imports: z.array(z.string()),
      symbols: z.array(symbolSchema),
      complete: z.boolean(),
    }),
    annotations,
    options,
    run: async ({ path }) => {
      const bytes = await withFile(await folder.openFile(path), (file) => readWhole(file, path, maxFileBytes));
      const language = languageOf(path);
      const { lines, imports, symbols } = scanFile(bytes.toString("utf8"), language);
      const shown = symbols.slice(0, listed.symbols);
      return {
        language: language?.name ?? null,
        lines,
        imports: [...imports],
        symbols: [...shown],
        complete: shown.length === symbols.length,
      };
    },
  });
}

/** `find_symbol`. */
export function findSymbolTool(folder: ContainedFolder, limits: ReadLimits): Tool {
  return defineTool({
    name: "find_symbol",
    description: "Finds where a class, function, type or constant is defined, by name.",
    input: z.object({
      name: z.string().min(1).max(200),
      part: z.boolean().default(false).describe("name is a part, in any case"),
      path: pathSchema.default("."),
      limit: z.int().min(1).max(listed.symbols).default(50),
    }),
    output: z.object({ symbols: z.array(symbolSchema.extend({ path: z.string() })), complete: z.boolean() }),
    annotations,
    options,
    run: async ({ name, part, path, limit }, { signal }) => {
      const found: (CodeSymbol & { readonly path: string })[] = [];
      const wanted = name.toLowerCase();
      const complete = await scan(folder, { path, limits, signal }, (file) => {
        for (const symbol of file.symbols)
          if (symbol.name === name || (part && symbol.name.toLowerCase().includes(wanted)))
            found.push({ ...symbol, path: file.path });
        return found.length <= limit;
      });
      return { symbols: found.slice(0, limit), complete: complete && found.length <= limit };
    },
  });
}

interface ScanRequest {
  readonly path: string;
  readonly include?: string | undefined;
  readonly limits: ReadLimits;
  readonly signal: AbortSignal;
}

/** Scans the text files below a folder until `visit` says false. @returns whether all were visited */
async function scan(
  folder: ContainedFolder,
  { path, include, limits, signal }: ScanRequest,
  visit: (file: ScannedFile) => boolean,
): Promise<boolean> {
  const wanted = include === undefined ? undefined : new IgnoreRules(include);
  const endsAt = performance.now() + limits.searchMs;
  const entries = walk(folder, path, { depth: maxDepth, maxEntries: limits.maxEntries, ignored: false, signal });
  for (let step = await entries.next(); ; step = await entries.next()) {
    if (step.done === true) return step.value.complete;
    const { kind, parts, name } = step.value;
    if (kind !== "file" || wanted?.fits(parts) === false) continue;
    const text = await childText(step.value.folder, name, limits.maxFileBytes);
    if (text === undefined) continue;
    const language = languageOf(name);
    const shown = [...(path === "." ? [] : [path.replace(/\/+$/, "")]), ...parts].join("/");
    const goesOn = visit({ ...scanFile(text, language), path: shown, language, bytes: Buffer.byteLength(text) });
    if (goesOn && performance.now() < endsAt) continue;
    await entries.return({ complete: false });
    return false;
  }
}

/** Adds up what files are. */
class Summary {
  readonly #full: boolean;
  readonly #totals = { files: 0, lines: 0, bytes: 0 };
  readonly #languages = new Map<string, { files: number; lines: number }>();
  readonly #imports = new Map<string, number>();
  readonly #markers = new Map<string, number>();
  readonly #symbols = new Map<string, number>();
  #largest: { readonly path: string; readonly lines: number }[] = [];
  readonly #found: { path: string; line: number; kind: string; text: string }[] = [];
  #outlined = 0;
  readonly #outlines: { path: string; symbols: string[] }[] = [];

  constructor(full: boolean) {
    this.#full = full;
  }

  add({ path, language, lines, bytes, symbols, imports, markers }: ScannedFile): true {
    this.#totals.files += 1;
    this.#totals.lines += lines;
    this.#totals.bytes += bytes;
    const name = language?.name ?? "other";
    const { files: before, lines: linesBefore } = this.#languages.get(name) ?? { files: 0, lines: 0 };
    this.#languages.set(name, { files: before + 1, lines: linesBefore + lines });
    for (const imported of imports) if (!imported.startsWith(".")) count(this.#imports, imported);
    for (const { kind } of markers) count(this.#markers, kind);
    for (const { kind } of symbols) count(this.#symbols, kind);
    this.#largest = [...this.#largest, { path, lines }].sort((a, b) => b.lines - a.lines).slice(0, listed.largest);
    if (!this.#full) return true;
    for (const marker of markers) if (this.#found.length < listed.markers) this.#found.push({ path, ...marker });
    const left = listed.symbols - this.#outlined;
    this.#outlined += symbols.length;
    if (symbols.length > 0 && left > 0)
      this.#outlines.push({
        path,
        symbols: symbols.slice(0, left).map(({ line, kind, name: of }) => `${line} ${kind} ${of}`),
      });
    return true;
  }

  result() {
    const languages = [...this.#languages].map(([name, counts]) => ({ name, ...counts }));
    return {
      ...this.#totals,
      languages: languages.sort((a, b) => b.lines - a.lines || (a.name < b.name ? -1 : 1)),
      largest: this.#largest,
      imports: sorted(this.#imports)
        .slice(0, listed.imports)
        .map(([name, files]) => ({ name, files })),
      markers: Object.fromEntries(sorted(this.#markers)),
      symbols: Object.fromEntries(sorted(this.#symbols)),
      ...(this.#full ? { found: this.#found, outlines: this.#outlines } : {}),
    };
  }
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function sorted(counts: ReadonlyMap<string, number>): (readonly [string, number])[] {
  return [...counts].sort(([a, many], [b, more]) => more - many || (a < b ? -1 : 1));
}
