import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { project } from "../script/support/project.ts";

const strangers = [
  "connector",
  "prompt author",
  "stored prompt",
  "caller",
  "web page",
  "model",
  "authorization server",
  "database user",
  "others on the machine",
  "files of the folder",
  "author of a manifest",
  "program of a manifest",
  "service of a manifest",
  "author of an OpenAPI document",
];

interface Threat {
  readonly stranger: string;
  readonly file: string;
  readonly title: string;
}

const page = await readFile(join(project, "docs/threat-model.md"), "utf8");
const rows = page.split("\n").filter((line) => /^\| (?!stranger|---)/.test(line));
const threats: readonly Threat[] = rows.map((row) => {
  const [, stranger = "", , , proof = ""] = row.split(/ *(?<!\\)\| */);
  const [, file = "", title = ""] = /^\[[\w-]+\]\(\.\.\/(.+?)\): (.+)$/.exec(proof) ?? [];
  return { stranger, file, title: title.replaceAll("\\|", "|") };
});

/** The titles of the tests of a file that cite requirements, as they are written. */
async function titlesIn(file: string): Promise<readonly string[]> {
  const text = await readFile(join(project, file), "utf8");
  const titles = text.matchAll(/(?:verifies|onPosix)\(\s*(?:"\w+"|\[[^\]]*\]),\s*(["'`])((?:\\.|(?!\1).)*)\1/gs);
  return [...titles].map(([, , title = ""]) => title.replaceAll(/\\(["'`])/g, "$1"));
}

/** True for the title itself, or for one of its forms where it is a template. */
function isTitle(text: string, title: string): boolean {
  const parts = title.split(/\$\{[^}]*\}/).map((part) => part.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  return text === title || new RegExp(`^${parts.join(".+")}$`).test(text);
}

describe("the threat model", () => {
  test("has rows that name strangers, a file and a test of it", async () => {
    expect(threats.length).toBeGreaterThan(0);
    for (const { stranger, file, title } of threats) {
      expect(strangers, title).toEqual(expect.arrayContaining(stranger.split(", ")));
      const titles = await titlesIn(file);
      expect(
        titles.some((each) => isTitle(title, each)),
        `${file}: ${title}`,
      ).toBe(true);
    }
  });

  test("has a row for every test of hostile input", async () => {
    const files = (await readdir(join(project, "test/hostile"))).filter((file) => file.endsWith(".test.ts"));
    for (const file of files) {
      const rowsOf = threats.filter((each) => each.file === `test/hostile/${file}`);
      const titles = await titlesIn(`test/hostile/${file}`);
      expect(titles.length, file).toBeGreaterThan(0);
      expect(titles.filter((title) => !rowsOf.some((row) => isTitle(row.title, title)))).toEqual([]);
    }
  });
});
