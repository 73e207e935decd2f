import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { apiPages } from "../../script/support/api-pages.ts";
import { unreleasedChanges } from "../../script/support/changes.ts";
import { withHome } from "../../script/support/home.ts";
import { packedDocProblems } from "../../script/support/packed-docs.ts";
import { isPacked, project, readManifest } from "../../script/support/project.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolweave-documents-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function put(file: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, file)), { recursive: true });
  await writeFile(join(folder, file), text);
}

describe("the fields of package.json that name a page", () => {
  const manifest = JSON.stringify({ name: "a", license: "MIT", type: "module" });
  const filled = withHome(manifest, "https://git.example/a/b");

  test("follow from one constant, behind the license", () => {
    expect(Object.keys(JSON.parse(filled))).toEqual(["name", "license", "homepage", "bugs", "repository", "type"]);
    expect(JSON.parse(filled)).toMatchObject({
      homepage: "https://git.example/a/b#readme",
      bugs: { url: "https://git.example/a/b/issues" },
      repository: { type: "git", url: "git+https://git.example/a/b.git" },
    });
  });

  test("are left out while there is none", () => {
    expect(JSON.parse(withHome(filled, ""))).toEqual(JSON.parse(manifest));
  });
});

test("pages for those who work on the project are not packed", async () => {
  const manifest = await readManifest();
  const packed = ["docs/decisions/0001-record-decisions.md", "docs/threat-model.md", "docs/guide.md"];
  expect(packed.filter((file) => isPacked(manifest, file))).toEqual(["docs/guide.md"]);
});

test("a packed page with a dead link, a script or a folder of the repository is reported", async () => {
  await put("README.md", "See [the guide](docs/guide.md), and `CONTRIBUTING.md` in the repository: `npm test`.\n");
  await put("docs/guide.md", "[Here](decisions/0001.md).\nRun `npm run bench`, or look at `example/a/main.ts`.\n");
  await put("llms.txt", "- [Guide](docs/guide.md)\n- [Other](docs/other.md)\n");
  expect(await packedDocProblems(folder)).toEqual([
    "docs/guide.md:1 links to decisions/0001.md: there is no such file.",
    "llms.txt:2 links to docs/other.md: there is no such file.",
    "docs/guide.md:2 needs the repository: npm run bench",
    "docs/guide.md:2 needs the repository: `example/a/main.ts",
  ]);
});

test("the changes that are not released are grouped by their readers, those without one at the end", async () => {
  const head = '---\n"a": minor\n---\n\n';
  await put(".changeset/README.md", "# Changesets\n");
  await put(".changeset/one.md", `${head}**Operators.** First.\n\n- More.\n`);
  await put(".changeset/other.md", `${head}**Operators.** Third.\n`);
  await put(".changeset/a.md", `${head}Second.\n`);
  expect(await unreleasedChanges(folder)).toBe(
    "## Unreleased\n\n### Operators\n\n- First.\n\n  - More.\n- Third.\n\n### Others\n\n- Second.",
  );
});

describe("the API reference", () => {
  test("has each exported name with its declaration, without bodies, private members and initial values", async () => {
    const pages = await apiPages(project);
    const { exports } = await readManifest();
    expect(Object.keys(pages)).toHaveLength(Object.keys(exports).length - 1);
    const [, toolkit = ""] =
      /^class Toolkit implements[\s\S]*?\{\n([\s\S]*?)^\}$/m.exec(pages["docs/reference/api/toolweave.md"] ?? "") ?? [];
    expect(toolkit).toContain("constructor(options?: ToolkitOptions);");
    expect(toolkit).toContain("close(): Promise<void>;");
    expect(toolkit).not.toMatch(/#\w|\breturn\b|\basync\b/);
    // Only the overloads of a method are for users.
    expect(toolkit.match(/^ {2}call[<(]/gm)).toHaveLength(2);
  });
});
