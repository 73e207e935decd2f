import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pagesOf } from "./docs.ts";
import { brokenLinks } from "./links.ts";

/** Names that only a checkout has: scripts, and folders of sources. */
const ofTheRepository = /\bnpm (?:ci|start|test|run [\w:-]+)|(?:^|[\s`(/])((?:example|script|src|test)\/[\w./-]+)/g;

/**
 * The faults of the documents of an unpacked package: links that lead nowhere in it, and text that needs the repository. A section or a
 * line that says that it is about the repository may.
 */
export async function packedDocProblems(folder: string): Promise<readonly string[]> {
  const pages = [...(await pagesOf(folder)), "llms.txt"];
  const problems = [...(await brokenLinks(folder, pages))];
  for (const page of pages) {
    const lines = (await readFile(join(folder, page), "utf8")).split("\n");
    let isOfRepository = false;
    lines.forEach((line, at) => {
      if (line.startsWith("## ")) isOfRepository = line.endsWith("in the repository");
      if (isOfRepository || line.includes("<!-- example:") || line.includes("in the repository")) return;
      for (const [found] of line.matchAll(ofTheRepository))
        problems.push(`${page}:${at + 1} needs the repository: ${found.trim()}`);
    });
  }
  return problems;
}
