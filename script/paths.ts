/**
 * Counts the files and functions of src that each of the main ways passes, see docs/architecture.md.
 *
 * `--list` prints the files and functions too, `--json` all of it as JSON; `--write` brings the table of the page up to date.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { measureWays } from "./support/measured-ways.ts";
import { project } from "./support/project.ts";
import { table } from "./support/table.ts";

const options = { list: { type: "boolean" }, json: { type: "boolean" }, write: { type: "boolean" } } as const;
const { values: flags } = parseArgs({ options });
const page = join(project, "docs/architecture.md");
const part = /(<!-- paths -->\n)[\s\S]*?(<!-- \/paths -->)/;

const ways = await measureWays();
if (flags.json) console.log(JSON.stringify(ways));
else {
  const rows = ways.map(({ name, files, functions }) => [name, String(files), String(functions)]);
  console.log(table(["way", "files", "functions"], rows, { right: ["files", "functions"] }));
}
if (flags.list) for (const { name, passed } of ways) console.log(`\n${name}\n  ${passed.join("\n  ")}`);
if (flags.write) {
  const rows = ways.map(({ name, files, functions }) => `| ${name} | ${files} | ${functions} |`);
  const lines = ["| way | files | functions |", "| --- | ---: | ---: |", ...rows].join("\n");
  const text = await readFile(page, "utf8");
  if (!part.test(text)) throw new Error(`${page} has no part <!-- paths --> to write to.`);
  await writeFile(page, text.replace(part, `$1\n${lines}\n\n$2`));
}
