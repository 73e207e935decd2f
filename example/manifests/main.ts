// Tools without code: one manifest of each mode, a document of OpenAPI, a real HTTP server and a real program.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { defineTool, Toolkit, ToolkitError } from "toolweave";
import { a2aExecutor } from "toolweave/a2a";
import { registerWith } from "toolweave/manifest";
import { startAgent } from "../a2a/server.ts";

const answers: Readonly<Record<string, unknown>> = {
  "/products/tea%20pot": { stock: { pieces: 12 } },
  "/orders?state=open": [{ id: "A-2", state: "open" }],
};
const shop = createServer((request, response) => {
  const answer = request.headers.authorization === "Bearer s3cret-token" ? answers[request.url ?? ""] : undefined;
  response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" });
  response.end(JSON.stringify(answer ?? {}));
});
await new Promise<void>((resolve) => shop.listen(0, "127.0.0.1", resolve));
const { port } = shop.address() as AddressInfo;
const tools = fileURLToPath(new URL("tools", import.meta.url));
const agent = await startAgent();

try {
  // #region use
  await using toolkit = new Toolkit();
  await using _ = registerWith(toolkit, {
    paths: [tools],
    env: { ...process.env, SHOP_URL: `http://127.0.0.1:${port}`, SHOP_TOKEN: "s3cret-token", AGENT_URL: agent.card },
    executors: {
      a2a: a2aExecutor,
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
  assert.deepEqual(await call("orders.orders_list", { state: "open" }), [{ id: "A-2", state: "open" }]);
  assert.equal(entries.filter(({ namespace }) => namespace === "orders").length, 1);
  assert.match(await (await toolkit.call("manifest.checksum", { text: "abc" })).text(), /^ba7816bf/);

  const read = defineTool({ name: "read", run: ({ path }) => `The text of ${path}.` });
  toolkit.addSource("files", { tool: () => [read] });
  assert.equal(await (await toolkit.call("manifest.read_notes", {})).text(), "The text of notes.md.");
  assert.equal(await (await toolkit.call("manifest.greeting", { name: "Ada" })).text(), "Good morning, Ada!");

  const journey = await toolkit.call("manifest.journey", { query: "Three days in Bern" });
  assert.match(await journey.text(), /Three days in Bern: the 10:02/);

  const elicit = async () => ({ action: "accept", content: { city: "Bern" } }) as const;
  const located = await toolkit.call("manifest.location", {}, { session: { id: "person", elicit } });
  assert.deepEqual(await located.json(), { city: "Bern" });
  const pending = await toolkit.call("manifest.location", {}).catch((error: unknown) => error);
  assert.ok(ToolkitError.is(pending, "PENDING"));

  for (const { ref, item } of entries) console.log(`${ref}: ${item.description}`);
} finally {
  await agent[Symbol.asyncDispose]();
  shop.closeAllConnections();
  shop.close();
}
