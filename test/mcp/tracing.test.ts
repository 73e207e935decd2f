import type { RequestListener } from "node:http";
import { CallToolRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { trace } from "@opentelemetry/api";
import { afterEach, beforeEach, describe, expect } from "vitest";
import { inMemoryConnector, mcpConnector } from "../../src/mcp/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure, rejection } from "../support/failure.ts";
import { type RecordedSpans, recordMetrics, recordSpans, registerContext, unregister } from "../support/telemetry.ts";
import { verifies } from "../support/verifies.ts";
import { listen, sseFixture, streamableFixture } from "./fixture/http.ts";
import { createFixture } from "./fixture/server.ts";

let recorded: RecordedSpans;
beforeEach(() => {
  recorded = recordSpans();
  trace.setGlobalTracerProvider(recorded.provider);
  registerContext();
});
afterEach(unregister);

const transports: readonly (readonly [name: string, path: string, make: () => RequestListener])[] = [
  ["Streamable HTTP", "/mcp", () => streamableFixture().handler],
  ["Streamable HTTP as JSON", "/mcp", () => streamableFixture({ json: true }).handler],
  ["SSE", "/sse", () => sseFixture()],
];

describe.each(transports)("over %s", (_name, path, make) => {
  verifies(["O1", "M10"], "each request of a call, and no other, carries the trace of that call", async () => {
    const { origin, close } = await listen(make());
    const sent: (readonly [what: string, traceparent: string | null])[] = [];
    const recording: typeof fetch = (url, init) => {
      const body = typeof init?.body === "string" ? JSON.parse(init.body) : {};
      const what = body.params?.arguments?.message ?? body.method ?? init?.method;
      sent.push([what, new Headers(init?.headers).get("traceparent")]);
      return fetch(url, init);
    };
    const toolkit = new Toolkit();
    toolkit.addConnector(mcpConnector(`${origin}${path}`, { fetch: recording }), { namespace: "far" });
    await toolkit.start();
    await Promise.all(["a", "b", "c"].map((message) => toolkit.call("far.echo", { message })));
    const spans = recorded.spans.map((span) => span.spanContext());
    const expected = spans.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`);
    const calls = sent.filter(([what]) => ["a", "b", "c"].includes(what));
    expect(new Set(calls.map(([, traceparent]) => traceparent))).toEqual(new Set(expected));
    expect(expected).toHaveLength(3);
    expect(sent.filter((each) => !calls.includes(each)).map(([, traceparent]) => traceparent)).toEqual(
      Array(sent.length - 3).fill(null),
    );
    await toolkit.close();
    await close();
  });
});

verifies(["O1", "O2"], "an error has our code on the span, and the name of the conventions in the metric", async () => {
  const measured = recordMetrics();
  const toolkit = new Toolkit({ meter: measured.provider.getMeter("mine") });
  const connector = inMemoryConnector((transport) => createFixture().create().connect(transport));
  toolkit.addConnector(connector, { namespace: "far" });
  await toolkit.start();
  await failure(toolkit.call("far.fail"));
  await failure(toolkit.render("far.greet"));
  const controller = new AbortController();
  const hanging = rejection(toolkit.call("far.hang", {}, { signal: controller.signal }));
  controller.abort();
  await hanging;
  const errors = recorded.spans.map(({ name, attributes }) => [
    name,
    attributes["error.type"],
    attributes["rpc.response.status_code"],
  ]);
  expect(errors).toEqual([
    ["execute_tool fail", "TOOL_FAILED", undefined],
    ["render_prompt greet", "INVALID_INPUT", undefined],
    ["execute_tool hang", "aborted", undefined],
  ]);
  expect(recorded.spans[0]?.status.message).toBe("The tool ran and failed.");
  const points = (await measured.read()).get("mcp.client.operation.duration") ?? [];
  expect(points.map(({ attributes }) => attributes["error.type"])).toEqual(["tool_error", "aborted"]);
  await toolkit.close();
  await measured.provider.shutdown();
});

verifies("O1", "an error of the protocol says its code", async () => {
  const toolkit = new Toolkit();
  const connector = inMemoryConnector(async (transport) => {
    const server = createFixture().create();
    await server.connect(transport);
    server.server.setRequestHandler(CallToolRequestSchema, () => {
      throw Object.assign(new Error("broken"), { code: -32603 });
    });
  });
  toolkit.addConnector(connector, { namespace: "far" });
  await toolkit.start();
  await failure(toolkit.call("far.fail"));
  expect(recorded.span("execute_tool fail").attributes).toMatchObject({
    "error.type": "REMOTE_ERROR",
    "rpc.response.status_code": "-32603",
  });
  await toolkit.close();
});
