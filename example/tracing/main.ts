/** One trace across two processes: a service that calls a tool, and the MCP server that has it. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { trace } from "@opentelemetry/api";
import { defineTool, Toolkit } from "toolweave";
import { z } from "zod";
import { type CollectedSpan, Collector, startTelemetry } from "./telemetry.ts";

const collector = new Collector();
const collectorUrl = await collector.listen();
startTelemetry("service", collector.collect);

// #region toolkit
const plan = defineTool({
  name: "plan",
  description: "Plans a day out.",
  input: z.object({ city: z.string(), api_key: z.string() }),
  run: async ({ city }, { toolbox }) => {
    const forecast = await toolbox.call("weather.forecast", { city });
    return `Walk: ${await forecast.text()}`;
  },
});

// An SDK that is registered is found; recordContent also records arguments and results.
const toolkit = new Toolkit({ items: [plan], recordContent: true, redact: ["*_pin"] });
// #endregion
const server = fileURLToPath(new URL("server.ts", import.meta.url));
toolkit.addConnector({ command: process.execPath, args: [server, collectorUrl] }, { namespace: "weather" });
await toolkit.start();

// #region call
const tracer = trace.getTracer("service");
await tracer.startActiveSpan("POST /plan", async (span) => {
  await toolkit.call("plan", { city: "Bern", api_key: "sk-12345" }, { toolCallId: "call_1" });
  await toolkit.call("plam").catch(() => undefined); // a typo, seen too
  span.end();
});
// #endregion

await collector.until(6);
console.log(tree(collector.spans));
assert.equal(
  tree(collector.spans),
  `POST /plan · service
├─ execute_tool plan · service
│  └─ execute_tool forecast · service
│     └─ tools/call forecast · weather server
│        └─ SELECT forecasts · weather server
└─ execute_tool · service · NOT_FOUND`,
);
assert.equal(new Set(collector.spans.map(({ traceId }) => traceId)).size, 1);

const called = collector.spans.find(({ name }) => name === "execute_tool plan")?.attributes;
console.log(called);
assert.equal(called?.["gen_ai.tool.call.arguments"], '{"city":"Bern","api_key":"***"}');
assert.equal(called?.["gen_ai.tool.call.id"], "call_1");

await toolkit.close();
collector.close();

/** The spans, each under its parent, in the order in which they ended. */
function tree(spans: readonly CollectedSpan[], parentId?: string, indent = ""): string {
  const children = spans.filter((span) => span.parentId === parentId);
  return children
    .map((span, index) => {
      const isLast = index === children.length - 1;
      const [branch, below] = parentId === undefined ? ["", ""] : isLast ? ["└─ ", "   "] : ["├─ ", "│  "];
      const error = span.attributes["error.type"];
      const line = `${indent}${branch}${span.name} · ${span.service}${error === undefined ? "" : ` · ${error}`}`;
      const inner = tree(spans, span.id, `${indent}${below}`);
      return inner === "" ? line : `${line}\n${inner}`;
    })
    .join("\n");
}
