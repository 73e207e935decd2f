import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** In the order of the changelog; any others follow. */
const knownReaders = ["Service developers", "Prompt authors", "Operators", "Tests of a service"];

/** The changes that are not released, from the changesets, by their readers: the part in bold with which each begins. */
export async function unreleasedChanges(project: string): Promise<string> {
  const folder = join(project, ".changeset");
  const files = (await readdir(folder)).filter((file) => file.endsWith(".md") && file !== "README.md").sort();
  const readers = new Map<string, string[]>(knownReaders.map((reader) => [reader, []]));
  for (const file of files) {
    const text = (await readFile(join(folder, file), "utf8")).replace(/^---\n[\s\S]*?\n---\n/, "").trim();
    const [, reader = "Others", change = text] = /^\*\*([^*]+)\.\*\* ([\s\S]*)$/.exec(text) ?? [];
    readers.set(reader, [...(readers.get(reader) ?? []), `- ${change.replace(/\n(?=.)/g, "\n  ")}`]);
  }
  const used = [...readers].filter(([, changes]) => changes.length > 0);
  const groups = used.map(([reader, changes]) => `### ${reader}\n\n${changes.join("\n")}`);
  return groups.length === 0 ? "Nothing is unreleased." : ["## Unreleased", ...groups].join("\n\n");
}
