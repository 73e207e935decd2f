// The package as a user has it, on each runtime that npm has. `npm run runtimes` runs the whole suite on other versions of Node.
import { cp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { project, readManifest } from "../../script/support/project.ts";
import { type RunResult, run } from "../../script/support/run.ts";
import { installedPackage } from "../support/installed-package.ts";
import { installRuntimes, type Runtime } from "../support/runtimes.ts";

const server = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/dist/index.js");
const user = await installedPackage();
const { folder, runtimes } = await installRuntimes();
await cp(join(project, "test/package/fixture"), user.folder, { recursive: true });
// Deno looks into node_modules only where a package.json says so.
await writeFile(
  join(user.folder, "package.json"),
  JSON.stringify({ type: "module", dependencies: { toolweave: "*" } }),
);

afterAll(async () => {
  await user[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function printed({ command, args }: Runtime, file: string): Promise<RunResult> {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME };
  const result = await run(command, [...args, file, server], { cwd: user.folder, env, timeoutMs: 60_000 });
  expect(result.failure, result.output).toBeUndefined();
  return result;
}

for (const runtime of runtimes) {
  const because = runtime.missing === undefined ? "" : ` (skipped: ${runtime.missing})`;
  describe.skipIf(runtime.missing !== undefined)(`on ${runtime.name}${because}`, () => {
    test("every entry point is imported", async () => {
      const { exports } = await readManifest();
      const { stdout } = await printed(runtime, "entries.mjs");
      expect(JSON.parse(stdout)).toBe(Object.keys(exports).length - 1);
    });

    test("a service with prompts, an agent, a store and a server as a child process ends with its results", async () => {
      const { stdout } = await printed(runtime, "service.mjs");
      expect(JSON.parse(stdout)).toEqual(["Hello, Ada.", "Echo: from a server", "MISSING_PEER"]);
    });
  });
}
