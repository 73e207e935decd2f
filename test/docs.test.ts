import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkDocs } from "../script/support/docs.ts";
import { regionOf } from "../script/support/examples-in-docs.ts";
import { errorDetailFields } from "../script/support/generated.ts";
import { anchorsOf, fencesOf, linksOf } from "../script/support/markdown.ts";
import { project, readManifest } from "../script/support/project.ts";
import { errorCatalog } from "../src/core/error-catalog.ts";
import { verifies } from "./support/verifies.ts";

describe("the docs of this project", () => {
  test("show the code they name, generated parts as they are, and no dead link", async () => {
    expect(await checkDocs(project, await readManifest())).toEqual([]);
  });
});

describe("the error reference", () => {
  const codes = Object.keys(errorCatalog);

  verifies("Z", "the page has a line for each code of the catalogue and for no other", async () => {
    const page = await readFile(join(project, "docs/reference/errors.md"), "utf8");
    const documented = [...page.matchAll(/^\| `([A-Z_]+)` \|/gm)].map((match) => match[1]);
    expect(documented).toEqual(codes);
  });

  verifies("Z", "the types have the details of each code of the catalogue and of no other", async () => {
    expect([...(await errorDetailFields(project)).keys()].sort()).toEqual([...codes].sort());
  });

  verifies("Z", "each code says what it means and what to do, in sentences", () => {
    for (const [code, { summary, remedy }] of Object.entries(errorCatalog)) {
      expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
      expect(summary, code).toMatch(/^[A-Z].*\.$/);
      expect(remedy, code).toMatch(/^[A-Z].*\.$/);
      expect(`${summary}${remedy}`, `${code} stands in a table`).not.toMatch(/[|\n]/);
    }
  });

  verifies("Z", "the page names no code that does not exist", async () => {
    const page = await readFile(join(project, "docs/reference/errors.md"), "utf8");
    const written = [...page.matchAll(/`([A-Z]+_[A-Z_]+)`/g)].map((match) => match[1] ?? "");
    expect(written.filter((code) => !codes.includes(code))).toEqual([]);
  });
});

describe("the error reference and the code", () => {
  test("the codes it calls unused are those nothing in src fails with", async () => {
    const page = await readFile(join(project, "docs/reference/errors.md"), "utf8");
    const [paragraph = ""] = /^Reserved for later .*?(?=\n\n)/ms.exec(page) ?? [];
    const unused = [...paragraph.matchAll(/`([A-Z_]+)`/g)].map((match) => match[1]);
    const files = (await readdir(join(project, "src"), { recursive: true })).filter((file) => file.endsWith(".ts"));
    const texts = await Promise.all(files.map((file) => readFile(join(project, "src", file), "utf8")));
    const code = texts.join("\n");
    expect(unused).toEqual(Object.keys(errorCatalog).filter((each) => !code.includes(`"${each}"`)));
  });
});

describe("the tables of options in the guide", () => {
  const tables: readonly (readonly [heading: string, types: Readonly<Record<string, string>>])[] = [
    [
      "new Toolkit",
      { ToolkitOptions: "src/core/toolkit-options.ts", TelemetryOptions: "src/core/telemetry-options.ts" },
    ],
    [
      "addConnector",
      { AddConnectorOptions: "src/connection/connect-options.ts", ConnectorLimits: "src/core/connector-limits.ts" },
    ],
  ];
  for (const [heading, types] of tables) {
    test(`have each field of ${Object.keys(types).join(" and ")} and no other`, async () => {
      const guide = await readFile(join(project, "docs/guide.md"), "utf8");
      const [, table = ""] = guide.split(`| option of \`${heading}\` |`);
      const rows = table.split("\n\n", 1)[0]?.matchAll(/^\| (`.+?`) \|/gm) ?? [];
      const documented = [...rows].flatMap(([, names = ""]) => names.replaceAll("`", "").split(", "));
      const fields: (string | undefined)[] = [];
      for (const [type, file] of Object.entries(types)) {
        const source = await readFile(join(project, file), "utf8");
        const [declaration = ""] = new RegExp(`interface ${type}[^{]*\\{[^}]*\\}`).exec(source) ?? [];
        const own = [...declaration.matchAll(/^ {2}readonly (\w+)\?/gm)].map((match) => match[1]);
        expect(own.length).toBeGreaterThanOrEqual(4);
        fields.push(...own);
      }
      expect(documented).toEqual(fields);
    });
  }
});

describe("checkDocs", () => {
  let folder = "";
  const manifest = {
    name: "toolweave",
    exports: { ".": { default: "./dist/index.js" }, "./mcp": { default: "./dist/mcp/index.js" } },
    imports: {},
    scripts: {},
    dependencies: {},
  };
  const put = async (file: string, ...lines: string[]): Promise<void> => {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), lines.join("\n"));
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "toolweave-docs-"));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  test("reports a block that differs from its region, and mends it with write", async () => {
    await put(
      "example/readme/main.ts",
      'import { Toolkit } from "../../src/index.ts";',
      "{",
      "  // #region hello",
      '  import { mcpConnector } from "../../src/mcp/index.ts";',
      "  if (true) {",
      "    // #region inner",
      "    call();",
      "    // #endregion",
      "  }",
      "  // #endregion",
      "}",
    );
    await put(
      "README.md",
      "# Title",
      "<!-- example: example/readme/main.ts#hello -->",
      "",
      "```ts",
      "old",
      "```",
      "end",
      "",
    );
    expect(await checkDocs(folder, manifest)).toEqual(["README.md:5 is out of date: run npm run docs."]);
    expect(await checkDocs(folder, manifest, { write: true })).toEqual([]);
    expect(await readFile(join(folder, "README.md"), "utf8")).toBe(
      [
        "# Title",
        "<!-- example: example/readme/main.ts#hello -->",
        "",
        "```ts",
        'import { mcpConnector } from "toolweave/mcp";',
        "if (true) {",
        "  call();",
        "}",
        "```",
        "end",
        "",
      ].join("\n"),
    );
    expect(await checkDocs(folder, manifest)).toEqual([]);
  });

  test("reports markers that lead nowhere, and code that runs nowhere", async () => {
    await put("example/a/main.ts", "// #region open", "run();");
    await put(
      "docs/guide.md",
      "<!-- example: example/a/main.ts#none -->",
      "```ts",
      "```",
      "<!-- example: example/a/main.ts#open -->",
      "```ts",
      "```",
      "<!-- example: example/b/main.ts -->",
      "```ts",
      "```",
      "```ts",
      "untested();",
      "```",
      "<!-- example: example/a/main.ts -->",
      "No block.",
    );
    const problems = await checkDocs(folder, manifest);
    expect(problems.toSorted()).toEqual([
      "docs/guide.md:1 names example/a/main.ts#none, but the file has no such region, or never ends it.",
      "docs/guide.md:10 is code that never runs: put it into example/ and name it above.",
      "docs/guide.md:13 names an example, but no code block follows.",
      "docs/guide.md:4 names example/a/main.ts#open, but the file has no such region, or never ends it.",
      "docs/guide.md:7 names example/b/main.ts, which does not exist.",
    ]);
  });

  test("reports links to files, headings and places that do not exist", async () => {
    await put("docs/other.md", "# Some `code`: it's here", "## Twice", "## Twice", "```md", "# Not a heading", "```");
    await put(
      "docs/guide.md",
      "[a](other.md#some-code-its-here) [b](other.md#twice-1) [web](https://example.com/x) ![c](../README.md)",
      "`[code](nowhere.md)` [d](#here)",
      "# Here",
      "[e](missing.md)",
      "[f](other.md#not-a-heading)",
      "[g](../../outside.md)",
      "[h](/docs/other.md)",
    );
    await put("README.md", "");
    expect(await checkDocs(folder, manifest)).toEqual([
      "docs/guide.md:4 links to missing.md: there is no such file.",
      "docs/guide.md:5 links to other.md#not-a-heading: the page has no such heading.",
      "docs/guide.md:6 links to ../../outside.md: it leads out of the project.",
      "docs/guide.md:7 links to /docs/other.md: write it relative to the page.",
    ]);
  });

  test("reports a decision that the index does not have", async () => {
    await put("docs/decisions/README.md", "<!-- generated: decisions -->", "<!-- /generated -->", "");
    await put("docs/decisions/0001-first.md", "# 1. The first");
    expect(await checkDocs(folder, manifest)).toEqual(["docs/decisions/README.md:2 is out of date: run npm run docs."]);
    await checkDocs(folder, manifest, { write: true });
    expect(await readFile(join(folder, "docs/decisions/README.md"), "utf8")).toContain(
      "| [0001](0001-first.md) | The first |",
    );
    expect(await checkDocs(folder, manifest)).toEqual([]);
  });
});

describe("markdown", () => {
  test("a fence is closed by one of its own kind and length", () => {
    const page = ["````md", "```ts", "```", "````", "~~~", "```", "~~~"].join("\n");
    expect(fencesOf(page).map(({ language, start, end }) => ({ language, start, end }))).toEqual([
      { language: "md", start: 0, end: 3 },
      { language: "", start: 4, end: 6 },
    ]);
  });

  test("links in code are not links; references and HTML are", () => {
    const page = '[a](one.md "title")\n``[b](`two`.md)``\n[c]: three.md\n<a href="four.md">d</a><a id="set"></a>';
    expect(linksOf(page).map((link) => link.target)).toEqual(["one.md", "three.md", "four.md"]);
    expect(anchorsOf(page)).toEqual(new Set(["set"]));
  });

  test("a region that the file does not have is no text, a whole file has no marks", () => {
    expect(regionOf("a\n// #endregion\n", "x")).toBeUndefined();
    expect(regionOf("// #region x\na\n// #endregion\nb\n", undefined)).toBe("a\nb");
  });
});
