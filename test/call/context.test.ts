import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { describe, expect, test } from "vitest";
import { agent } from "../../src/agent/index.ts";
import type { Connector, ConnectorSession } from "../../src/core/connector.ts";
import type { CallContext, Prompt, Tool } from "../../src/core/item.ts";
import type { Middleware } from "../../src/core/middleware.ts";
import type { Resource } from "../../src/core/resource.ts";
import type { Progress, Session } from "../../src/core/session.ts";
import { defineTool } from "../../src/core/tool.ts";
import { inMemoryConnector } from "../../src/mcp/index.ts";
import { defineResource } from "../../src/resource/define.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { faultyServer } from "../../src/testing/faulty/server.ts";
import { scriptedModel } from "../../src/testing/scripted-model/scripted-model.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure, rejection } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

type Decorate = <C extends object>(context: C) => C;

const proxy: Decorate = (context) => new Proxy(context, {});
const heir: Decorate = (context) => Object.create(context);

/** As good as the context itself. */
const whole: readonly (readonly [name: string, decorate: Decorate])[] = [
  ["itself", (context) => context],
  ["a Proxy", proxy],
  ["an heir", heir],
  ["a Proxy of an heir of a Proxy", (context) => proxy(heir(proxy(context)))],
  ["one that was derived", (context) => derived(context)],
  ["one that was derived from a derived one", (context) => derived(derived(context))],
  ["a Proxy of a derived one", (context) => proxy(derived(proxy(context)))],
];

/** Copies that keep the link, and not the members. */
const linked: typeof whole = [
  ...whole,
  ["a spread", (context) => ({ ...context })],
  ["a spread of a Proxy of a derived one", (context) => ({ ...proxy(derived(context)) })],
];

function derived<C extends object>(context: C): C {
  return (context as C & CallContext).derive({ signal: new AbortController().signal }) as C & CallContext;
}

const age = { type: "object", properties: { age: { type: "integer" } }, required: ["age"] };

/** Answers for its age. */
function person(years: number): Session {
  return {
    id: `of ${years}`,
    elicit: async () => ({ action: "accept", content: { age: years } }),
  };
}

/** A server with a tool that reports, asks and waits, and a resource. */
function farServer() {
  const hanging = Promise.withResolvers<void>();
  const cancelled = Promise.withResolvers<void>();
  const server = faultyServer({
    name: "far",
    tools: {
      talk: {
        run: async (_input, { progress, request }) => {
          progress(1, 2, "half");
          return JSON.stringify(await request("elicitation/create", { message: "Age?", requestedSchema: age }));
        },
      },
      hang: {
        run: (_input, { signal }) =>
          new Promise((resolve) => {
            signal.addEventListener("abort", () => {
              cancelled.resolve();
              resolve("too late");
            });
            hanging.resolve();
          }),
      },
    },
  });
  return { server, hanging: hanging.promise, cancelled: cancelled.promise };
}

describe.each(whole)("a context as %s", (_name, decorate) => {
  verifies("C15", "has every member, and they are those of the call", async () => {
    const reports: Progress[] = [];
    const logged: unknown[] = [];
    const session: Session = { ...person(7), meta: { a: 1 }, log: (entry) => void logged.push(entry.data) };
    const inner = defineTool({ name: "inner", run: (_input, { depth, session: own }) => `${depth} ${own.id}` });
    const outer = defineTool({
      name: "outer",
      async run(_input, given) {
        const context = decorate(given);
        context.logger.info("hello");
        const delivered = await context.progress(1, 2, "half");
        const asked = await context.elicit("Age?", age);
        const text = await (await context.toolbox.call("inner")).text();
        const { depth, meta, attachments, hasListener, signal } = context;
        return [delivered, asked, text, depth, meta, attachments.length, hasListener, signal.aborted];
      },
    });
    const toolkit = new Toolkit({ items: [outer, inner] });
    const options = { session, meta: { b: 2 }, onProgress: (report: Progress) => void reports.push(report) };
    const answer = await toolkit.call("outer", {}, { ...options, attachments: [resource.text("t", "x")] });
    expect(await answer.json()).toEqual([
      true,
      { action: "accept", content: { age: 7 } },
      "1 of 7",
      0,
      { a: 1, b: 2 },
      1,
      false,
      false,
    ]);
    expect(reports).toEqual([{ progress: 1, total: 2, message: "half" }]);
    expect(logged).toEqual(["hello"]);
    await toolkit.close();
  });

  verifies(["C15", "H3"], "ends its call pending, once", async () => {
    const wait = defineTool({
      name: "wait",
      run: (_input, context) => decorate(context).pending({ reason: "review", message: "Look." }),
    });
    await using toolkit = new Toolkit({ items: [wait] });
    const error = await failure(toolkit.call("wait", { a: 1 }, { session: { id: "s", principal: "ada" } }));
    expect(error).toMatchObject({ code: "PENDING", ref: "builtin.wait", details: { arguments: { a: 1 } } });
    const [approval] = await toolkit.approvals.list();
    expect(approval).toMatchObject({ kind: "completion", reason: "review", session: { principal: "ada" } });
  });

  verifies("C15", "is passed on by middleware, to each attempt of the call", async () => {
    const signals: AbortSignal[] = [];
    const tool = defineTool({
      name: "flaky",
      options: { retry: { attempts: 2, baseMs: 1 }, timeoutMs: 1_000 },
      run: (_input, context) => {
        signals.push(context.signal);
        return signals.length === 1 ? new Promise<never>(() => {}) : `${context.depth} ${context.session.id}`;
      },
    });
    const use: Middleware = (call, next) => next(call.with({ context: decorate(call.context) }));
    const clock = virtualClock();
    const toolkit = new Toolkit({ items: [tool], use: [use], clock, random: () => 0 });
    const answer = toolkit.call("flaky", {}, { session: { id: "s" } });
    await clock.advance(1_000);
    await clock.advance(1_000);
    expect(await (await answer).text()).toBe("0 s");
    // That of the attempt that took too long, and not of the other.
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    await toolkit.close();
  });
});

describe.each(linked)("an MCP server is called in memory with %s", (_name, decorate) => {
  /** A tool that passes the call on to that of the server, in the context of its own call. */
  const passesOn = async (toolkit: Toolkit, name: string): Promise<Tool> => {
    const { item } = (await toolkit.lookup(`far.${name}`)) as { readonly item: Tool };
    return defineTool({ name: `my_${name}`, run: (input, context) => item.run(input, decorate(context)) });
  };

  verifies(["C15", "M10"], "its progress and its questions reach the right call", async () => {
    const { server } = farServer();
    await using toolkit = new Toolkit();
    toolkit.addConnector(server.connector(), { namespace: "far" });
    await toolkit.start();
    toolkit.add(await passesOn(toolkit, "talk"));
    const reports: string[] = [];
    const callAs = async (years: number) => {
      const onProgress = ({ message }: Progress) => void reports.push(`${years} ${message}`);
      return (await toolkit.call("my_talk", {}, { session: person(years), onProgress })).text();
    };
    for (const years of [30, 40])
      expect(JSON.parse(await callAs(years))).toEqual({ action: "accept", content: { age: years } });
    expect(reports).toEqual(["30 half", "40 half"]);
    await server[Symbol.asyncDispose]();
  });

  verifies(["C15", "C6"], "it is told when the caller gives up", async () => {
    const { server, hanging, cancelled } = farServer();
    await using toolkit = new Toolkit();
    toolkit.addConnector(server.connector(), { namespace: "far" });
    await toolkit.start();
    toolkit.add(await passesOn(toolkit, "hang"));
    const controller = new AbortController();
    const call = rejection(toolkit.call("my_hang", {}, { signal: controller.signal }));
    await hanging;
    controller.abort("enough");
    expect(await call).toBe("enough");
    await cancelled;
    await server[Symbol.asyncDispose]();
  });

  verifies("C15", "a connector that wraps another passes it on", async () => {
    const { server, hanging, cancelled } = farServer();
    const connector = server.connector();
    const wrapped: Connector = {
      label: connector.label,
      async connect(options) {
        const session = await connector.connect(options);
        return new Proxy(session, {
          get(target, key) {
            if (key !== "call") return Reflect.get(target, key, target);
            const call: ConnectorSession["call"] = (name, input, context) =>
              target.call(name, input, decorate(context));
            return call;
          },
        });
      },
    };
    await using toolkit = new Toolkit();
    toolkit.addConnector(wrapped, { namespace: "far" });
    await toolkit.start();
    const reports: Progress[] = [];
    const onProgress = (report: Progress) => void reports.push(report);
    const content = await toolkit.call("far.talk", {}, { session: person(50), onProgress });
    expect(JSON.parse(await content.text())).toMatchObject({ content: { age: 50 } });
    expect(reports).toHaveLength(1);
    const controller = new AbortController();
    const call = rejection(toolkit.call("far.hang", {}, { signal: controller.signal }));
    await hanging;
    controller.abort("enough");
    expect(await call).toBe("enough");
    await cancelled;
    await server[Symbol.asyncDispose]();
  });

  verifies(["C15", "K3"], "a resource that reads one of the server does so within its own read", async () => {
    const reading = Promise.withResolvers<void>();
    const cancelled = Promise.withResolvers<void>();
    const connector = inMemoryConnector((transport) => {
      const server = new McpServer({ name: "far", version: "1.0.0" });
      server.registerResource("memo", "memo://one", {}, ({ href: uri }) => ({ contents: [{ uri, text: "A memo." }] }));
      server.registerResource("slow", "memo://slow", {}, (_uri, { signal }) => {
        signal.addEventListener("abort", () => cancelled.resolve());
        reading.resolve();
        return new Promise(() => {});
      });
      return server.connect(transport);
    });
    await using toolkit = new Toolkit();
    toolkit.addConnector(connector, { namespace: "far" });
    await toolkit.start();
    const passedOn = async (name: string) => {
      const far = (await toolkit.lookup(`memo://${name}`)).item as Resource;
      return defineResource({ uri: `my://${name}`, name, bytes: (options) => far.bytes(decorate(options)) });
    };
    const resources = [await passedOn("one"), await passedOn("slow")];
    toolkit.addSource("my", { resource: () => resources });
    expect(await (await toolkit.read("my://one")).text()).toBe("A memo.");
    const controller = new AbortController();
    const read = rejection(toolkit.read("my://slow", { signal: controller.signal }));
    await reading.promise;
    controller.abort("enough");
    expect(await read).toBe("enough");
    await cancelled.promise;
  });

  verifies(["C15", "A1"], "a delegate hands it to an agent, which sees no more than the view of the call", async () => {
    const model = scriptedModel([{ toolCalls: [{ name: "seen", input: {} }] }, { text: "done" }]);
    const assistant = agent({ defaultModel: model });
    const calls: string[] = [];
    const noting = (name: string) =>
      defineTool({ name, run: (_input, { depth, session }) => void calls.push(`${name} ${depth} ${session.id}`) });
    const prompt: Prompt = {
      kind: "prompt",
      name: "ask",
      tools: ["*"],
      render: async () => ({ messages: [{ role: "user", content: [resource.text("q", "Go.")] }] }),
    };
    await using toolkit = new Toolkit({
      items: [prompt, noting("seen"), noting("hidden")],
      delegate: { runPrompt: (entry, input, context) => assistant.runPrompt(entry, input, decorate(context)) },
    });
    const view = toolkit.view({ exclude: ["*.hidden"] });
    const answer = await view.call("ask", {}, { session: { id: "s" } });
    expect(await answer.text()).toBe("done");
    expect(calls).toEqual(["seen 1 s"]);
    const offered = model.requests[0]?.tools?.map(({ name }) => name);
    expect(offered).toContain("seen");
    expect(offered).not.toContain("hidden");
  });
});

test("a context of another call is refused by middleware, and one that is none", async () => {
  let kept: CallContext | undefined;
  const use: Middleware = (call, next) => {
    kept ??= call.context;
    return next(call.with({ context: call.entry.ref.endsWith("two") ? ({} as CallContext) : kept }));
  };
  const toolkit = new Toolkit({
    items: [defineTool({ name: "one", run: () => 1 }), defineTool({ name: "two", run: () => 2 })],
    use: [use],
  });
  await toolkit.call("one");
  for (const name of ["one", "two"])
    expect(await failure(toolkit.call(name))).toMatchObject({
      code: "TOOL_FAILED",
      message: expect.stringContaining("of another call"),
    });
});

verifies(["C15", "C12"], "a Proxy that is revoked meanwhile fails what looks at it, and no other call", async () => {
  const { server, hanging } = farServer();
  const logged: unknown[] = [];
  await using toolkit = new Toolkit();
  toolkit.addConnector(server.connector(), { namespace: "far" });
  await toolkit.start();
  const { item } = (await toolkit.lookup("far.hang")) as { readonly item: Tool };
  const revoked = Promise.withResolvers<() => void>();
  const passing = defineTool({
    name: "passing",
    run: (input, context) => {
      const { proxy: passed, revoke } = Proxy.revocable(context, {});
      revoked.resolve(revoke);
      return item.run(input, passed);
    },
  });
  const late = defineTool({
    name: "late",
    run: (input, context) => {
      const { proxy: passed, revoke } = Proxy.revocable(context, {});
      revoke();
      return item.run(input, passed);
    },
  });
  toolkit.add(passing, late);
  const controller = new AbortController();
  const one = rejection(toolkit.call("passing", {}, { signal: controller.signal, session: person(1) }));
  await hanging;
  (await revoked.promise)();
  expect(await failure(toolkit.call("late"))).toMatchObject({ code: "TOOL_FAILED", cause: expect.any(TypeError) });
  // A question that may be of either call, and a log entry for both, look at all calls in flight.
  const session: Session = { ...person(2), log: (entry) => void logged.push(entry.data) };
  expect(JSON.parse(await (await toolkit.call("far.talk", {}, { session })).text())).toMatchObject({
    action: /accept|decline/,
  });
  controller.abort("enough");
  expect(await one).toBe("enough");
  await server[Symbol.asyncDispose]();
});
