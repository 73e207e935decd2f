import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fencesOf } from "./markdown.ts";
import type { Manifest } from "./project.ts";

const marker = /^\s*<!--\s*example:\s*([^\s#]+)(?:#([^\s]+))?\s*-->\s*$/;
const regionStart = /^\s*(?:\/\/|#|<!--)\s*#region\b\s*(\S*)/;
const regionEnd = /^\s*(?:\/\/|#|<!--)\s*#endregion\b/;

/** The languages whose blocks must come from a file that runs. */
const tested = new Set(["ts", "typescript", "js", "javascript", "tsx", "jsx"]);

/** A page with its examples filled in from the files they name. */
export interface FilledPage {
  readonly text: string;
  /** Markers that lead nowhere, and code that comes from no file. */
  readonly problems: readonly string[];
}

/**
 * Fills each code block behind `<!-- example: path#region -->` with that region, or with the whole file where no region is
 * named. Imports of the sources read as a user writes them: `"../../src/index.ts"` becomes `"toolweave"`.
 */
export async function fillExamples(
  project: string,
  page: string,
  text: string,
  manifest: Manifest,
): Promise<FilledPage> {
  const lines = text.split("\n");
  const problems: string[] = [];
  const used = new Set<number>();
  // From the last to the first, so that the line numbers before stay right.
  for (const fence of [...fencesOf(text)].reverse()) {
    const markedAt = lines.slice(0, fence.start).findLastIndex((line) => line.trim() !== "");
    const [, file, region] = marker.exec(lines[markedAt] ?? "") ?? [];
    if (file === undefined) {
      if (tested.has(fence.language) && mustRun(page)) {
        problems.push(`${page}:${fence.start + 1} is code that never runs: put it into example/ and name it above.`);
      }
      continue;
    }
    used.add(markedAt);
    try {
      const code = await exampleText(project, file, region, manifest);
      lines.splice(fence.start + 1, fence.end - fence.start - 1, ...code.split("\n"));
    } catch (error) {
      problems.push(`${page}:${markedAt + 1} ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  text.split("\n").forEach((line, at) => {
    if (marker.test(line) && !used.has(at))
      problems.push(`${page}:${at + 1} names an example, but no code block follows.`);
  });
  return { text: lines.join("\n"), problems };
}

/** One region of a file without its marks and its indent; the whole file without a region. */
export function regionOf(text: string, region: string | undefined): string | undefined {
  const lines = text.replace(/\r\n/g, "\n").trimEnd().split("\n");
  if (region === undefined) return dedent(lines.filter((line) => !regionStart.test(line) && !regionEnd.test(line)));
  const start = lines.findIndex((line) => regionStart.exec(line)?.[1] === region);
  if (start === -1) return undefined;
  const inside: string[] = [];
  let depth = 0;
  for (const line of lines.slice(start + 1)) {
    if (regionStart.test(line)) depth += 1;
    else if (!regionEnd.test(line)) inside.push(line);
    else if (depth === 0) return dedent(inside);
    else depth -= 1;
  }
  return undefined;
}

async function exampleText(
  project: string,
  file: string,
  region: string | undefined,
  manifest: Manifest,
): Promise<string> {
  const text = await readFile(join(project, file), "utf8").catch(() => undefined);
  if (text === undefined) throw new Error(`names ${file}, which does not exist.`);
  const code = regionOf(text, region);
  if (code === undefined)
    throw new Error(`names ${file}#${region}, but the file has no such region, or never ends it.`);
  return asUserWrites(code, manifest);
}

function asUserWrites(code: string, { name, exports }: Manifest): string {
  return code.replace(/(["'])(?:\.\.\/)+src\/([\w/-]+)\.ts\1/g, (whole, quote: string, path: string) => {
    const subpath = Object.entries(exports).find(
      ([, target]) => typeof target !== "string" && target.default === `./dist/${path}.js`,
    )?.[0];
    return subpath === undefined ? whole : `${quote}${name}${subpath.slice(1)}${quote}`;
  });
}

/** Decisions show code that is not there, and contributing shows tests. */
function mustRun(page: string): boolean {
  return page === "README.md" || (page.startsWith("docs/") && !page.startsWith("docs/decisions/"));
}

function dedent(lines: readonly string[]): string {
  const indents = lines.filter((line) => line.trim() !== "").map((line) => line.length - line.trimStart().length);
  const indent = Math.min(...indents, Number.MAX_SAFE_INTEGER);
  return lines
    .map((line) => line.slice(Math.min(indent, line.length)))
    .join("\n")
    .replace(/^\n+|\s+$/g, "");
}
