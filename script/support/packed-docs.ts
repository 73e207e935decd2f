import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pagesOf } from "./docs.ts";
import { brokenLinks } from "./links.ts";

/** What only a checkout has: scripts, and folders of sources. */
const ofTheRepository = /\bnpm (?:ci|start|test|run [\w:-]+)|(?:^|[\s`(/])((?:example|script|src|test)\/[\w./-]+)/g;

/** What is wrong with the documents of an unpacked package: links that lead nowhere in it, and text that needs the repository. */
export async function packedDocProblems(folder: string): Promise<readonly string[]> {
  const pages = [...(await pagesOf(folder)), "llms.txt"];
  const problems = [...(await brokenLinks(folder, pages))];
  for (const page of pages) {
    const lines = (await readFile(join(folder, page), "utf8")).split("\n");
    lines.forEach((line, at) => {
      if (line.includes("<!-- example:") || line.includes("in the repository")) return;
      for (const [found] of line.matchAll(ofTheRepository))
        problems.push(`${page}:${at + 1} needs the repository: ${found.trim()}`);
    });
  }
  return problems;
}
