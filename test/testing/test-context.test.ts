import { AsyncLocalStorage, createHook } from "node:async_hooks";
import { setImmediate as turn } from "node:timers/promises";
import { expect } from "vitest";
import { ToolkitError } from "../../src/core/error.ts";
import type { CallContext } from "../../src/core/item.ts";
import { defineTool } from "../../src/core/tool.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { testContext } from "../../src/testing/test-context.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure, rejection } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

const age = { type: "object", properties: { age: { type: "integer" } }, required: ["age"] };

verifies("C13", "a test context has what it is given, and else what a call from outside has", async () => {
  const attachments = [resource.text("note", "hi")];
  const toolbox = new Toolkit({ items: [defineTool({ name: "inner", run: () => "inner" })] });
  const session = { id: "s", meta: { a: 1 } };
  const given = testContext({ attachments, toolbox, session, meta: { b: 2 }, depth: 3 });
  expect([given.attachments, given.session, given.depth]).toEqual([attachments, session, 3]);
  expect(given.meta).toEqual({ a: 1, b: 2 });
  expect(given.toolbox).toBe(toolbox);
  const plain = testContext();
  expect([plain.attachments, plain.meta, plain.depth, plain.signal.aborted]).toEqual([[], undefined, 0, false]);
  expect(plain.session.id).not.toBe(testContext().session.id);
  expect((await plain.toolbox.list()).count).toBe(0);
  expect(testContext({ depth: 20 }).depth).toBe(20);
});

verifies("C13", "keeps what is reported and emitted", async () => {
  const context = testContext();
  expect(await context.progress(1, 2, "half")).toBe(true);
  expect(context.hasListener).toBe(true);
  const event = { type: "textDelta", run: "r", ref: "x", depth: 0, step: 0, delta: "a" } as never;
  await context.emit(event);
  expect(await context.derive({ meta: {} }).progress(2)).toBe(true);
  expect([context.reported, context.emitted]).toEqual([
    [{ progress: 1, total: 2, message: "half" }, { progress: 2 }],
    [event],
  ]);
});

verifies(
  ["C13", "C16"],
  "behaves as that of a service: what it calls is nested, ends with its signal and asks its session",
  async () => {
    const controller = new AbortController();
    const session = { id: "s", elicit: async () => ({ action: "accept", content: { age: 7 } }) as const };
    const context = testContext({ signal: controller.signal, session, depth: 1 });
    const inner = defineTool({ name: "inner", run: (_input, { depth, session: own }) => `${depth} ${own.id}` });
    const never = defineTool({ name: "never", run: () => new Promise<never>(() => {}) });
    expect(await (await context.toolbox.call(inner)).text()).toBe("2 s");
    expect(await context.elicit("Age?", age)).toEqual({ action: "accept", content: { age: 7 } });
    expect(await failure(context.sample({ messages: [], maxTokens: 1 }))).toMatchObject({ code: "NO_DELEGATE" });
    expect(() => context.pending({ reason: "review", message: "Look." })).toThrow(
      expect.objectContaining({ code: "PENDING" }),
    );
    expect(() => context.derive({ timeoutMs: 1 } as never)).toThrow(ToolkitError);
    const call = rejection(context.toolbox.call(never));
    controller.abort("enough");
    expect([await call, context.signal.reason]).toEqual(["enough", "enough"]);
  },
);

verifies("C13", "has a signal that has aborted already, where that is given", async () => {
  const context = testContext({ signal: AbortSignal.abort("before") });
  expect(context.signal.reason).toBe("before");
  expect(await rejection(context.toolbox.call(defineTool({ name: "t", run: () => 1 })))).toBe("before");
  expect(await context.progress(1)).toBe(false);
});

verifies("C15", "a tool in a test may be given a decorated one", async () => {
  const logged: string[] = [];
  const log = (message: string) => void logged.push(message);
  const tool = defineTool({
    name: "t",
    run: (_input, { logger, session, depth }: CallContext) => {
      logger.info("hello");
      return [session.id, depth];
    },
  });
  const context = testContext({ logger: { debug: log, info: log, warn: log, error: log } });
  const decorated = new Proxy(context, {
    get: (target, key, receiver) => (key === "session" ? { id: "mine" } : Reflect.get(target, key, receiver)),
  });
  expect(await tool.run({}, decorated)).toEqual(["mine", 0]);
  expect(logged).toEqual(["hello"]);
});

verifies("C13", "leaves no timer behind that would keep the process alive", async () => {
  // Only the timers that begin here are counted: the test runner has its own.
  const here = new AsyncLocalStorage<true>();
  const timers: NodeJS.Timeout[] = [];
  const hook = createHook({
    init: (_id, type, _trigger, resource) => {
      if (type === "Timeout" && here.getStore() === true) timers.push(resource as NodeJS.Timeout);
    },
  }).enable();
  try {
    await here.run(true, async () => {
      testContext();
      testContext({ depth: 2 });
      // The limits of a call begin in the turn after it.
      await turn();
      await turn();
    });
  } finally {
    hook.disable();
  }
  expect(timers.filter((timer) => timer.hasRef())).toEqual([]);
});
