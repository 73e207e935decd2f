// Runs a server in each sandbox that works here: there it has no network, and everything else goes on as without one.
import { strictEqual } from "node:assert";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Toolkit, ToolkitError } from "toolweave";
import { nodeIn, type Sandbox, sandboxes, works } from "./sandboxes.ts";

// The script is an argument, so that no sandbox has to see the file.
const script = await readFile(new URL("server.mjs", import.meta.url), "utf8");
const page = createServer((_request, response) => response.end("a page"));
await new Promise<void>((resolve) => page.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(page.address() as AddressInfo).port}/`;

const names = (Object.keys(sandboxes) as Sandbox[]).filter(works);
const toolkit = new Toolkit();
toolkit.addConnector(
  { command: process.execPath, args: ["--input-type=module", "--eval", script] },
  { namespace: "open" },
);
for (const [index, name] of names.entries()) {
  // #region wrap
  toolkit.addConnector(
    { command: nodeIn(name), args: ["--input-type=module", "--eval", script], wrap: sandboxes[name] },
    { namespace: `closed${index + 1}` },
  );
  // #endregion
}
await toolkit.start();

strictEqual(await (await toolkit.call("open.page", { url })).text(), "a page");
for (const [index, name] of names.entries()) {
  const outcome = await toolkit.call(`closed${index + 1}.page`, { url }).catch((error: unknown) => error);
  strictEqual(ToolkitError.is(outcome, "TOOL_FAILED"), true, name);
  console.log(`${name}: ${(outcome as Error).message}`);
}
if (names.length === 0) console.log("No sandbox works here: install bubblewrap, for example.");
await toolkit.close();
page.close();
