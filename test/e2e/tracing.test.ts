import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { metrics, SpanKind, trace } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { afterEach, beforeEach, describe, expect } from "vitest";
import { type CollectedSpan, Collector } from "../../example/tracing/telemetry.ts";
import type { ConnectorTarget } from "../../src/core/target.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { type RecordedSpans, recordMetrics, recordSpans, registerContext, unregister } from "../support/telemetry.ts";
import { verifies } from "../support/verifies.ts";

const server = fileURLToPath(new URL("../../example/tracing/server.ts", import.meta.url));

let recorded: RecordedSpans;
let collector: Collector;
let collectorUrl: string;
let child: ChildProcess | undefined;

beforeEach(async () => {
  recorded = recordSpans();
  trace.setGlobalTracerProvider(recorded.provider);
  registerContext();
  collector = new Collector();
  collectorUrl = await collector.listen();
});
afterEach(async () => {
  unregister();
  if (child !== undefined && child.exitCode === null) {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  child = undefined;
  collector.close();
});

const transports: Readonly<Record<string, () => Promise<ConnectorTarget>>> = {
  stdio: async () => ({ command: process.execPath, args: [server, collectorUrl] }),
  async http() {
    child = spawn(process.execPath, [server, collectorUrl, "http"], { stdio: ["ignore", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    const [url] = (await once(lines, "line")) as [string];
    return url;
  },
};

describe.each(Object.entries(transports))("over %s", (name, target) => {
  const connected = async () => {
    const toolkit = new Toolkit();
    toolkit.addConnector(await target(), { namespace: "weather" });
    await toolkit.start();
    return toolkit;
  };
  const far = (spanName: string): CollectedSpan => {
    const [found, ...more] = collector.spans.filter((span) => span.name === spanName);
    if (found === undefined || more.length > 0) throw new Error(`${spanName}: ${1 + more.length}`);
    return found;
  };
  const metaOf = (span: CollectedSpan) => JSON.parse(String(span.attributes["test.meta"]));
  const expectChild = (span: CollectedSpan, parent: ReadableSpan) => {
    const { traceId, spanId } = parent.spanContext();
    expect([span.traceId, span.parentId]).toEqual([traceId, spanId]);
    expect(span.attributes["test.header"]).toBe(name === "http" ? `00-${traceId}-${spanId}-01` : "");
  };

  verifies(
    ["O1", "M10"],
    "what a server does is a part of the trace of the call, the read and the rendering",
    async () => {
      await using toolkit = await connected();
      await toolkit.call("weather.forecast", { city: "Bern" }, { meta: { mine: 7, traceparent: "not ours" } });
      await toolkit.render("weather.report", { city: "Bern" });
      await toolkit.read("map://bern");
      await collector.until(4);
      const call = recorded.span("execute_tool forecast");
      expectChild(far("tools/call forecast"), call);
      expectChild(far("prompts/get report"), recorded.span("render_prompt report"));
      expectChild(far("resources/read"), recorded.span("read_resource"));
      expect(far("SELECT forecasts").parentId).toBe(far("tools/call forecast").id);
      const { traceId, spanId } = call.spanContext();
      expect(metaOf(far("tools/call forecast"))).toMatchObject({ mine: 7, traceparent: `00-${traceId}-${spanId}-01` });
      expect(call.kind).toBe(SpanKind.CLIENT);
      expect(call.attributes).toMatchObject({
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": "2025-11-25",
        ...(name === "http"
          ? {
              "network.transport": "tcp",
              "network.protocol.name": "http",
              "server.address": "127.0.0.1",
              "server.port": expect.any(Number),
              "mcp.session.id": expect.any(String),
            }
          : { "network.transport": "pipe" }),
      });
      expect(recorded.span("render_prompt report").attributes["mcp.method.name"]).toBe("prompts/get");
      expect(recorded.span("read_resource").attributes).toMatchObject({
        "mcp.method.name": "resources/read",
        "mcp.resource.uri": "map://bern",
      });
    },
  );

  verifies(["O1", "M10"], "without an SDK the meta goes along as it was given, and no header is added", async () => {
    unregister();
    await using toolkit = await connected();
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    await toolkit.call("weather.forecast", { city: "Bern" }, { meta: { traceparent } });
    await collector.until(2);
    expect(metaOf(far("tools/call forecast")).traceparent).toBe(traceparent);
    expect(far("tools/call forecast").attributes["test.header"]).toBe("");
  });

  verifies("O2", "requests to a server are timed under the name of the conventions", async () => {
    const measured = recordMetrics();
    metrics.setGlobalMeterProvider(measured.provider);
    await using toolkit = await connected();
    await toolkit.call("weather.forecast", { city: "Bern" });
    await toolkit.read("map://bern");
    await expect(toolkit.read("nothing://here#weather")).rejects.toThrow();
    const points = (await measured.read()).get("mcp.client.operation.duration") ?? [];
    expect(
      points.map(({ attributes, value }) => [attributes["mcp.method.name"], attributes["error.type"], value]),
    ).toEqual([
      ["tools/call", undefined, 1],
      ["resources/read", undefined, 1],
    ]);
    expect(points[0]?.attributes).toMatchObject({
      "gen_ai.tool.name": "forecast",
      "network.transport": name === "http" ? "tcp" : "pipe",
    });
    expect(points[0]?.attributes).not.toHaveProperty("mcp.session.id");
    await measured.provider.shutdown();
  });
});
