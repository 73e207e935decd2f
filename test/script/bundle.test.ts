import { join } from "node:path";
import { expect, test } from "vitest";
import { loadedBy } from "../../script/support/bundle.ts";
import { project } from "../../script/support/project.ts";

test("the main entry loads no package before it is needed", async () => {
  const { modules, externals } = await loadedBy(join(project, "src/index.ts"));
  expect(modules.has(join(project, "src/call/trace/telemetry.ts"))).toBe(true);
  expect(externals.filter((name) => !name.startsWith("node:"))).toEqual(["#libraries"]);
  // As a module it has Node load all that it offers: two or three milliseconds for one function.
  expect(externals).not.toContain("node:util");
});
