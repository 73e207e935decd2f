/** Settings of tools and of the operator: repaired input, cached results, retries, rate limits. */
import assert from "node:assert/strict";
import { type CallReport, defineTool, Toolkit, ToolkitError } from "toolweave";

// #region tools
const forecast = defineTool({
  name: "forecast",
  description: "The weather of a city on the next days.",
  input: {
    type: "object",
    properties: {
      city: { type: "string" },
      days: { type: "integer", minimum: 1 },
      unit: { enum: ["Celsius", "Fahrenheit"] },
    },
    required: ["city"],
  },
  options: { coerce: true, cache: { ttlMs: 60_000 } },
  run: async (input) => ({ ...input, weather: "sun", asked: ++asked }),
});
const upload = defineTool({
  name: "upload",
  description: "Sends a report; to send it twice does no harm.",
  annotations: { idempotentHint: true },
  options: { retry: { attempts: 3, baseMs: 20 }, timeoutMs: 200 },
  run: async () => {
    uploads += 1;
    if (uploads === 1) throw new ToolkitError("UNAVAILABLE", "the archive restarts", { namespace: "builtin" });
    return "archived";
  },
});
// #endregion

let asked = 0;
let uploads = 0;

const render = defineTool({
  name: "render",
  run: async () => {
    rendering += 1;
    most = Math.max(most, rendering);
    await new Promise((resolve) => setTimeout(resolve, 5));
    rendering -= 1;
  },
});
let rendering = 0;
let most = 0;
const notify = defineTool({ name: "notify", run: () => "sent" });

// #region settings
const toolkit = new Toolkit({
  items: [forecast, upload, render, notify],
  settings: {
    "*": { maxConcurrent: 50 }, // all tools together
    "weather.*": { timeoutMs: 5_000, cache: { ttlMs: 30_000 } }, // a connector's tools have no options of their own
    "builtin.render": { maxConcurrent: 2 },
    "builtin.notify": { rateLimit: { calls: 3, perMs: 60_000 } },
  },
  cache: { maxEntries: 500 },
});
// #endregion

// #region coerce
const repaired = await toolkit.call("forecast", { city: "Bern", days: "3", unit: "celsius" });
const { days, unit } = (await repaired.json()) as { days: number; unit: string };
assert.deepEqual([days, unit], [3, "Celsius"]);

const refused = toolkit.call("forecast", { city: "Bern", days: "3" }, { coerce: false });
await assert.rejects(refused, { code: "INVALID_INPUT" });
// #endregion

// #region cache
const report: CallReport = {};
await toolkit.call("forecast", { unit: "Celsius", days: 3, city: "Bern" }, { report });
assert.equal(report.cached, true); // the same input, in another order

await toolkit.call("forecast", { city: "Bern", days: 3, unit: "Celsius" }, { bypassCache: true });
assert.equal(asked, 2);

const atOnce = Array.from({ length: 100 }, () => toolkit.call("forecast", { city: "Basel" }));
await Promise.all(atOnce);
assert.equal(asked, 3); // a hundred equal calls, one run
// #endregion

// #region retry
const uploaded: CallReport = {};
await toolkit.call("upload", {}, { report: uploaded });
assert.equal(uploaded.attempts, 2);
// #endregion

// #region limits
await Promise.all(Array.from({ length: 10 }, () => toolkit.call("render")));
assert.equal(most, 2); // the other eight waited for their turn

for (let time = 0; time < 3; time += 1) await toolkit.call("notify");
const limited = await toolkit.call("notify").catch((error: unknown) => error);
assert(ToolkitError.is(limited, "RATE_LIMITED"));
console.log(limited.message); // ... Call again in 59998 ms.
// #endregion
assert(limited.details.retryAfterMs <= 60_000);

await toolkit.close();
