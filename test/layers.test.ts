import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { cruise } from "dependency-cruiser";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { project } from "../script/support/project.ts";

const { forbidden, options } = createRequire(import.meta.url)("../.dependency-cruiser.cjs");

describe("the layering rule", () => {
  let folder = "";

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "toolweave-layers-"));
    await symlink(join(project, "node_modules"), join(folder, "node_modules"), "junction");
    await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module", devDependencies: { vitest: "*" } }));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  /** Which rules the files of a project break: `rule: from -> to`. */
  async function broken(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
    for (const [file, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), text);
    }
    const { tsConfig: _, ...rest } = options;
    const result = await cruise(["src"], { ...rest, baseDir: folder, ruleSet: { forbidden }, validate: true });
    if (typeof result.output === "string") throw new Error(result.output);
    return result.output.summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`).sort();
  }

  test("a lower layer, and one's own folder, may be imported", async () => {
    const found = await broken({
      "src/core/name.ts": 'import "../lib/text.ts"; import "./other.ts";',
      "src/core/other.ts": "export const other = 1;",
      "src/lib/text.ts": "export const text = 1;",
      "src/toolkit/toolkit.ts": 'import "../core/name.ts"; export const load = () => import("../mcp/index.ts");',
      "src/mcp/index.ts": 'import "@modelcontextprotocol/sdk/types.js";',
      "src/index.ts": 'export * from "./toolkit/toolkit.ts";',
    });
    expect(found).toEqual([]);
  });

  test("a higher layer may not, not even for a type or lazily", async () => {
    const found = await broken({
      "src/lib/a.ts": 'import type { Name } from "../core/name.ts"; export type A = Name;',
      "src/lib/b.ts": 'export const load = () => import("../core/name.ts");',
      "src/core/name.ts": 'export type Name = string; export { kit } from "../toolkit/toolkit.ts";',
      "src/toolkit/toolkit.ts": "export const kit = 1;",
    });
    expect(found).toEqual([
      "layer-core: src/core/name.ts -> src/toolkit/toolkit.ts",
      "layer-lib: src/lib/a.ts -> src/core/name.ts",
      "layer-lib: src/lib/b.ts -> src/core/name.ts",
    ]);
  });

  test("a sibling of the same layer may not", async () => {
    const found = await broken({
      "src/manifest/a.ts": 'import "../tool-packs/b.ts";',
      "src/tool-packs/b.ts": "export const b = 1;",
    });
    expect(found).toEqual(["layer-manifest: src/manifest/a.ts -> src/tool-packs/b.ts"]);
  });

  test("no cycles, no dev dependencies, and the MCP SDK in one folder only", async () => {
    const found = await broken({
      "src/core/a.ts": 'import type { B } from "./b.ts"; export type A = B;',
      "src/core/b.ts": 'import type { A } from "./a.ts"; export type B = A | 1;',
      "src/lib/sdk.ts": 'import "@modelcontextprotocol/sdk/types.js";',
      "src/lib/test.ts": 'import "vitest";',
      "src/lib/nowhere.ts": 'import "./nowhere-else.ts";',
    });
    expect(found.map((violation) => violation.split(" -> ")[0])).toEqual([
      "mcp-sdk-in-one-folder: src/lib/sdk.ts",
      "no-cycles: src/core/a.ts",
      "no-dev-dependencies: src/lib/test.ts",
      "resolvable: src/lib/nowhere.ts",
    ]);
  });

  test("the port to models imports nothing of the agent's runs", async () => {
    const found = await broken({
      "src/agent/model/ask.ts": 'import "./reply.ts"; import "../run/loop.ts";',
      "src/agent/model/reply.ts": "export const reply = 1;",
      "src/agent/run/loop.ts": 'import "../model/reply.ts"; export const loop = 1;',
    });
    expect(found).toEqual(["model-port: src/agent/model/ask.ts -> src/agent/run/loop.ts"]);
  });

  test("every folder of src has a layer", async () => {
    const ruled = forbidden.map((rule: { name: string }) => rule.name);
    const folders = (await readdir(join(project, "src"), { withFileTypes: true })).filter((entry) =>
      entry.isDirectory(),
    );
    expect(folders.map(({ name }) => `layer-${name}`).filter((name) => !ruled.includes(name))).toEqual([]);
  });
});
