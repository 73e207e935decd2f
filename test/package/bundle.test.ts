import { cp, mkdir, mkdtemp, readFile, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { project } from "../../script/support/project.ts";
import { run } from "../../script/support/run.ts";
import { installedPackage } from "../support/installed-package.ts";

const server = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/dist/index.js");
const bundlers = { esbuild: "esbuild", rollup: "@rollup/wasm-node" };
let user: Awaited<ReturnType<typeof installedPackage>>;
/** Where the bundles are run: no folder above has a `node_modules`. */
let elsewhere = "";

beforeAll(async () => {
  user = await installedPackage();
  elsewhere = await mkdtemp(join(await realpath(tmpdir()), "toolweave-bundle-"));
  await cp(join(project, "test/package/fixture"), user.folder, { recursive: true });
  const packages = { ...bundlers, commonjs: "@rollup/plugin-commonjs", json: "@rollup/plugin-json" };
  await Promise.all(Object.entries({ ...packages, resolve: "@rollup/plugin-node-resolve" }).map(link));
});
afterAll(async () => {
  await user[Symbol.asyncDispose]();
  await rm(elsewhere, { recursive: true, force: true });
});

async function link([name, installed]: readonly [string, string]): Promise<void> {
  const target = join(user.folder, "node_modules", name in bundlers ? name : installed);
  await mkdir(dirname(target), { recursive: true });
  await symlink(join(project, "node_modules", installed), target, "junction");
}

/** Bundles both services as the page says, and gives what they print in a folder without packages. */
async function printed(bundler: string): Promise<readonly unknown[]> {
  const services = ["service.mjs", "text-service.mjs"];
  const config = await readFile(join(user.folder, `${bundler}.config.mjs`), "utf8");
  await writeFile(join(user.folder, "bundle.mjs"), config.replace('["service.mjs"]', JSON.stringify(services)));
  const bundled = await run(process.execPath, ["bundle.mjs"], { cwd: user.folder, env: { PATH: process.env.PATH } });
  expect(bundled.failure, bundled.output).toBeUndefined();
  const folder = join(elsewhere, bundler);
  await rename(join(user.folder, "out"), folder);
  // An ESM bundle is named .js: the folder says so.
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  const outputs: unknown[] = [];
  for (const file of services.map((service) => service.replace(".mjs", ".js"))) {
    const result = await run(process.execPath, [file, server], { cwd: folder, env: { PATH: process.env.PATH } });
    expect(result.failure, result.output).toBeUndefined();
    outputs.push(JSON.parse(result.stdout));
  }
  return outputs;
}

describe("a service that was bundled runs without its node_modules", () => {
  for (const bundler of Object.keys(bundlers)) {
    test(`by ${bundler}, with a folder of prompts, an agent, a store and a server; and with a prompt as text`, async () => {
      expect(await printed(bundler)).toEqual([["Hello, Ada.", "Echo: from a server", "MISSING_PEER"], ["user"]]);
    }, 150_000);
  }
});
