import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import type { CallContext, ContextOverrides } from "../../src/core/item.ts";
import type { CallOptions, CallReport, Progress, Session } from "../../src/core/session.ts";
import { defineTool } from "../../src/core/tool.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { settle, virtualClock } from "../../src/testing/virtual-clock.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure, rejection } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

const age = { type: "object", properties: { age: { type: "integer" } }, required: ["age"] };

/** Runs something in the context of a call. */
async function inCall<T>(
  run: (context: CallContext, toolkit: Toolkit) => T | Promise<T>,
  options: CallOptions = {},
  toolkit = new Toolkit(),
): Promise<T> {
  const results: T[] = [];
  const tool = defineTool({
    name: "outer",
    run: async (_input, context) => void results.push(await run(context, toolkit)),
  });
  toolkit.add(tool);
  await toolkit.call(tool, {}, options);
  toolkit.remove("outer");
  return results[0] as T;
}

/** Says by which call it was called. */
const inner = () =>
  defineTool({
    name: "inner",
    run: (_input, { session, meta, depth, attachments }) => ({
      id: session.id,
      meta,
      depth,
      attached: attachments.length,
    }),
  });

describe("context.derive", () => {
  const session = (id: string, fields: Partial<Session> = {}): Session => ({ id, ...fields });

  verifies("C16", "replaces the parts it names, and no others", async () => {
    const attachment = resource.text("note", "hi");
    await inCall(
      (context) => {
        const own = context.derive({ attachments: [attachment], meta: { b: 2 } });
        expect([own.attachments, own.meta]).toEqual([[attachment], { a: 1, b: 2 }]);
        expect([own.session, own.signal, own.depth]).toEqual([context.session, context.signal, 0]);
        expect([context.attachments, context.meta]).toEqual([[], { a: 1, c: 3 }]);
        const again = own.derive({ session: session("two") });
        expect([again.attachments, again.meta, again.session.id]).toEqual([[attachment], { b: 2 }, "two"]);
        expect(context.derive({ session: undefined, meta: undefined }).meta).toEqual({ a: 1, c: 3 });
      },
      { session: session("one", { meta: { a: 1 } }), meta: { c: 3 } },
    );
  });

  verifies("C16", "its toolbox calls with them, one deeper, however often it was derived", async () => {
    const toolkit = new Toolkit({ items: [inner()] });
    await inCall(
      async (context) => {
        const seen = async (own: CallContext) => (await own.toolbox.call("inner")).json();
        const two = context.derive({ session: session("two", { meta: { x: 1 } }) });
        expect(await seen(context)).toEqual({ id: "one", depth: 1, attached: 0 });
        expect(await seen(two)).toEqual({ id: "two", meta: { x: 1 }, depth: 1, attached: 0 });
        expect(await seen(two.derive({}).derive({ meta: { y: 1 } }))).toMatchObject({
          id: "two",
          meta: { x: 1, y: 1 },
          depth: 1,
        });
        expect(await seen(two.derive({ session: session("three") }))).toEqual({ id: "three", depth: 1, attached: 0 });
        const passing = context.derive({ meta: { y: 1, z: 1 } });
        const answer = await passing.toolbox.call("inner", {}, { meta: { z: 2 } });
        expect(await answer.json()).toMatchObject({ id: "one", meta: { y: 1, z: 2 } });
      },
      { session: session("one") },
      toolkit,
    );
  });

  verifies("C16", "a session that is given is the one that is asked, and the one that logs", async () => {
    const logged: unknown[] = [];
    const asked = (years: number, model: string): Partial<Session> => ({
      elicit: async () => ({ action: "accept", content: { age: years } }),
      sample: async () => ({ role: "assistant", content: { type: "text", text: "Hi" }, model }),
      log: ({ data }) => void logged.push([model, data]),
    });
    await inCall(
      async (context) => {
        const other = context.derive({ session: session("two", asked(2, "b")) });
        expect(await other.elicit("Age?", age)).toMatchObject({ content: { age: 2 } });
        expect(await other.sample({ messages: [], maxTokens: 1 })).toMatchObject({ model: "b" });
        other.logger.info("hello");
        expect(await context.elicit("Age?", age)).toMatchObject({ content: { age: 1 } });
        context.logger.warn("bye");
      },
      { session: session("one", asked(1, "a")) },
    );
    expect(logged).toEqual([
      ["b", "hello"],
      ["a", "bye"],
    ]);
  });

  verifies("C16", "a logger that is given logs in place of the toolkit's, and the session still hears it", async () => {
    const lines: string[] = [];
    const to = (name: string) => {
      const log = (message: string) => void lines.push(`${name} ${message}`);
      return { debug: log, info: log, warn: log, error: log };
    };
    await inCall(
      (context) => {
        const own = context.derive({ logger: to("own") });
        own.logger.info("a");
        own.derive({}).logger.info("b");
        context.logger.info("c");
        const broken = () => {
          throw new Error("no disk");
        };
        context.derive({ logger: { debug: broken, info: broken, warn: broken, error: broken } }).logger.info("d");
      },
      { session: session("one", { log: ({ data }) => void lines.push(`session ${data}`) }) },
      new Toolkit({ logger: to("toolkit") }),
    );
    expect(lines).toEqual(["own a", "session a", "own b", "session b", "toolkit c", "session c", "session d"]);
  });

  verifies("C16", "progress and events go to the listeners that are given, else to the caller's", async () => {
    const heard: string[] = [];
    const listening = (name: string) => ({
      onProgress: ({ progress }: Progress) => void heard.push(`${name} ${progress}`),
      onEvent: ({ type }: { readonly type: string }) => void heard.push(`${name} ${type}`),
    });
    await inCall(async (context) => {
      const own = context.derive(listening("own"));
      const event = { type: "textDelta", run: "r", ref: "x", depth: 0, delta: "a", step: 0 } as never;
      expect([context.hasListener, own.hasListener]).toEqual([true, true]);
      expect(await own.progress(1)).toBe(true);
      await own.emit(event);
      const further = context.derive({ meta: {} });
      expect(await further.progress(2)).toBe(true);
      await further.emit(event);
      expect(await own.derive({}).progress(3)).toBe(true);
      const failing = context.derive({
        onProgress: () => {
          throw new Error("deaf");
        },
      });
      expect(await failing.progress(4)).toBe(false);
    }, listening("caller"));
    expect(heard).toEqual(["own 1", "own textDelta", "caller 2", "caller textDelta", "own 3"]);
  });

  verifies(["C16", "C6"], "a signal that is given ends what goes through it, and no more", async () => {
    const never = defineTool({ name: "never", run: () => new Promise<never>(() => {}) });
    const controller = new AbortController();
    await inCall(
      async (context) => {
        const own = context.derive({ signal: controller.signal });
        const doubly = own.derive({ signal: new AbortController().signal });
        const calls = [own.toolbox.call("never"), doubly.toolbox.call("never")].map(rejection);
        const asked = rejection(own.elicit("Age?", age));
        const other = context.toolbox.call("inner");
        controller.abort("enough");
        expect(await Promise.all(calls)).toEqual(["enough", "enough"]);
        expect(await asked).toBe("enough");
        expect([own.signal.reason, doubly.signal.reason, context.signal.aborted]).toEqual(["enough", "enough", false]);
        await expect(own.toolbox.call("inner")).rejects.toBe("enough");
        await expect(own.toolbox.read("text:x")).rejects.toBe("enough");
        expect(await own.progress(1)).toBe(false);
        await other;
      },
      { session: session("s", { elicit: () => new Promise(() => {}) }), onProgress: () => {} },
      new Toolkit({ items: [never, inner()] }),
    );
  });

  verifies(["C16", "C6"], "the call's own signal ends it too", async () => {
    const controller = new AbortController();
    const signals: AbortSignal[] = [];
    const nested: Promise<unknown>[] = [];
    const never = defineTool({ name: "never", run: () => new Promise<never>(() => {}) });
    const run = inCall(
      (context) => {
        const own = context.derive({ signal: new AbortController().signal });
        signals.push(own.signal);
        nested.push(rejection(own.toolbox.call("never")));
        return new Promise(() => {});
      },
      { signal: controller.signal },
      new Toolkit({ items: [never] }),
    );
    await settle();
    controller.abort("gone");
    expect(await rejection(run)).toBe("gone");
    expect([signals[0]?.reason, await nested[0]]).toEqual(["gone", "gone"]);
  });

  verifies(["C16", "H3"], "a call that it ends pending is that of the session that was given", async () => {
    const wait = defineTool({
      name: "wait",
      run: (_input, context) =>
        context
          .derive({ session: session("two", { principal: "bo" }) })
          .derive({})
          .pending({ reason: "review", message: "Look." }),
    });
    await using toolkit = new Toolkit({ items: [wait] });
    const call = toolkit.call("wait", { a: 1 }, { session: session("one", { principal: "ada" }) });
    expect(await failure(call)).toMatchObject({ code: "PENDING", details: { arguments: { a: 1 } } });
    expect(await toolkit.approvals.list()).toMatchObject([{ session: { id: "two", principal: "bo" } }]);
  });

  verifies("C16", "a toolbox that is given is given out, also further on", async () => {
    const other = new Toolkit();
    await inCall((context) => {
      const own = context.derive({ toolbox: other });
      expect(own.toolbox).toBe(other);
      expect(own.derive({ meta: {} }).toolbox).toBe(other);
    });
  });
});

describe("what is derived never widens", () => {
  const secret = defineTool({ name: "secret", run: () => "hidden" });

  verifies(["C16", "T1"], "the view of the call: nothing that is hidden there is found through it", async () => {
    const outcomes: unknown[] = [];
    const outer = defineTool({
      name: "outer",
      async run(_input, context) {
        const own = context.derive({ session: { id: "other", principal: "root" } }).derive({ meta: { a: 1 } });
        outcomes.push(await failure(own.toolbox.call("secret")), await failure(own.toolbox.lookup("secret")));
        outcomes.push((await own.toolbox.list()).entries.map(({ name }) => name));
        const refused = async (overrides: ContextOverrides) => failure((async () => context.derive(overrides))());
        outcomes.push(await refused({ toolbox: toolkit }), await refused({ toolbox: { ...toolkit } as never }));
        // Its own may be passed on.
        outcomes.push(await failure(own.derive({ toolbox: context.toolbox }).toolbox.call("secret")));
      },
    });
    const toolkit: Toolkit = new Toolkit({ items: [outer, secret] });
    await toolkit.view({ exclude: ["*.secret"] }).call("outer");
    expect(outcomes).toMatchObject([
      { code: "NOT_FOUND" },
      { code: "NOT_FOUND" },
      ["outer"],
      { code: "DENIED", details: { rule: "view" } },
      { code: "DENIED", details: { rule: "view" } },
      { code: "NOT_FOUND" },
    ]);
    await toolkit.close();
  });

  verifies(["C16", "S3"], "the principal of a view", async () => {
    const sessions: Session[] = [];
    const outer = defineTool({
      name: "outer",
      async run(_input, context) {
        const anonymous = context.derive({ session: { id: "x" } });
        sessions.push(context.session, anonymous.session);
        await anonymous.toolbox.call("inner");
        return (await failure((async () => context.derive({ session: { id: "y", principal: "bo" } }))())).toJSON();
      },
    });
    const toolkit = new Toolkit({ items: [outer, inner()] });
    const refused = (await (await toolkit.view({ principal: "ada" }).call("outer")).json()) as object;
    expect(refused).toMatchObject({ code: "DENIED", details: { rule: "principal" } });
    expect(sessions.map(({ principal }) => principal)).toEqual(["ada", "ada"]);
    expect(sessions[1]?.id).toBe("x");
    await toolkit.close();
  });

  verifies(["C16", "C7"], "the deadline: it goes on, and signs of life count for the call", async () => {
    const clock = virtualClock();
    const beat = (ms: number) => new Promise<void>((resolve) => void clock.setTimer(resolve, ms));
    const outer = defineTool({
      name: "outer",
      options: { timeoutMs: 100 },
      async run(_input, context) {
        const own = context.derive({ signal: new AbortController().signal });
        for (let time = 0; time < 5; time += 1) {
          await beat(80);
          await own.progress(time);
        }
        return "done";
      },
    });
    const silent = defineTool({
      name: "silent",
      options: { timeoutMs: 100 },
      run: (_input, context) => {
        signals.push(context.derive({ signal: new AbortController().signal }).signal);
        return new Promise<never>(() => {});
      },
    });
    const signals: AbortSignal[] = [];
    const toolkit = new Toolkit({ items: [outer, silent], clock });
    const answer = toolkit.call("outer");
    const late = failure(toolkit.call("silent", {}, { timeoutMs: 50 }));
    await clock.advance(400);
    expect(await (await answer).text()).toBe("done");
    expect(await late).toMatchObject({ code: "TIMEOUT", details: { limit: "call" } });
    expect(signals[0]?.reason).toBe(await late);
    await toolkit.close();
  });

  verifies(["C16", "C11"], "the depth", async () => {
    const loop = defineTool({
      name: "loop",
      run: (_input, context): Promise<unknown> => context.derive({ meta: {} }).derive({}).toolbox.call("loop"),
    });
    const error = await failure(new Toolkit({ items: [loop], maxDepth: 3 }).call("loop"));
    expect(error).toMatchObject({ code: "DEPTH_EXCEEDED", details: { chain: Array(5).fill("builtin.loop") } });
  });

  verifies(["C16", "C10"], "the places its call has", async () => {
    const toolkit = new Toolkit({ items: [inner()], settings: { "*": { maxConcurrent: 1 } } });
    const ids = await inCall(
      async (context) => (await context.derive({ meta: {} }).toolbox.call("inner")).json(),
      {},
      toolkit,
    );
    expect(ids).toMatchObject({ depth: 1 });
  });

  verifies("C16", "what it is given wrongly is refused", async () => {
    await inCall(async (context) => {
      const refused = async (overrides: unknown) =>
        failure((async () => context.derive(overrides as ContextOverrides))());
      expect(await refused({ timeoutMs: 1 })).toMatchObject({ code: "INVALID_CONFIG" });
      expect(await refused({ sesion: {} })).toMatchObject({
        code: "INVALID_CONFIG",
        message: expect.stringContaining("session"),
      });
      expect(await refused({ signal: {} })).toMatchObject({ code: "INVALID_INPUT" });
      expect(await refused(undefined)).toMatchObject({ code: "INVALID_CONFIG" });
    });
  });
});

describe("many calls and derived contexts", () => {
  verifies("C16", "10,000 calls at once that derive with one signal leave no listener on it", async () => {
    const { signal } = new AbortController();
    const gate = Promise.withResolvers<void>();
    let seen = 0;
    const outer = defineTool({
      name: "outer",
      async run(_input, context) {
        const own = context.derive({ signal }).derive({ signal, meta: { a: 1 } });
        await own.toolbox.call("wait");
        seen += 1;
      },
    });
    const wait = defineTool({ name: "wait", run: () => gate.promise });
    const toolkit = new Toolkit({ items: [outer, wait] });
    const calls = Array.from({ length: 10_000 }, () => toolkit.call("outer"));
    await settle();
    // The one of the toolkit, which is there for as long as the signal.
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    gate.resolve();
    await Promise.all(calls);
    expect([seen, getEventListeners(signal, "abort").length]).toEqual([10_000, 1]);
    await toolkit.close();
  });

  verifies("C16", "none is of another call", async () => {
    const outer = defineTool({
      name: "outer",
      async run({ n }: { n: number }, context) {
        await Promise.resolve();
        const own = context.derive({ meta: { n } });
        await new Promise((resolve) => setImmediate(resolve));
        const { meta, id } = (await (await own.toolbox.call("inner")).json()) as { meta: { n: number }; id: string };
        return id === `s${n}` && meta.n === n && context.session.id === id;
      },
    });
    const toolkit = new Toolkit({ items: [outer, inner()] });
    const calls = Array.from({ length: 500 }, (_, n) => toolkit.call("outer", { n }, { session: { id: `s${n}` } }));
    const right = await Promise.all((await Promise.all(calls)).map((answer) => answer.json()));
    expect(right.every(Boolean)).toBe(true);
    await toolkit.close();
  });

  test("a context that is used after its call has ended harms nothing", async () => {
    const kept: CallContext[] = [];
    const report: CallReport = {};
    const outer = defineTool({
      name: "outer",
      run: (_input, context) => void kept.push(context, context.derive({ signal: new AbortController().signal })),
    });
    const toolkit = new Toolkit({ items: [outer, inner()] });
    await toolkit.call("outer", {}, { report, session: { id: "s" } });
    for (const context of kept) {
      expect(await (await context.toolbox.call("inner")).json()).toMatchObject({ id: "s", depth: 1 });
      expect(await context.elicit("Age?", age)).toEqual({ action: "decline" });
      expect(await context.progress(1)).toBe(false);
      expect(context.derive({ meta: {} }).signal.aborted).toBe(false);
    }
    await toolkit.close();
    for (const context of kept) expect(await failure(context.toolbox.call("inner"))).toMatchObject({ code: "CLOSED" });
  });
});
