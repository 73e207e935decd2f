import { readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { anchorsOf, linksOf } from "./markdown.ts";

/** The faults of the relative links of some pages. Links to the web are not followed. */
export async function brokenLinks(project: string, pages: readonly string[]): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const page of pages) {
    const text = await readFile(join(project, page), "utf8");
    for (const { target, line } of linksOf(text)) {
      if (/^[a-z][a-z0-9+.-]*:/i.test(target)) continue;
      const problem = await problemOf(project, page, target);
      if (problem !== undefined) problems.push(`${page}:${line} links to ${target}: ${problem}`);
    }
  }
  return problems;
}

async function problemOf(project: string, page: string, target: string): Promise<string | undefined> {
  const [path = "", anchor] = target.split("#");
  const file = path === "" ? page : join(dirname(page), decodeURIComponent(path));
  if (path.startsWith("/")) return "write it relative to the page.";
  if (file.startsWith("..")) return "it leads out of the project.";
  const found = await stat(join(project, file)).catch(() => undefined);
  if (found === undefined) return "there is no such file.";
  if (anchor === undefined || !file.endsWith(".md")) return undefined;
  const anchors = anchorsOf(await readFile(join(project, file), "utf8"));
  return anchors.has(anchor) ? undefined : "the page has no such heading.";
}
