import { metrics } from "@opentelemetry/api";
import { afterEach, beforeEach, expect } from "vitest";
import { ToolkitError } from "../../src/core/error.ts";
import type { Tool } from "../../src/core/item.ts";
import type { ToolkitOptions } from "../../src/core/toolkit-options.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { settle } from "../../src/testing/virtual-clock.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure, rejection } from "../support/failure.ts";
import { FakeConnector, tools } from "../support/fake-connector.ts";
import { recordMetrics, recordSpans, unregister } from "../support/telemetry.ts";
import { verifies } from "../support/verifies.ts";

const tool = (name: string, run: Tool["run"] = () => name): Tool => ({ kind: "tool", name, run });

let recorded: ReturnType<typeof recordMetrics>;
const open: Toolkit[] = [];
const toolkitOf = (options: ToolkitOptions) => {
  const toolkit = new Toolkit(options);
  open.push(toolkit);
  return toolkit;
};

beforeEach(() => {
  recorded = recordMetrics();
});
afterEach(async () => {
  for (const toolkit of open.splice(0)) await toolkit.close();
  unregister();
  await recorded.provider.shutdown();
});

verifies("O2", "calls are counted by ref and outcome, and timed, where a meter provider is registered", async () => {
  const controller = new AbortController();
  const hang = () => {
    controller.abort(new Error("enough"));
    return new Promise(() => {});
  };
  const bad = () => Promise.reject(new Error("no"));
  const toolkit = toolkitOf({ items: [tool("good"), tool("bad", bad), tool("hang", hang)] });
  metrics.setGlobalMeterProvider(recorded.provider);
  await toolkit.call("good");
  await toolkit.call("good");
  await failure(toolkit.call("bad"));
  await rejection(toolkit.call("hang", {}, { signal: controller.signal }));
  const read = await recorded.read();
  const base = { "toolweave.operation": "execute_tool", "toolweave.namespace": "builtin" };
  const outcome = (name: string, ended: string) => ({
    ...base,
    "toolweave.ref": `builtin.${name}`,
    "toolweave.outcome": ended,
  });
  expect(read.get("toolweave.calls")).toEqual([
    { attributes: outcome("good", "ok"), value: 2 },
    { attributes: outcome("bad", "TOOL_FAILED"), value: 1 },
    { attributes: outcome("hang", "aborted"), value: 1 },
  ]);
  const timed = { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.type": "function" };
  expect(read.get("gen_ai.execute_tool.duration")?.slice(0, 2)).toEqual([
    { attributes: { ...timed, "gen_ai.tool.name": "good", "toolweave.namespace": "builtin" }, value: 2 },
    {
      attributes: {
        ...timed,
        "gen_ai.tool.name": "bad",
        "toolweave.namespace": "builtin",
        "error.type": "TOOL_FAILED",
      },
      value: 1,
    },
  ]);
});

verifies("O2", "what is in no catalogue is in no attribute", async () => {
  const toolkit = toolkitOf({
    meter: recorded.provider.getMeter("mine"),
    items: [
      {
        kind: "template",
        name: "page",
        uriTemplate: "page://{n}",
        resource: (uri) => resource.withUri(resource.text("page", "text"), uri),
      },
    ],
  });
  for (let n = 0; n < 20; n++) {
    await failure(toolkit.call(`made.up${n}`));
    await toolkit.read(`page://${n}`);
    await toolkit.call(tool(`inline${n}`));
  }
  const points = (await recorded.read()).get("toolweave.calls") ?? [];
  expect(points.map(({ attributes, value }) => [Object.values(attributes).join(" "), value])).toEqual([
    ["execute_tool NOT_FOUND", 20],
    ["read_resource builtin ok", 20],
    ["execute_tool inline ok", 20],
  ]);
});

verifies("O2", "what is in flight is seen, and the state and reconnects of each connector", async () => {
  metrics.setGlobalMeterProvider(recorded.provider);
  const toolkit = toolkitOf({});
  const far = new FakeConnector({ lists: { tool: tools("slow") } });
  const answered = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  far.answer = async () => {
    asked.resolve();
    await answered.promise;
    return resource.text("answer", "late");
  };
  toolkit.addConnector(far, { namespace: "far" });
  await toolkit.start();
  const call = toolkit.call("far.slow");
  await asked.promise;
  const namespace = { "toolweave.namespace": "far" };
  const during = await recorded.read();
  expect(during.get("toolweave.calls.active")).toEqual([{ attributes: { "toolweave.verb": "call" }, value: 1 }]);
  expect(during.get("toolweave.connector.requests.active")).toEqual([{ attributes: namespace, value: 1 }]);
  expect(during.get("toolweave.connector.state")).toEqual(
    ["idle", "connecting", "connected", "waiting"].map((state) => ({
      attributes: { ...namespace, "toolweave.connector.state": state },
      value: state === "connected" ? 1 : 0,
    })),
  );
  expect(during.get("toolweave.connector.reconnects") ?? []).toEqual([]);
  answered.resolve();
  await call;
  const again = new Promise((resolve) => toolkit.on("connectorConnected", resolve));
  far.session.lose();
  await again;
  await settle();
  const after = await recorded.read();
  expect(after.get("toolweave.calls.active")).toEqual([{ attributes: { "toolweave.verb": "call" }, value: 0 }]);
  expect(after.get("toolweave.connector.reconnects")).toEqual([{ attributes: namespace, value: 1 }]);
});

verifies(
  "O2",
  "a connector that is removed, and a toolkit that is closed, is in no state; one without a meter never was",
  async () => {
    metrics.setGlobalMeterProvider(recorded.provider);
    const silent = toolkitOf({ items: [tool("one")], meter: false });
    await silent.call("one");
    const toolkit = toolkitOf({});
    toolkit.addConnector(new FakeConnector(), { namespace: "far" });
    await toolkit.start();
    const states = async () =>
      ((await recorded.read()).get("toolweave.connector.state") ?? []).map(({ value }) => value);
    expect(await states()).toEqual([0, 0, 1, 0]);
    expect((await recorded.read()).get("toolweave.calls") ?? []).toEqual([]);
    await toolkit.removeConnector("far");
    expect(await states()).toEqual([0, 0, 0, 0]);
    toolkit.addConnector(new FakeConnector(), { namespace: "far" });
    await toolkit.connections[0]?.ready();
    expect(await states()).toEqual([0, 0, 1, 0]);
    await toolkit.close();
    expect(await states()).toEqual([0, 0, 0, 0]);
  },
);

verifies("O2", "what waits for its turn is seen, and answers that were kept, and attempts made again", async () => {
  const spans = recordSpans();
  const answered = Promise.withResolvers<void>();
  const toolkit = toolkitOf({
    tracer: spans.provider.getTracer("mine"),
    meter: recorded.provider.getMeter("mine"),
    items: [
      { ...tool("narrow", () => answered.promise), options: { maxConcurrent: 1 } },
      { ...tool("kept"), options: { cache: { ttlMs: 60_000 } } },
    ],
  });
  const far = new FakeConnector({ lists: { tool: tools("shaky") } });
  const settled = far.answer;
  far.answer = () => {
    far.answer = settled;
    return Promise.reject(new ToolkitError("UNAVAILABLE", "not now", { namespace: "far" }, { phase: "execute" }));
  };
  toolkit.addConnector(far, { namespace: "far" });
  await toolkit.start();
  const calls = [1, 2, 3].map(() => toolkit.call("narrow"));
  expect((await recorded.read()).get("toolweave.calls.queued")?.map(({ value }) => value)).toEqual([2]);
  answered.resolve();
  await Promise.all(calls);
  await toolkit.call("kept");
  await toolkit.call("kept");
  await toolkit.call("far.shaky");
  const read = await recorded.read();
  const item = (namespace: string, name: string) => ({
    "toolweave.operation": "execute_tool",
    "toolweave.namespace": namespace,
    "toolweave.ref": `${namespace}.${name}`,
  });
  expect(read.get("toolweave.calls.queued")?.map(({ value }) => value)).toEqual([0]);
  expect(read.get("toolweave.cache.hits")).toEqual([{ attributes: item("builtin", "kept"), value: 1 }]);
  expect(read.get("toolweave.retries")).toEqual([{ attributes: item("far", "shaky"), value: 1 }]);
  const said = spans.spans
    .filter(({ name }) => !name.endsWith("narrow"))
    .map(({ attributes }) => [attributes["toolweave.attempts"], attributes["toolweave.cached"]]);
  expect(said).toEqual([
    [undefined, undefined],
    [0, true],
    [2, undefined],
  ]);
});

verifies("W1", "the labels of a tool are attributes of its spans, measurements and events", async () => {
  const spans = recordSpans();
  const labelled = { ...tool("labelled"), options: { labels: { team: "shop", "toolweave.ref": "forged" } } };
  const toolkit = toolkitOf({ items: [labelled], tracer: spans.provider.getTracer("test") });
  metrics.setGlobalMeterProvider(recorded.provider);
  const events: unknown[] = [];
  toolkit.on("callFinished", ({ labels }) => events.push(labels));
  await toolkit.call("labelled");
  const attributes = {
    "toolweave.ref": "builtin.labelled",
    "toolweave.label.team": "shop",
    "toolweave.label.toolweave.ref": "forged",
  };
  expect(spans.span("execute_tool labelled").attributes).toMatchObject(attributes);
  expect((await recorded.read()).get("toolweave.calls")?.[0]?.attributes).toMatchObject(attributes);
  expect(events).toEqual([labelled.options.labels]);
});
