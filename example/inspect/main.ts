/** A service shows itself on a page of this machine; a monitor asks whether it is well. */
import assert from "node:assert/strict";
import { defineTool, Toolkit } from "toolweave";
import { inspect } from "toolweave/inspect";

const toolkit = new Toolkit({ items: [defineTool({ name: "hour", run: () => new Date().getHours() })] });
await toolkit.start();

// The page is built into the package.
// #region inspect
const page = await inspect(toolkit, { port: 0, health: "open" });
console.log(`Look at it, once with this link: ${page.url}`);
// #endregion

const { origin } = new URL(page.url);
const health = await fetch(`${origin}/health`);
assert.deepEqual([health.status, await health.json()], [200, { health: "ok", down: [] }]);
const opened = await fetch(page.url);
const again = await fetch(page.url);
assert.deepEqual([opened.status, again.status], [200, 401]);
await page.close();
await toolkit.close();
