// Tools without code: one manifest of each mode, a real HTTP server and a real program.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { defineTool, Toolkit, ToolkitError } from "toolweave";
import { registerWith } from "toolweave/manifest";

const shop = createServer((request, response) => {
  const isKnown = request.url === "/products/tea%20pot" && request.headers.authorization === "Bearer s3cret-token";
  response.writeHead(isKnown ? 200 : 404, { "content-type": "application/json" });
  response.end(JSON.stringify(isKnown ? { stock: { pieces: 12 } } : {}));
});
await new Promise<void>((resolve) => shop.listen(0, "127.0.0.1", resolve));
const { port } = shop.address() as AddressInfo;
const tools = fileURLToPath(new URL("tools", import.meta.url));

try {
  // #region use
  await using toolkit = new Toolkit();
  await using _ = registerWith(toolkit, {
    paths: [tools],
    env: { ...process.env, SHOP_URL: `http://127.0.0.1:${port}`, SHOP_TOKEN: "s3cret-token" },
    executors: {
      greet: ({ spec }) => ({ run: ({ name }) => `${spec.words}, ${name}!` }),
    },
  });
  await toolkit.start();
  // #endregion
  const { entries, failures } = await toolkit.list({ kind: "tool" });
  assert.deepEqual(failures, []);
  const call = async (ref: string, input: object) => (await toolkit.call(ref, input)).json();

  assert.deepEqual(await call("manifest.weather", { city: "Bern" }), { degrees: 21, sky: "clear" });
  assert.deepEqual(await call("shop.order_state", { id: "A-1" }), { id: "A-1", state: "sent" });
  assert.deepEqual(await call("manifest.forecast", { city: "Bern" }), { degrees: 18, sky: "rain" });
  await assert.rejects(call("manifest.forecast", { city: "Rome" }), /does not answer/);
  assert.deepEqual(await call("shop.stock", { product: "tea pot" }), { pieces: 12 });
  assert.match(await (await toolkit.call("manifest.checksum", { text: "abc" })).text(), /^ba7816bf/);

  const read = defineTool({ name: "read", run: ({ path }) => `The text of ${path}.` });
  toolkit.addSource("files", { tool: () => [read] });
  assert.equal(await (await toolkit.call("manifest.read_notes", {})).text(), "The text of notes.md.");
  assert.equal(await (await toolkit.call("manifest.greeting", { name: "Ada" })).text(), "Good morning, Ada!");

  const elicit = async () => ({ action: "accept", content: { city: "Bern" } }) as const;
  const located = await toolkit.call("manifest.location", {}, { session: { id: "person", elicit } });
  assert.deepEqual(await located.json(), { city: "Bern" });
  const pending = await toolkit.call("manifest.location", {}).catch((error: unknown) => error);
  assert.ok(ToolkitError.is(pending, "PENDING"));

  for (const { ref, item } of entries) console.log(`${ref}: ${item.description}`);
} finally {
  shop.closeAllConnections();
  shop.close();
}
