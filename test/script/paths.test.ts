import { access, readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { MeasuredWay } from "../../script/support/measured-ways.ts";
import { project } from "../../script/support/project.ts";
import { run } from "../../script/support/run.ts";

const page = await readFile(join(project, "docs/architecture.md"), "utf8");
const pictures = new Map(
  [...page.matchAll(/<!-- picture: (.+?) -->\n\n```text\n([\s\S]*?)```/g)].map(([, name = "", lines = ""]) => [
    name,
    lines,
  ]),
);
const layers: readonly string[] = createRequire(import.meta.url)("../../.dependency-cruiser.cjs")
  .forbidden.map(({ name }: { name: string }) => /^layer-(.+)$/.exec(name)?.[1])
  .filter((name: string | undefined) => name !== undefined);

function filesIn(text: string): readonly string[] {
  return [...text.matchAll(/[\w-]+(?:\/[\w-]+)+\.ts/g)].map(([file]) => file);
}

describe("the page on architecture", () => {
  test("names only files that exist", async () => {
    const files = filesIn(page);
    expect(files.length).toBeGreaterThan(50);
    const missing = await Promise.all(
      files.map((file) =>
        access(join(project, "src", file)).then(
          () => [],
          () => [file],
        ),
      ),
    );
    expect(missing.flat()).toEqual([]);
  });

  test("draws every folder of the house once, in the order of the layers", async () => {
    const folders = (await readdir(join(project, "src"), { withFileTypes: true })).filter((each) => each.isDirectory());
    const drawn = [...(pictures.get("house") ?? "").matchAll(/^ ([a-z\d-]+) /gm)].map(([, folder = ""]) => folder);
    expect([...drawn].sort()).toEqual(folders.map(({ name }) => name).sort());
    expect(drawn).toEqual([...layers].reverse().filter((folder) => drawn.includes(folder)));
  });

  test("has in CONTRIBUTING the same folders in the same order", async () => {
    const contributing = await readFile(join(project, "CONTRIBUTING.md"), "utf8");
    const rows = [...contributing.matchAll(/^\| \d+ \| (.+) \|$/gm)].map(([, cell = ""]) => /`(\w+)`/.exec(cell)?.[1]);
    const drawn = [...(pictures.get("house") ?? "").matchAll(/^ ([a-z\d]+) /gm)].map(([, folder]) => folder);
    expect(rows).toEqual(drawn);
  });

  test("draws only what its ways pass", async () => {
    const { output, failure } = await run(process.execPath, [join(project, "script/paths.ts"), "--json"], {
      cwd: project,
      timeoutMs: 60_000,
    });
    expect(failure, output).toBeUndefined();
    const ways: readonly MeasuredWay[] = JSON.parse(output.slice(output.indexOf("[{")));
    expect(ways.map(({ name }) => name).filter((name) => pictures.has(name))).toHaveLength(pictures.size - 1);
    for (const { name, passed } of ways) {
      const files = new Set(passed.map((each) => each.split(" ")[0]));
      const unpassed = filesIn(pictures.get(name) ?? "").filter((file) => !files.has(file));
      expect(unpassed, name).toEqual([]);
    }
  });
});
