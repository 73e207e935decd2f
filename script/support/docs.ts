import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { apiFolder } from "./api-pages.ts";
import { fillExamples } from "./examples-in-docs.ts";
import { fillGenerated, generatedFiles } from "./generated.ts";
import { brokenLinks } from "./links.ts";
import type { Manifest } from "./project.ts";

/** The pages of the project: those at its top and all under docs/ and example/, relative to it. */
export async function pagesOf(project: string): Promise<readonly string[]> {
  const top = await readdir(project);
  const deep = await Promise.all(
    ["docs", "example"].map(async (folder) => {
      const files = await readdir(join(project, folder), { recursive: true }).catch(() => []);
      return files.map((file) => `${folder}/${file.split(sep).join("/")}`);
    }),
  );
  return [...top, ...deep.flat()].filter((file) => file.endsWith(".md")).sort();
}

/**
 * The faults of the docs: code blocks that differ from the example they name, generated parts that are out of date, links
 * that lead nowhere. With `write` the first two are repaired instead of reported.
 */
export async function checkDocs(
  project: string,
  manifest: Manifest,
  options: { readonly write?: boolean } = {},
): Promise<readonly string[]> {
  const problems: string[] = [];
  const pages = await pagesOf(project);
  for (const page of pages.filter((each) => !each.startsWith(`${apiFolder}/`))) {
    const text = await readFile(join(project, page), "utf8");
    const filled = await fillExamples(project, page, text, manifest);
    const wanted = await fillGenerated(project, page, filled.text);
    problems.push(...filled.problems);
    if (wanted === text) continue;
    if (options.write === true) await writeFile(join(project, page), wanted);
    else problems.push(`${page}:${firstDifference(text, wanted)} is out of date: run npm run docs.`);
  }
  const generated = await generatedFiles(project);
  for (const [file, wanted] of Object.entries(generated)) {
    const text = await readFile(join(project, file), "utf8").catch(() => "");
    if (text === wanted) continue;
    if (options.write === true) {
      await mkdir(dirname(join(project, file)), { recursive: true });
      await writeFile(join(project, file), wanted);
    } else problems.push(`${file}:${firstDifference(text, wanted)} is out of date: run npm run docs.`);
  }
  return [...problems, ...(await unknownApiPages(project, generated)), ...(await brokenLinks(project, pages))];
}

/** Pages of entry points that there are no more. */
async function unknownApiPages(project: string, generated: Readonly<Record<string, string>>): Promise<string[]> {
  const files = await readdir(join(project, apiFolder)).catch(() => []);
  const unknown = files.map((file) => `${apiFolder}/${file}`).filter((file) => !(file in generated));
  return unknown.map((file) => `${file} is of no entry point: delete it.`);
}

/** The line, from 1, in which two texts differ first. */
function firstDifference(text: string, other: string): number {
  const lines = other.split("\n");
  return text.split("\n").findIndex((line, at) => line !== lines[at]) + 1 || lines.length;
}
