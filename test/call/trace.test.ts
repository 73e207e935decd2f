import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AlwaysOffSampler } from "@opentelemetry/sdk-trace";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { w3cPropagator } from "../../example/tracing/w3c.ts";
import { ToolkitError } from "../../src/core/error.ts";
import type { ToolkitEvent } from "../../src/core/event.ts";
import type { Prompt, Tool } from "../../src/core/item.ts";
import type { CallOptions } from "../../src/core/session.ts";
import type { ToolkitOptions } from "../../src/core/toolkit-options.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { settle } from "../../src/testing/virtual-clock.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure } from "../support/failure.ts";
import { type RecordedSpans, recordSpans, registerContext, unregister } from "../support/telemetry.ts";
import { verifies } from "../support/verifies.ts";

const tool = (name: string, run: Tool["run"] = () => name, more: Partial<Tool> = {}): Tool => ({
  kind: "tool",
  name,
  run,
  ...more,
});
const far = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };
const farMeta = { traceparent: `00-${far.traceId}-${far.spanId}-01`, tracestate: "rojo=1", mine: 7 };

let recorded: RecordedSpans;
const toolkitOf = (items: readonly Tool[], options: ToolkitOptions = {}) => new Toolkit({ items, ...options });

beforeEach(() => {
  recorded = recordSpans();
  trace.setGlobalTracerProvider(recorded.provider);
  registerContext();
});
afterEach(unregister);

describe("a span", () => {
  verifies("O1", "of a tool says what was called, how deep, and by which call of a model", async () => {
    const toolkit = toolkitOf([tool("forecast")]);
    await toolkit.call("forecast", {}, { toolCallId: "call-1", session: { id: "s-1" } });
    const { attributes, kind, status, parentSpanContext, instrumentationScope } =
      recorded.span("execute_tool forecast");
    expect(attributes).toEqual({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "forecast",
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": "call-1",
      "toolweave.operation": "execute_tool",
      "toolweave.ref": "builtin.forecast",
      "toolweave.namespace": "builtin",
      "toolweave.session.id": "s-1",
      "toolweave.depth": 0,
    });
    expect(kind).toBe(SpanKind.INTERNAL);
    expect(status.code).toBe(SpanStatusCode.UNSET);
    expect(parentSpanContext).toBeUndefined();
    expect(instrumentationScope).toMatchObject({ name: "toolweave", version: expect.any(String) });
  });

  verifies("O1", "of a prompt, a rendering and a read is named as what it is", async () => {
    const prompt: Prompt = {
      kind: "prompt",
      name: "greet",
      render: async () => ({ messages: [{ role: "user", content: [resource.text("hi", "hi")] }] }),
    };
    const toolkit = new Toolkit({
      items: [prompt, resource.text("note", "a note")],
      delegate: { runPrompt: async () => resource.text("answer", "done") },
    });
    await toolkit.call("greet");
    await toolkit.render("greet");
    await toolkit.read("text:note");
    expect(recorded.span("invoke_agent greet").attributes).toMatchObject({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "greet",
    });
    const rendering = recorded.span("render_prompt greet").attributes;
    expect(rendering).toMatchObject({ "toolweave.operation": "render_prompt", "gen_ai.prompt.name": "greet" });
    expect(rendering).not.toHaveProperty("gen_ai.operation.name");
    expect(recorded.span("read_resource").attributes).toMatchObject({ "toolweave.ref": "text:note#builtin" });
  });

  verifies("O1", "is there for a call that finds nothing, is refused, or comes too late", async () => {
    const toolkit = toolkitOf([tool("strict", () => 1, { input: { type: "object", required: ["city"] } })]);
    await failure(toolkit.call("no.such"));
    await failure(toolkit.call("strict"));
    await failure(toolkit.read("https://anna:secret@example.com/x"));
    await toolkit.close();
    await failure(toolkit.call("strict", { city: "Bern" }));
    expect(recorded.spans.map(({ name, attributes, status }) => [name, attributes["error.type"], status.code])).toEqual(
      [
        ["execute_tool", "NOT_FOUND", SpanStatusCode.ERROR],
        ["execute_tool strict", "INVALID_INPUT", SpanStatusCode.ERROR],
        ["read_resource", "NOT_FOUND", SpanStatusCode.ERROR],
        ["execute_tool", "CLOSED", SpanStatusCode.ERROR],
      ],
    );
    expect(recorded.spans[0]?.attributes["toolweave.key"]).toBe("no.such");
    expect(recorded.spans[2]?.attributes["toolweave.key"]).toBe("https://example.com/x");
    expect(JSON.stringify(recorded.spans.map(({ attributes, status }) => [attributes, status]))).not.toContain(
      "secret",
    );
  });

  verifies("O1", "tells an abort of the caller from an error, also of the calls inside", async () => {
    const started = Promise.withResolvers<void>();
    const toolkit = toolkitOf([
      tool("inner", () => {
        started.resolve();
        return new Promise(() => {});
      }),
      tool("outer", (_input, { toolbox }) => toolbox.call("inner")),
    ]);
    const controller = new AbortController();
    const call = failure(toolkit.call("outer", {}, { signal: controller.signal }));
    await started.promise;
    controller.abort(new ToolkitError("TIMEOUT", "A reason may look like an error.", {} as never));
    await call;
    await settle();
    for (const name of ["outer", "inner"]) {
      const { attributes, status } = recorded.span(`execute_tool ${name}`);
      expect(attributes["error.type"], name).toBe("aborted");
      expect(status, name).toEqual({ code: SpanStatusCode.ERROR, message: "Its caller ended it." });
    }
  });

  verifies("O1", "quotes no error that may hold what was passed or given, unless content is recorded", async () => {
    const items = [tool("leak", () => Promise.reject(new Error("no user anna@example.com")))];
    await failure(toolkitOf(items).call("leak"));
    await failure(toolkitOf(items, { recordContent: true }).call("leak"));
    const said = recorded.spans.map(({ status }) => status.message);
    expect(said).toEqual(["The tool ran and failed.", "builtin.leak failed: no user anna@example.com"]);
    expect(recorded.spans.map(({ events }) => events.length)).toEqual([0, 0]);
  });

  verifies("O1", "says how many slips of a model were mended, and not which", async () => {
    const input = { type: "object", properties: { count: { type: "integer" } } } as const;
    const toolkit = toolkitOf([tool("mended", () => 1, { input })]);
    await toolkit.call("mended", { count: "8192" }, { coerce: true });
    await toolkit.call("mended", { count: 1 }, { coerce: true });
    expect(recorded.spans.map(({ attributes }) => attributes["toolweave.input_repairs"])).toEqual([1, undefined]);
    expect(JSON.stringify(recorded.spans[0]?.attributes)).not.toContain("8192");
  });

  verifies("O1", "has the id of the events of its call", async () => {
    const toolkit = toolkitOf([tool("one")]);
    const events: ToolkitEvent[] = [];
    toolkit.on("*", (event) => events.push(event));
    await toolkit.call("one");
    await settle();
    const { spanId } = recorded.span("execute_tool one").spanContext();
    expect(events).toMatchObject([
      { type: "callStarted", callId: spanId },
      { type: "callFinished", callId: spanId },
    ]);
  });

  verifies("O1", "of a lookup that waits is begun when the wait did", async () => {
    const listed = Promise.withResolvers<readonly Tool[]>();
    const toolkit = new Toolkit();
    toolkit.addSource("slow", { tool: () => listed.promise });
    const call = toolkit.call("slow.late");
    // The wait is the subject: spans have the time of the process, which no test advances.
    setTimeout(() => listed.resolve([tool("late")]), 30);
    await call;
    const { duration } = recorded.span("execute_tool late");
    expect(duration[0] * 1_000 + duration[1] / 1e6).toBeGreaterThan(20);
  });
});

describe("the parent of a span", () => {
  verifies("O1", "is what is active, and it is itself active inside run, across awaits", async () => {
    const tracer = recorded.provider.getTracer("test");
    const toolkit = toolkitOf([
      tool("outer", async (_input, { toolbox }) => {
        await Promise.resolve();
        tracer.startSpan("of the tool").end();
        await Promise.all([toolbox.call("inner", { n: 1 }), toolbox.call("inner", { n: 2 })]);
      }),
      tool("inner", async () => {
        await settle();
        tracer.startSpan("of the inner tool").end();
      }),
    ]);
    await tracer.startActiveSpan("service", async (span) => {
      await toolkit.call("outer");
      expect(trace.getActiveSpan()).toBe(span);
      span.end();
    });
    const service = recorded.span("service").spanContext();
    const outer = recorded.span("execute_tool outer");
    const inner = recorded.spans.filter(({ name }) => name === "execute_tool inner");
    const ofInner = recorded.spans.filter(({ name }) => name === "of the inner tool");
    expect(outer.parentSpanContext?.spanId).toBe(service.spanId);
    expect(recorded.span("of the tool").parentSpanContext?.spanId).toBe(outer.spanContext().spanId);
    expect(inner.map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual([
      outer.spanContext().spanId,
      outer.spanContext().spanId,
    ]);
    expect(inner.map(({ attributes }) => attributes["toolweave.depth"])).toEqual([1, 1]);
    expect(new Set(ofInner.map(({ parentSpanContext }) => parentSpanContext?.spanId))).toEqual(
      new Set(inner.map((span) => span.spanContext().spanId)),
    );
  });

  verifies("O1", "of each call of a batch is what was active when the batch began", async () => {
    const toolkit = toolkitOf([tool("a", () => settle()), tool("b")]);
    const toolset = await toolkit.toolset();
    const tracer = recorded.provider.getTracer("test");
    await tracer.startActiveSpan("turn", async (span) => {
      await toolset.begin().execute([
        { id: "call-1", name: "a", input: {} },
        { id: "call-2", name: "b", input: {} },
      ]);
      span.end();
    });
    const turn = recorded.span("turn").spanContext().spanId;
    for (const [name, id] of [
      ["a", "call-1"],
      ["b", "call-2"],
    ]) {
      const span = recorded.span(`execute_tool ${name}`);
      expect([span.parentSpanContext?.spanId, span.attributes["gen_ai.tool.call.id"]]).toEqual([turn, id]);
    }
  });

  verifies("O1", "is the call around it also where nothing keeps a context active", async () => {
    context.disable();
    const toolkit = toolkitOf([tool("outer", async (_input, { toolbox }) => toolbox.call("inner")), tool("inner")]);
    await toolkit.call("outer");
    const outer = recorded.span("execute_tool outer").spanContext();
    expect(recorded.span("execute_tool inner").parentSpanContext?.spanId).toBe(outer.spanId);
  });

  const served: readonly (readonly [string, CallOptions])[] = [
    ["the call", { meta: farMeta }],
    ["the session", { session: { id: "far", meta: farMeta } }],
  ];
  for (const [whose, options] of served) {
    verifies("O1", `is what a far caller says in the meta of ${whose}, where nothing is active`, async () => {
      const tracer = recorded.provider.getTracer("test");
      const toolkit = toolkitOf([tool("one"), tool("two")]);
      await toolkit.call("one", {}, options);
      await tracer.startActiveSpan("service", (span) => toolkit.call("two", {}, options).finally(() => span.end()));
      const one = recorded.span("execute_tool one");
      expect(one.parentSpanContext).toMatchObject({ ...far, isRemote: true });
      expect(one.spanContext().traceState?.serialize()).toBe("rojo=1");
      const service = recorded.span("service").spanContext();
      expect(recorded.span("execute_tool two").parentSpanContext?.spanId).toBe(service.spanId);
    });
  }

  test("is none where what the far caller says makes no sense", async () => {
    const toolkit = toolkitOf([tool("one")]);
    for (const traceparent of [7, "00-xyz", null, "00-00000000000000000000000000000000-0000000000000000-01"]) {
      await toolkit.call("one", {}, { meta: { traceparent } });
    }
    expect(recorded.spans.map(({ parentSpanContext }) => parentSpanContext)).toEqual(Array(4).fill(undefined));
  });
});

describe("who looks", () => {
  verifies("O1", "is the SDK that is registered at the time of the call", async () => {
    unregister();
    const toolkit = toolkitOf([tool("one", () => trace.getActiveSpan()?.spanContext().spanId ?? "nobody")]);
    const one = async () => (await toolkit.call("one")).text();
    expect(await one()).toBe("nobody");
    trace.setGlobalTracerProvider(recorded.provider);
    registerContext();
    expect(await one()).toBe(recorded.span("execute_tool one").spanContext().spanId);
    unregister();
    expect(await one()).toBe("nobody");
    const other = recordSpans();
    trace.setGlobalTracerProvider(other.provider);
    registerContext();
    expect(await one()).toBe(other.span("execute_tool one").spanContext().spanId);
    expect(recorded.spans).toHaveLength(1);
  });

  verifies("O1", "is a tracer that is given, or nobody with false", async () => {
    const own = recordSpans();
    await toolkitOf([tool("one")], { tracer: own.provider.getTracer("mine") }).call("one");
    await toolkitOf([tool("two")], { tracer: false }).call("two");
    expect(own.spans.map(({ name, instrumentationScope }) => [name, instrumentationScope.name])).toEqual([
      ["execute_tool one", "mine"],
    ]);
    expect(recorded.spans).toEqual([]);
  });

  verifies("O1", "decides not to sample, and those inside and beyond follow", async () => {
    unregister();
    registerContext();
    const off = recordSpans(new AlwaysOffSampler());
    trace.setGlobalTracerProvider(off.provider);
    const ids: (string | undefined)[] = [];
    const toolkit = toolkitOf([
      tool("one", () => {
        const headers: Record<string, string> = {};
        propagation.inject(context.active(), headers);
        return headers.traceparent;
      }),
    ]);
    toolkit.on("callStarted", ({ callId }) => ids.push(callId));
    expect(await (await toolkit.call("one")).text()).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    await settle();
    expect(ids).toEqual(["1"]);
    expect(off.spans).toEqual([]);
  });

  verifies("O1", "harms no call, whatever it throws", async () => {
    const broken = () => {
      throw new Error("broken");
    };
    const span = Object.assign(recorded.provider.getTracer("test").startSpan("half"), {
      setAttributes: broken,
      end: broken,
    });
    const half = { startSpan: () => span, startActiveSpan: broken };
    for (const tracer of [{ startSpan: broken, startActiveSpan: broken }, half]) {
      const toolkit = toolkitOf([tool("one", async () => 1)], { tracer, recordContent: true });
      expect(await (await toolkit.call("one")).json()).toBe(1);
      expect((await failure(toolkit.call("none"))).code).toBe("NOT_FOUND");
    }
  });

  for (const [option, value] of [
    ["tracer", {}],
    ["meter", { createCounter: 1 }],
    ["recordContent", "yes"],
    ["redact", ["", "x"]],
    ["redact", "pin"],
  ] as const) {
    test(`${option}: ${JSON.stringify(value)} is refused`, () => {
      const refused = { code: "INVALID_CONFIG", details: { path: option } };
      expect(() => new Toolkit({ [option]: value } as ToolkitOptions)).toThrow(expect.objectContaining(refused));
    });
  }
});

describe("content", () => {
  const secret = "hunter22";
  const input = {
    city: "Bern",
    password: secret,
    "X-Api-Key": secret,
    auth: { accessToken: secret, maxTokens: 7, Authorization: [secret] },
    body: JSON.stringify({ client_secret: secret, plain: "seen" }),
    pin: secret,
  };
  const echo = tool("echo", (given) => ({ ...(given as object) }));

  verifies("O1", "is not recorded by default", async () => {
    await toolkitOf([echo]).call("echo", input);
    expect(JSON.stringify(recorded.span("execute_tool echo").attributes)).not.toMatch(/Bern|hunter/);
  });

  verifies(
    "O1",
    "is recorded where that is asked for, with secrets masked by key, in JSON within texts too",
    async () => {
      await toolkitOf([echo], { recordContent: true, redact: ["pin"] }).call("echo", input);
      const { attributes } = recorded.span("execute_tool echo");
      const seen = {
        city: "Bern",
        password: "***",
        "X-Api-Key": "***",
        auth: { accessToken: "***", maxTokens: 7, Authorization: "***" },
        body: '{"client_secret":"***","plain":"seen"}',
        pin: "***",
      };
      expect(JSON.parse(String(attributes["gen_ai.tool.call.arguments"]))).toEqual(seen);
      expect(JSON.parse(String(attributes["gen_ai.tool.call.result"]))).toEqual(seen);
    },
  );

  verifies("O1", "is cut where it is long, and of bytes no more than type and size are said", async () => {
    const toolkit = toolkitOf(
      [tool("long", () => "x".repeat(100_000)), tool("bytes", () => new Uint8Array([0, 255]))],
      {
        recordContent: true,
      },
    );
    await toolkit.call("long", { list: Array.from({ length: 50_000 }, (_, index) => ({ index })) });
    await toolkit.call("bytes");
    const long = recorded.span("execute_tool long").attributes;
    for (const key of ["gen_ai.tool.call.arguments", "gen_ai.tool.call.result"]) {
      const text = String(long[key]);
      expect(text.length, key).toBeGreaterThan(8_000);
      expect(text.length, key).toBeLessThan(20_000);
      expect(JSON.stringify(JSON.parse(text)), key).toContain("...");
    }
    const bytes = String(recorded.span("execute_tool bytes").attributes["gen_ai.tool.call.result"]);
    expect(JSON.parse(bytes)).toEqual({ mediaType: "application/octet-stream", size: 2 });
  });

  verifies("O1", "of prompts and reads is recorded under names of our own", async () => {
    const prompt: Prompt = {
      kind: "prompt",
      name: "greet",
      render: async () => ({ messages: [{ role: "user", content: [resource.text("hi", "hello")] }] }),
    };
    const toolkit = new Toolkit({ items: [prompt, resource.json("data", { token: secret })], recordContent: true });
    await toolkit.render("greet", { name: "Ada" });
    await toolkit.read("json:data");
    expect(recorded.span("render_prompt greet").attributes).toMatchObject({
      "toolweave.arguments": '{"name":"Ada"}',
      "toolweave.result": '{"messages":[{"role":"user","content":["hello"]}]}',
    });
    expect(recorded.span("read_resource").attributes["toolweave.result"]).toBe('{"token":"***"}');
  });
});

test("the propagator of the tests writes what it reads", () => {
  const carrier: Record<string, string> = {};
  const get = (from: Record<string, string>, key: string) => from[key];
  const extracted = w3cPropagator.extract(ROOT_CONTEXT, { ...farMeta }, { get: get as never, keys: Object.keys });
  w3cPropagator.inject(extracted, carrier, { set: (to, key, value) => Object.assign(to, { [key]: value }) });
  expect(carrier).toEqual({ traceparent: farMeta.traceparent, tracestate: "rojo=1" });
});
