// Tools that need no code: files, code and web pages. Nothing leads out of the folder, and no private address is reached.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Toolkit, ToolkitError } from "toolweave";
import { registerWith as withCode } from "toolweave/tool-packs/code";
import { registerWith as withFiles } from "toolweave/tool-packs/fs";
import { registerWith as withWeb } from "toolweave/tool-packs/http";

const folder = await mkdtemp(join(tmpdir(), "toolweave-packs-"));
const root = join(folder, "project");
await mkdir(root);
await writeFile(join(folder, "secret.txt"), "not yours");
await writeFile(join(root, "main.ts"), 'import { z } from "zod";\nexport class Service {}\n// TODO: stop it\n');

try {
  // #region use
  await using toolkit = new Toolkit();
  withFiles(toolkit, { root, write: true });
  withCode(toolkit, { root });
  withWeb(toolkit);

  const { markers, imports } = await json(toolkit, "code.analyze", {});
  // #endregion
  assert.deepEqual([markers, imports], [{ TODO: 1 }, [{ name: "zod", files: 1 }]]);

  await toolkit.call("fs.edit_file", { path: "main.ts", edits: [{ old: "TODO: stop", new: "Ctrl-C stops" }] });
  const { matches } = await json(toolkit, "fs.search", { pattern: "Ctrl-C" });
  assert.equal(matches[0].line, 3);

  await symlink(join(folder, "secret.txt"), join(root, "link"));
  for (const path of ["../secret.txt", "link"]) assert.equal(await codeOf(toolkit, "fs.read_file", { path }), "DENIED");
  assert.equal(await codeOf(toolkit, "http.fetch", { url: "http://169.254.169.254/latest/meta-data" }), "DENIED");

  console.log(await (await toolkit.call("fs.read_tree", {})).text());
} finally {
  await rm(folder, { recursive: true, force: true });
}

// biome-ignore lint/suspicious/noExplicitAny: the shape is looked at by the assertions
async function json(toolkit: Toolkit, key: string, input: object): Promise<any> {
  return await (await toolkit.call(key, input)).json();
}

async function codeOf(toolkit: Toolkit, key: string, input: object): Promise<string | undefined> {
  return await toolkit.call(key, input).then(
    () => undefined,
    (error: unknown) => (ToolkitError.is(error) ? error.code : "none"),
  );
}
