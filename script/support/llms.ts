import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isPacked, readManifest } from "./project.ts";

const sections: readonly (readonly [title: string, folder: string])[] = [
  ["Guides", "docs"],
  ["Recipes", "docs/recipes"],
  ["Migration", "docs/migrate"],
  ["Reference", "docs/reference"],
];

/**
 * The index of the packed documents for language models, in the form of llmstxt.org: each with its title and first sentence.
 *
 * @param api - the paths of the pages of the API reference
 */
export async function indexForModels(project: string, api: readonly string[]): Promise<string> {
  const manifest = await readManifest();
  const readme = await readFile(join(project, "README.md"), "utf8");
  const [, tenLines = ""] = /## In ten lines\n[\s\S]*?(```ts[\s\S]*?```)/.exec(readme) ?? [];
  const parts = [
    `# ${manifest.name}`,
    `> ${manifest.description}`,
    "The paths are those of the npm package.",
    tenLines,
  ];
  for (const [title, folder] of sections) {
    const files = (await readdir(join(project, folder)).catch(() => [])).map((file) => `${folder}/${file}`).sort();
    const pages = files.filter((file) => file.endsWith(".md") && isPacked(manifest, file));
    const lines = await Promise.all(pages.map((file) => lineOf(project, file)));
    if (lines.length > 0) parts.push(`## ${title}`, lines.join("\n"));
  }
  parts.push("## API", api.map((page) => `- [${page.split("/").pop()}](${page})`).join("\n"));
  return `${parts.join("\n\n")}\n`;
}

async function lineOf(project: string, file: string): Promise<string> {
  const text = await readFile(join(project, file), "utf8");
  const [, title = file, sentence = ""] = /^# +(.+)\n+([^#<|\n][\s\S]*?\.)(?=\s)/.exec(text) ?? [];
  const summary = sentence.replace(/\s+/g, " ").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
  return `- [${title.replaceAll("`", "")}](${file})${summary === "" ? "" : `: ${summary}`}`;
}
