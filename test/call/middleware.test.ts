import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Prompt, RenderedPrompt, Tool } from "../../src/core/item.ts";
import type { Call, Middleware } from "../../src/core/middleware.ts";
import { defineTool } from "../../src/core/tool.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { settle, virtualClock } from "../../src/testing/virtual-clock.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { verifies } from "../support/verifies.ts";

function counting(
  use: readonly Middleware[],
  input: Tool["input"] = { type: "object", properties: { n: { type: "number" } } },
) {
  const seen: unknown[] = [];
  const count: Tool = {
    kind: "tool",
    name: "count",
    input,
    run: (given) => {
      seen.push(given);
      return { ran: seen.length };
    },
  };
  return { seen, toolkit: new Toolkit({ items: [count], use }) };
}

verifies("C2", "the user's steps stand behind validation and before the run, the first outermost", async () => {
  const order: string[] = [];
  const step =
    (name: string): Middleware =>
    async (call, next) => {
      order.push(`${name} in`);
      const content = await next(call);
      order.push(`${name} out`);
      return content;
    };
  const { seen, toolkit } = counting([step("a"), step("b")]);
  await toolkit.call("count", { n: 1 });
  expect(order).toEqual(["a in", "b in", "b out", "a out"]);
  await expect(toolkit.call("count", { n: "x" })).rejects.toMatchObject({ code: "INVALID_INPUT" });
  expect(order).toHaveLength(4);
  expect(seen).toEqual([{ n: 1 }]);
});

verifies("C2", "a changed input is validated again, by every kind of schema", async () => {
  const change: Middleware = (call, next) =>
    call.verb === "read"
      ? next(call)
      : next(call.with({ input: { n: (call.input as { n: unknown }).n === 1 ? "bad" : 7 } }));
  const { seen, toolkit } = counting([change, (call, next) => next(call)]);
  await expect(toolkit.call("count", { n: 1 })).rejects.toMatchObject({
    code: "INVALID_INPUT",
    phase: "validate",
    ref: "builtin.count",
  });
  await toolkit.call("count", { n: 2 });
  expect(seen).toEqual([{ n: 7 }]);
  const typed = counting(
    [(call, next) => (call.verb === "read" ? next(call) : next(call.with({ input: { n: "5" } })))],
    z.object({ n: z.string().transform(Number) }),
  );
  await typed.toolkit.call("count", { n: "1" });
  expect(typed.seen).toEqual([{ n: 5 }]);
});

verifies("C2", "middleware may answer itself, or run the rest twice", async () => {
  const answer = counting([async () => resource.text("answer", "mine")]);
  expect(await (await answer.toolkit.call("count")).text()).toBe("mine");
  expect(answer.seen).toEqual([]);
  const twice = counting([
    async (call, next) => {
      await next(call);
      return next(call);
    },
  ]);
  expect(await (await twice.toolkit.call("count")).json()).toEqual({ ran: 2 });
});

verifies("C12", "what middleware throws or gives wrongly is an error of the call", async () => {
  const boom = new Error("boom");
  const throwing: Middleware[] = [
    () => {
      throw boom;
    },
    async () => {
      throw boom;
    },
    async (call, next) => {
      await next(call);
      throw boom;
    },
  ];
  for (const middleware of throwing) {
    await expect(counting([middleware]).toolkit.call("count")).rejects.toMatchObject({
      code: "TOOL_FAILED",
      ref: "builtin.count",
      cause: boom,
    });
  }
  for (const given of [undefined, null, "text", { a: 1 }]) {
    for (const middleware of [() => given, async () => given]) {
      await expect(counting([middleware as never]).toolkit.call("count")).rejects.toMatchObject({
        code: "INVALID_OUTPUT",
        ref: "builtin.count",
        message: expect.stringContaining("middleware"),
      });
    }
  }
  await expect(counting([(call, next) => next({ ...call } as never)]).toolkit.call("count")).rejects.toMatchObject({
    code: "TOOL_FAILED",
    message: expect.stringContaining("next() takes the call of the middleware"),
  });
  // The error of the call itself goes through as it is.
  const failing: Tool = {
    kind: "tool",
    name: "failing",
    run: () => {
      throw boom;
    },
  };
  const through = new Toolkit({ items: [failing], use: [(call, next) => next(call)] });
  await expect(through.call("failing")).rejects.toMatchObject({ code: "TOOL_FAILED", cause: boom, phase: "execute" });
});

verifies("C6", "an abort is heard while middleware goes on after the run, and nothing runs after it", async () => {
  const late = counting([
    async (call, next) => {
      await next(call);
      return new Promise<never>(() => {});
    },
  ]);
  const controller = new AbortController();
  const result = late.toolkit.call("count", {}, { signal: controller.signal });
  await settle();
  controller.abort("why");
  await expect(result).rejects.toBe("why");

  const { promise, resolve } = Promise.withResolvers<void>();
  const before = counting([
    async (call, next) => {
      await promise;
      return next(call);
    },
  ]);
  const other = new AbortController();
  const waiting = before.toolkit.call("count", {}, { signal: other.signal });
  await settle();
  other.abort("why");
  await expect(waiting).rejects.toBe("why");
  resolve();
  await settle();
  expect(before.seen).toEqual([]);
});

verifies("C7", "the time middleware takes is no attempt's; the caller's limit binds it all", async () => {
  const clock = virtualClock();
  const slow: Middleware = async (call, next) => {
    await new Promise<void>((resolve) => void clock.setTimer(resolve, 100_000));
    return next(call);
  };
  const toolkit = new Toolkit({ clock, use: [slow], items: [{ kind: "tool", name: "t", run: async () => "done" }] });
  const patient = toolkit.call("t").then((content) => content.text());
  const hasty = toolkit.call("t", {}, { timeoutMs: 50_000 }).catch((error) => error);
  await clock.advance(100_000);
  expect(await patient).toBe("done");
  expect(await hasty).toMatchObject({
    code: "TIMEOUT",
    details: { limit: "call", limitMs: 50_000, elapsedMs: 50_000 },
  });
});

test("a prompt goes through middleware as a tool does, its answer from the delegate", async () => {
  const refs: string[] = [];
  const toolkit = new Toolkit({
    use: [
      (call, next) => {
        refs.push(call.entry.ref);
        return next(call);
      },
    ],
    delegate: [
      {},
      { runPrompt: async () => undefined },
      { runPrompt: async (_, input) => resource.json("answer", input) },
    ],
    items: [{ kind: "prompt", name: "p", render: async () => ({ messages: [] }) }],
  });
  expect(await (await toolkit.call("p", { a: 1 })).json()).toEqual({ a: 1 });
  expect(refs).toEqual(["builtin.p"]);
});

verifies(
  "C12",
  "a prompt without a delegate says how to get one; what a delegate throws fails that call alone",
  async () => {
    const plan = { kind: "prompt", name: "plan", render: async () => ({ messages: [] }) } as const;
    await expect(new Toolkit({ items: [plan] }).call("plan")).rejects.toMatchObject({
      code: "NO_DELEGATE",
      ref: "builtin.plan",
      details: { prompt: "builtin.plan" },
    });
    const boom = new Error("boom");
    const runPrompt = () => {
      throw boom;
    };
    await expect(new Toolkit({ items: [plan], delegate: { runPrompt } }).call("plan")).rejects.toMatchObject({
      code: "TOOL_FAILED",
      cause: boom,
    });
  },
);

describe("reads and renders", () => {
  const plan: Prompt = {
    kind: "prompt",
    name: "plan",
    input: { type: "object", properties: { n: { type: "number" } } },
    render: async (input) => ({ messages: [{ role: "user", content: [resource.json("input", input)] }] }),
  };
  const items = [plan, resource.text("note", "hi"), defineTool({ name: "count", run: () => 1 })];

  verifies(["C2", "K3"], "go through the user's steps, and a subscription does not", async () => {
    const seen: string[] = [];
    const toolkit = new Toolkit({
      items,
      use: [
        async (call, next) => {
          const answer = await next(call);
          seen.push(`${call.verb} ${call.entry.ref} ${call.context.depth} ${"messages" in answer}`);
          return answer;
        },
      ],
    });
    await toolkit.call("count");
    await toolkit.render("plan", { n: 1 });
    await toolkit.read("text:note");
    await (await toolkit.subscribe("text:note"))();
    expect(seen).toEqual([
      "call builtin.count 0 false",
      "render builtin.plan 0 true",
      "read text:note#builtin 0 false",
    ]);
  });

  verifies("C2", "may be answered in place, in the form of the verb and no other", async () => {
    const rendered: RenderedPrompt = { messages: [{ role: "user", content: [resource.text("q", "Mine.")] }] };
    const mine: Middleware = async ({ verb }) => (verb === "render" ? rendered : resource.text("answer", "Mine."));
    const toolkit = new Toolkit({ items, use: [mine] });
    expect(await toolkit.render("plan")).toEqual(rendered);
    expect(await (await toolkit.read("text:note")).text()).toBe("Mine.");
    const wrong: Middleware = async ({ verb }) => (verb === "render" ? resource.text("answer", "Mine.") : rendered);
    const broken = new Toolkit({ items, use: [wrong] });
    for (const answer of [broken.render("plan"), broken.read("text:note"), broken.call("count")])
      await expect(answer).rejects.toMatchObject({ code: "INVALID_OUTPUT", message: /middleware gave/ });
  });

  verifies("C2", "a changed input of a render is validated again", async () => {
    const change: Middleware = (call, next) =>
      next(
        call.verb === "render" ? call.with({ input: { n: (call.input as { n: number }).n === 1 ? "bad" : 7 } }) : call,
      );
    const toolkit = new Toolkit({ items, use: [change] });
    const { messages } = await toolkit.render("plan", { n: 2 });
    expect(await messages[0]?.content[0]?.json()).toEqual({ n: 7 });
    await expect(toolkit.render("plan", { n: 1 })).rejects.toMatchObject({
      code: "INVALID_INPUT",
      ref: "builtin.plan",
    });
  });

  verifies("C6", "end with their caller, whatever the user's steps do", async () => {
    const controller = new AbortController();
    const toolkit = new Toolkit({ items, use: [() => new Promise<never>(() => {})] });
    const { signal } = controller;
    const answers = [toolkit.read("text:note", { signal }), toolkit.render("plan", {}, { signal })];
    const ended = Promise.allSettled(answers);
    controller.abort("enough");
    expect((await ended).map((each) => (each as PromiseRejectedResult).reason)).toEqual(["enough", "enough"]);
  });
});

describe("what middleware may get wrong", () => {
  verifies("C2", "the call of another is not gone on with", async () => {
    let kept: Call | undefined;
    const toolkit = new Toolkit({
      items: [defineTool({ name: "a", run: () => "a" }), defineTool({ name: "b", run: () => "b" })],
      use: [
        (call, next) => {
          kept ??= call;
          return next(kept);
        },
      ],
    });
    expect(await (await toolkit.call("a")).text()).toBe("a");
    for (const name of ["a", "b"])
      await expect(toolkit.call(name)).rejects.toMatchObject({
        code: "TOOL_FAILED",
        message: /the call you were given/,
      });
  });

  verifies("C12", "an answer of next that is left alone fails for nothing but itself", async () => {
    const failing = defineTool({ name: "failing", run: () => Promise.reject(new Error("unheard")) });
    const use: Middleware = async (call, next) => {
      void next(call);
      void next(call);
      return resource.text("answer", "anyway");
    };
    const toolkit = new Toolkit({ items: [failing], use: [use] });
    expect(await (await toolkit.call("failing")).text()).toBe("anyway");
    await settle();
    await toolkit.close();
  });

  verifies(
    ["C2", "C12"],
    "next after the end runs the rest again, for nobody's answer, and ends with the toolkit",
    async () => {
      const late: (() => Promise<unknown>)[] = [];
      const signals: AbortSignal[] = [];
      const tool = defineTool({
        name: "t",
        run: (_input, { signal }) => {
          signals.push(signal);
          return signals.length === 1 ? "first" : new Promise<never>(() => {});
        },
      });
      const use: Middleware = (call, next) => {
        late.push(() => next(call));
        return next(call);
      };
      const toolkit = new Toolkit({ items: [tool], use: [use] });
      expect(await (await toolkit.call("t")).text()).toBe("first");
      const again = late[0]?.().catch((error) => error);
      await settle();
      expect(signals).toHaveLength(2);
      await toolkit.close();
      expect(await again).toMatchObject({ code: "CLOSED" });
    },
  );
});
