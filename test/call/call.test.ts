import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { CallContext, Entry, Prompt, Tool } from "../../src/core/item.ts";
import type { Content, ReadOptions, Resource } from "../../src/core/resource.ts";
import { defineTool } from "../../src/core/tool.ts";
import { defineResource } from "../../src/resource/define.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { settle, type VirtualClock, virtualClock } from "../../src/testing/virtual-clock.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { rejection } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

const tool = (name: string, run: Tool["run"], fields: Partial<Tool> = {}): Tool => ({
  kind: "tool",
  name,
  run,
  ...fields,
});
const echo = tool("echo", (input) => input);
const never = () => new Promise<never>(() => {});

describe("targets and input", () => {
  verifies("C1", "a key, an entry and a registered object are the same tool; another object runs inline", async () => {
    const toolkit = new Toolkit({ items: [echo] });
    const started: string[] = [];
    toolkit.on("callStarted", ({ ref }) => started.push(ref));
    const entry = (await toolkit.lookup("echo")) as Entry<"tool">;
    for (const target of ["echo", "builtin.echo", entry, echo]) {
      expect(await (await toolkit.call(target as string, { a: 1 })).json()).toEqual({ a: 1 });
    }
    const other = tool("echo", () => "other");
    expect(await (await toolkit.call(other, {})).text()).toBe("other");
    await settle();
    expect(started).toEqual(["builtin.echo", "builtin.echo", "builtin.echo", "builtin.echo", "inline.echo"]);
  });

  verifies("C1", "a tool that was removed or replaced runs inline, never as its successor", async () => {
    const toolkit = new Toolkit({ items: [echo] });
    toolkit.remove("echo");
    expect(await (await toolkit.call(echo, { a: 1 })).json()).toEqual({ a: 1 });
    toolkit.add(tool("echo", () => "successor"));
    expect(await (await toolkit.call(echo, { a: 1 })).json()).toEqual({ a: 1 });
    expect(await (await toolkit.call("echo")).text()).toBe("successor");
  });

  verifies("C1", "an entry that was kept finds what is there now under its ref, else NOT_FOUND", async () => {
    const toolkit = new Toolkit({ items: [echo, resource.withUri(resource.text("a", "one"), "doc:a")] });
    const entry = (await toolkit.lookup("echo")) as Entry<"tool">;
    const note = (await toolkit.lookup("doc:a")) as Entry<"resource">;
    toolkit.add(resource.withUri(resource.text("a", "two"), "doc:a"));
    expect(await (await toolkit.read(note)).text()).toBe("two");
    toolkit.remove("echo");
    await expect(toolkit.call(entry)).rejects.toMatchObject({
      code: "NOT_FOUND",
      ref: "builtin.echo",
      phase: "resolve",
    });
    toolkit.add(tool("echo", () => "new"));
    expect(await (await toolkit.call(entry)).text()).toBe("new");
  });

  verifies("C1", "a resource as input is its value, or its string; what is left out is {}", async () => {
    const toolkit = new Toolkit({ items: [echo] });
    const given = async (input?: unknown) => (await toolkit.call("echo", input)).json();
    expect(await given(resource.json("input", { a: 1 }))).toEqual({ a: 1 });
    expect(await given()).toEqual({});
    const handle = defineResource({
      uri: "doc:in",
      name: "in",
      mediaType: "application/json",
      bytes: async () => '{"b":2}',
    });
    expect(await given(handle)).toEqual({ b: 2 });
    const broken = defineResource({
      uri: "doc:bad",
      name: "bad",
      mediaType: "application/json",
      bytes: async () => "{",
    });
    await expect(toolkit.call("echo", broken)).rejects.toMatchObject({
      code: "INVALID_INPUT",
      ref: "builtin.echo",
      phase: "validate",
    });
    const said: unknown[] = [];
    const listener: Prompt = {
      kind: "prompt",
      name: "listener",
      render: async (input) => {
        said.push(input);
        return { messages: [] };
      },
    };
    await toolkit.render(listener, resource.text("input", "hello"));
    expect(said).toEqual(["hello"]);
  });

  verifies("C1", "what is called, read or rendered the wrong way says the right one", async () => {
    const note = resource.text("note", "hi");
    const plan: Prompt = { kind: "prompt", name: "plan", render: async () => ({ messages: [] }) };
    const toolkit = new Toolkit({ items: [echo, note, plan] });
    for (const target of ["text:note", note, await toolkit.lookup("text:note")]) {
      await expect(toolkit.call(target as never)).rejects.toMatchObject({
        code: "INVALID_INPUT",
        message: expect.stringMatching(/read/),
      });
    }
    await expect(toolkit.read("echo")).rejects.toMatchObject({
      message: expect.stringMatching(/call it instead of reading/),
    });
    await expect(toolkit.render("echo")).rejects.toMatchObject({
      message: expect.stringMatching(/call it instead of rendering/),
    });
    await expect(toolkit.render(echo as never)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await expect(toolkit.read("missing:x")).rejects.toMatchObject({
      code: "NOT_FOUND",
      ref: "missing:x",
      phase: "resolve",
    });
    const entry = await toolkit.lookup("echo");
    for (const target of [undefined, null, 7, {}, [], { ...entry }, { item: 1, ref: 2 }]) {
      await expect(toolkit.call(target as never)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    }
  });

  verifies("C14", "attachments reach run unchanged and in order", async () => {
    const attachments = [resource.text("b", "2"), resource.text("a", "1")];
    const seen: unknown[] = [];
    const toolkit = new Toolkit({ items: [tool("t", (_, context) => void seen.push(context.attachments))] });
    await toolkit.call("t", {}, { attachments });
    await toolkit.call("t");
    expect(seen[0]).toBe(attachments);
    expect(seen[1]).toEqual([]);
  });
});

describe("results", () => {
  const result = async (run: Tool["run"], fields: Partial<Tool> = {}) => new Toolkit().call(tool("t", run, fields));

  verifies("C3", "run may give nothing, text, bytes, a resource, JSON, parts, or a promise of these", async () => {
    for (const wrap of [(value: unknown) => value, async (value: unknown) => value]) {
      expect(await result(() => wrap(undefined))).toMatchObject({ size: 0 });
      expect(await (await result(() => wrap("hi"))).text()).toBe("hi");
      expect(await result(() => wrap(Buffer.from("%PDF-1.4\n%\n")))).toMatchObject({ mediaType: "application/pdf" });
      expect(await (await result(() => wrap(resource.text("n", "x")))).text()).toBe("x");
      expect(await (await result(() => wrap({ a: [1, null] }))).json()).toEqual({ a: [1, null] });
      expect(await (await result(() => wrap(null))).json()).toBeNull();
    }
    // biome-ignore lint/suspicious/noThenProperty: a promise whose then gives nothing
    const foreign = { then: (resolve: (value: string) => void) => void resolve("later") };
    expect(await (await result(() => foreign)).text()).toBe("later");
  });

  verifies("C3", "parts go to onPartial as they come; what that throws is logged and changes nothing", async () => {
    const parts: string[] = [];
    const errors: string[] = [];
    const logger = { debug() {}, info() {}, warn() {}, error: (message: string) => void errors.push(message) };
    const toolkit = new Toolkit({ logger });
    const stream = tool("stream", async function* () {
      yield "one";
      yield { two: 2 };
    });
    const content = await toolkit.call(stream, {}, { onPartial: (part) => void parts.push(part.mediaType) });
    expect(content).toMatchObject({
      mediaType: "multipart/mixed",
      parts: [{ size: 3 }, { mediaType: "application/json" }],
    });
    expect(parts).toEqual(["text/plain", "application/json"]);
    for (const onPartial of [
      () => {
        throw new Error("boom");
      },
      async () => {
        throw new Error("boom");
      },
    ]) {
      expect((await toolkit.call(stream, {}, { onPartial })).parts).toHaveLength(2);
    }
    await settle();
    expect(errors).toEqual(Array(4).fill("A partial listener of inline.stream failed: boom"));
  });

  verifies(
    "C3",
    "what JSON cannot hold, nothing where a schema wants something, and text where it wants JSON are INVALID_OUTPUT",
    async () => {
      const cyclic: Record<string, unknown> = {};
      cyclic.self = cyclic;
      const output = { type: "object", required: ["a"] };
      const bad: readonly (readonly [Tool["run"], Partial<Tool>, RegExp])[] = [
        [() => 1n, {}, /BigInt/],
        [async () => ({ deep: [cyclic] }), {}, /cycle/],
        [() => () => 1, {}, /function/],
        [() => Symbol("s"), {}, /symbol/],
        [() => undefined, { output }, /gave nothing/],
        [async () => "text", { output }, /must be object/],
        [() => ({ b: 1 }), { output }, /\/a is missing/],
        [() => ({ a: 1n }), { output }, /BigInt/],
        [() => new Uint8Array([0, 255, 254]), { output }, /JSON/],
        [async () => ({ n: "x" }), { output: z.object({ n: z.number() }) }, /\/n/],
        [
          async function* () {
            yield 1n;
          },
          {},
          /BigInt/,
        ],
      ];
      for (const [run, fields, message] of bad) {
        let ran = 0;
        const counted: Tool["run"] = (input, context) => {
          ran++;
          return run(input, context);
        };
        await expect(result(counted, fields)).rejects.toMatchObject({
          code: "INVALID_OUTPUT",
          ref: "inline.t",
          phase: "result",
          message: expect.stringMatching(message),
        });
        expect(ran).toBe(1);
      }
      const content = await result(() => ({ n: "7", more: 1 }), {
        output: z.object({ n: z.string().transform(Number).pipe(z.number()), d: z.string().default("x") }),
      });
      expect(await content.json()).toEqual({ n: 7, d: "x" });
    },
  );
});

describe("failures", () => {
  verifies("C12", "whatever a tool throws or rejects with is TOOL_FAILED, with its cause, ref and phase", async () => {
    const hostile = Object.create(null);
    for (const thrown of [
      new Error("boom"),
      "boom",
      7,
      null,
      undefined,
      1n,
      Symbol("s"),
      hostile,
      { code: "NOT_FOUND" },
    ]) {
      for (const run of [
        () => {
          throw thrown;
        },
        () => Promise.reject(thrown),
        async function* () {
          yield 1;
          throw thrown;
        },
      ] as Tool["run"][]) {
        const error = await new Toolkit().call(tool("t", run)).catch((caught) => caught);
        expect(error).toMatchObject({
          code: "TOOL_FAILED",
          ref: "inline.t",
          message: expect.stringMatching(/^inline\.t failed: /),
        });
        expect(["execute", "result"]).toContain(error.phase);
        expect(error.cause).toBe(thrown);
      }
    }
  });

  verifies(
    "C12",
    "an error of an inner call, lookup or list is the cause, though the inner call is of the same tool",
    async () => {
      const toolkit = new Toolkit();
      toolkit.add(
        echo,
        tool("strict", () => 1, { input: { type: "object", required: ["a"] } }),
        tool("calls", ({ key }, { toolbox }) => toolbox.call(key)),
        tool("looks", ({ key }, { toolbox }) => toolbox.lookup(key)),
        tool("lists", (_, { toolbox }) => toolbox.list({ limit: -1 })),
        tool("again", (_, { toolbox }) => toolbox.call("again", { n: "x" }), {
          input: { type: "object", properties: { n: { type: "number" } } },
        }),
      );
      const cases: readonly (readonly [string, unknown, string])[] = [
        ["calls", { key: "missing" }, "NOT_FOUND"],
        ["calls", { key: "strict" }, "INVALID_INPUT"],
        ["looks", { key: "missing" }, "NOT_FOUND"],
        ["lists", {}, "INVALID_INPUT"],
        ["again", { n: 1 }, "INVALID_INPUT"],
      ];
      for (const [name, input, code] of cases) {
        await expect(toolkit.call(name, input)).rejects.toMatchObject({
          code: "TOOL_FAILED",
          ref: `builtin.${name}`,
          cause: { code },
        });
      }
    },
  );

  verifies("C12", "every error of a call has its ref and phase", async () => {
    const toolkit = new Toolkit({
      items: [
        echo,
        { kind: "prompt", name: "p", render: async () => ({ messages: [] }) },
        tool("deep", (_, { toolbox }) => toolbox.call("deep")),
      ],
    });
    const failing = [
      toolkit.call("missing"),
      toolkit.call("echo", 1),
      toolkit.call("p"),
      toolkit.call("deep"),
      toolkit.read("x:y"),
      toolkit.render("nope"),
      toolkit.call("echo", {}, { timeoutMs: -1 }),
    ];
    for (const result of failing) {
      const error = await result.catch((caught) => caught);
      expect(error).toMatchObject({
        ref: expect.any(String),
        phase: expect.stringMatching(/^(resolve|policy|validate|connect|execute|result)$/),
      });
    }
    await toolkit.close();
    await expect(toolkit.call(echo)).rejects.toMatchObject({ code: "CLOSED", phase: "execute" });
  });

  verifies("C12", "loggers, sessions and listeners that throw or reject break nothing", async () => {
    const fail = () => {
      throw new Error("logger");
    };
    const reject = async () => {
      throw new Error("logger");
    };
    const logged: unknown[] = [];
    for (const bad of [fail, reject]) {
      const toolkit = new Toolkit({
        logger: { debug: bad, info: bad, warn: bad, error: bad },
        delegate: { onEvent: bad },
      });
      toolkit.on("*", bad);
      const chatty = tool("chatty", async (_, { logger, progress }) => {
        logger.info("hello", { a: 1 });
        return [await progress.call(undefined, 1).catch(() => "unbound")];
      });
      toolkit.add(chatty);
      const content = await toolkit.call(
        "chatty",
        {},
        {
          session: {
            id: "s",
            log: (entry) => {
              logged.push(entry);
              return bad();
            },
          },
          onProgress: bad,
        },
      );
      expect(content.mediaType).toBe("application/json");
      await settle();
    }
    expect(logged).toHaveLength(2);
    expect(logged[0]).toEqual({
      level: "info",
      logger: "builtin.chatty",
      data: { message: "hello", details: { a: 1 } },
    });
  });
});

describe("abort and time", () => {
  verifies("C6", "an aborted signal runs nothing", async () => {
    let ran = 0;
    const count = tool("count", () => void ran++);
    const toolkit = new Toolkit({
      items: [
        count,
        defineResource({
          uri: "doc:x",
          name: "x",
          bytes: () => {
            ran++;
            return "x";
          },
        }),
      ],
      use: [
        (call, next) => {
          ran++;
          return next(call);
        },
      ],
    });
    const signal = AbortSignal.abort("why");
    let listed = 0;
    toolkit.addSource("late", {
      tool: () => {
        listed++;
        return [];
      },
    });
    for (const attempt of [
      toolkit.call("count", {}, { signal }),
      toolkit.call(count, {}, { signal }),
      toolkit.read("doc:x", { signal }),
      toolkit.lookup("count", { signal }),
      toolkit.list({ signal }),
    ]) {
      await expect(attempt).rejects.toBe("why");
    }
    expect([ran, listed]).toEqual([0, 1]);
  });

  verifies(
    "C6",
    "a tool that does not listen is left alone: the caller has the reason at once, and its signal aborts",
    async () => {
      let heard: unknown;
      const deaf = tool("deaf", (_, { signal }) => {
        signal.addEventListener("abort", () => (heard = signal.reason));
        return never();
      });
      const controller = new AbortController();
      const reason = new Error("enough");
      const result = rejection(new Toolkit().call(deaf, {}, { signal: controller.signal }));
      await settle();
      controller.abort(reason);
      expect(await Promise.race([result, settle()])).toBe(reason);
      expect(heard).toBe(reason);
    },
  );

  verifies("C6", "a call that is aborted while its input is read or validated never runs", async () => {
    let ran = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    const slow = z.object({
      a: z.string().refine(async () => {
        await promise;
        return true;
      }),
    });
    const toolkit = new Toolkit({ items: [tool("slow", () => void ran++, { input: slow })] });
    const controller = new AbortController();
    const result = toolkit.call("slow", { a: "x" }, { signal: controller.signal });
    await settle();
    controller.abort("why");
    await expect(result).rejects.toBe("why");
    resolve();
    await settle();
    expect(ran).toBe(0);
  });

  verifies("C6", "an abort ends the reading of a resource that the tool gave, alone or among others", async () => {
    const text = resource.text("ready", "x");
    for (const among of [(handle: Resource) => handle, (handle: Resource) => [text, handle]]) {
      const reading = Promise.withResolvers<AbortSignal | undefined>();
      const bytes = ({ signal }: ReadOptions) => {
        reading.resolve(signal);
        return new Promise<never>(() => {});
      };
      const handle = defineResource({ uri: "doc:slow", name: "slow", bytes });
      const controller = new AbortController();
      const call = new Toolkit().call(
        tool("gives", () => among(handle)),
        {},
        { signal: controller.signal },
      );
      const signal = await reading.promise;
      controller.abort("why");
      await expect(call).rejects.toBe("why");
      expect([signal?.aborted, signal?.reason]).toEqual([true, "why"]);
    }
  });

  verifies("C6", "an abort in the middle of parts closes the generator and rejects with the reason", async () => {
    let closed = false;
    const stream = tool("stream", async function* () {
      try {
        yield "one";
        await never();
      } finally {
        closed = true;
      }
    });
    const polite = tool("polite", async function* (_, { signal }) {
      try {
        yield "one";
        await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      } finally {
        closed = true;
      }
    });
    for (const item of [stream, polite]) {
      for (const when of ["at a part", "between parts"]) {
        closed = false;
        const controller = new AbortController();
        const onPartial = () => void (when === "at a part" && controller.abort("why"));
        const result = new Toolkit().call(item, {}, { signal: controller.signal, onPartial });
        const outcome = expect(result).rejects.toBe("why");
        await settle();
        controller.abort("why");
        await outcome;
        await settle();
        // A generator that waits for what does not listen cannot be closed.
        expect(closed).toBe(when === "at a part" || item === polite);
      }
    }
  });

  const timed = (options: object, run: Tool["run"] = never, fields: Partial<Tool> = {}) => {
    const clock = virtualClock();
    const toolkit = new Toolkit({ clock, ...options, items: [tool("t", run, fields)] });
    return { clock, toolkit };
  };

  async function endOf(clock: VirtualClock, call: Promise<unknown>) {
    const startedAt = clock.now();
    let ended: { afterMs: number; error: { code: string; details: object } } | undefined;
    call.catch((error) => {
      ended = { afterMs: clock.now() - startedAt, error };
    });
    for (let n = 0; n < 700 && ended === undefined; n++) await clock.advance(1000);
    return ended;
  }

  verifies(
    "C7",
    "the limit is the tool's, else the default of 60 s; TIMEOUT says which and after how long",
    async () => {
      const cases: readonly (readonly [object, Partial<Tool>, number])[] = [
        [{}, {}, 60_000],
        [{ timeoutMs: 5_000 }, {}, 5_000],
        [{ timeoutMs: 5_000 }, { options: { timeoutMs: 7_000 } }, 7_000],
      ];
      for (const [options, fields, limitMs] of cases) {
        const { clock, toolkit } = timed(options, never, fields);
        const ended = await endOf(clock, toolkit.call("t"));
        expect(ended?.afterMs).toBe(limitMs);
        expect(ended?.error).toMatchObject({
          code: "TIMEOUT",
          details: { limit: "inactivity", limitMs, elapsedMs: limitMs },
          ref: "builtin.t",
          phase: "execute",
        });
      }
    },
  );

  verifies(
    "C7",
    "a sign of life restarts the inactivity limit, of the calls around it too; the hard cap stands",
    async () => {
      const clock = virtualClock();
      const busy = async (_: unknown, { progress, signal }: CallContext) => {
        while (!signal.aborted)
          await new Promise<void>((resolve) => clock.setTimer(() => resolve(), 30_000)).then(() => progress(1));
      };
      const toolkit = new Toolkit({ clock });
      toolkit.add(
        tool("busy", (input, context) =>
          busy(input, {
            progress: (n: number) => context.progress(n),
            get signal() {
              return context.signal;
            },
          } as CallContext),
        ),
        tool("outer", (_, { toolbox }) => toolbox.call("busy")),
        tool("parts", async function* () {
          for (;;) yield await new Promise<string>((resolve) => clock.setTimer(() => resolve("x"), 30_000));
        }),
        tool("around", (_, { toolbox }) => toolbox.call("parts")),
      );
      for (const name of ["busy", "outer", "parts", "around"]) {
        const ended = await endOf(clock, toolkit.call(name));
        expect([name, ended?.afterMs]).toEqual([name, 600_000]);
        expect(ended?.error).toMatchObject({ code: "TIMEOUT", details: { limit: "total", limitMs: 600_000 } });
      }
    },
  );

  verifies("C7", "the caller's own limit binds everything together, the search included", async () => {
    const { clock, toolkit } = timed({});
    const ended = await endOf(clock, toolkit.call("t", {}, { timeoutMs: 3_000 }));
    expect(ended?.afterMs).toBe(3_000);
    expect(ended?.error).toMatchObject({ code: "TIMEOUT", details: { limit: "call", limitMs: 3_000 } });
    toolkit.addSource("slow", {
      tool: () => new Promise((resolve) => clock.setTimer(() => resolve([tool("late", never)]), 2_000)),
    });
    const late = await endOf(clock, toolkit.call("late", {}, { timeoutMs: 3_000 }));
    expect(late?.afterMs).toBe(3_000);
    expect(late?.error).toMatchObject({
      code: "TIMEOUT",
      ref: "slow.late",
      details: { limit: "call", limitMs: 3_000, elapsedMs: 3_000 },
    });
    toolkit.addSource("hung", { tool: () => never() });
    const lost = await endOf(clock, toolkit.call("nowhere", {}, { timeoutMs: 3_000 }));
    expect(lost?.afterMs).toBe(3_000);
    expect(lost?.error).toMatchObject({ code: "TIMEOUT", ref: "nowhere" });
  });

  verifies(
    "C7",
    "maxTimeoutMs is the operator's cap: over a tool's own limit, longer or none, and over the default",
    async () => {
      for (const timeoutMs of [Number.POSITIVE_INFINITY, 3_600_000, undefined]) {
        const clock = virtualClock();
        const toolkit = new Toolkit({ clock, timeoutMs: 1_800_000, maxTimeoutMs: 5_000 });
        toolkit.add(tool("t", never, { options: { timeoutMs } }));
        const end = toolkit.call("t").catch((error) => error);
        await clock.advance(5_000);
        expect(await end).toMatchObject({ code: "TIMEOUT", details: { limit: "total", limitMs: 5_000 } });
        await toolkit.close();
      }
    },
  );

  verifies("C7", "a prompt has no limit of its own, a tool may have none where the operator sets none", async () => {
    const clock = virtualClock();
    const toolkit = new Toolkit({ clock, maxTimeoutMs: Number.POSITIVE_INFINITY, delegate: { runPrompt: never } });
    toolkit.add(
      { kind: "prompt", name: "p", render: async () => ({ messages: [] }) },
      tool("t", never, { options: { timeoutMs: Number.POSITIVE_INFINITY } }),
    );
    expect(await endOf(clock, toolkit.call("p"))).toBeUndefined();
    expect(await endOf(clock, toolkit.call("t"))).toBeUndefined();
    await toolkit.close();
  });

  test("limits that are none are refused, and nothing runs", async () => {
    let ran = 0;
    const toolkit = new Toolkit({ items: [tool("t", () => void ran++)] });
    for (const timeoutMs of [0, -1, Number.NaN, "5"]) {
      await expect(toolkit.call("t", {}, { timeoutMs: timeoutMs as number })).rejects.toMatchObject({
        code: "INVALID_INPUT",
        details: { issues: [{ pointer: "/timeoutMs" }] },
      });
      expect(() => toolkit.add(tool("u", never, { options: { timeoutMs: timeoutMs as number } }))).toThrow(
        expect.objectContaining({ code: "INVALID_CONFIG" }),
      );
      for (const name of ["timeoutMs", "maxTimeoutMs", "startTimeoutMs"])
        expect(() => new Toolkit({ [name]: timeoutMs })).toThrow(
          expect.objectContaining({ code: "INVALID_CONFIG", details: { path: name } }),
        );
    }
    for (const maxDepth of [-1, 1.5, Number.NaN])
      expect(() => new Toolkit({ maxDepth })).toThrow(expect.objectContaining({ code: "INVALID_CONFIG" }));
    expect(ran).toBe(0);
  });

  verifies("C6", "closing ends calls in flight, and those that still look for their target, with CLOSED", async () => {
    const toolkit = new Toolkit({ items: [tool("t", never)] });
    toolkit.addSource("hung", { tool: () => never() });
    const calls = [toolkit.call("t"), toolkit.call("nowhere"), toolkit.lookup("nowhere")];
    const outcomes = Promise.allSettled(calls);
    await settle();
    await toolkit.close();
    const refs = ["builtin.t", "nowhere", undefined];
    for (const [index, outcome] of (await outcomes).entries())
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "CLOSED", ref: refs[index] } });
  });
});

describe("context", () => {
  verifies(
    "C13",
    "there is always a session with an id of its own, and the caller's own where it has one",
    async () => {
      const seen: CallContext["session"][] = [];
      const toolkit = new Toolkit({
        items: [
          tool("t", (_, { session }) => void seen.push(session)),
          tool("outer", (_, { session, toolbox }) => {
            seen.push(session);
            return toolbox.call("t");
          }),
        ],
      });
      await toolkit.call("t");
      await toolkit.call("t");
      const session = { id: "mine" };
      await toolkit.call("t", {}, { session });
      await toolkit.call("outer", {}, { session });
      await toolkit.call("outer");
      expect(seen[0]?.id).toMatch(/^[0-9a-f-]{36}$/);
      expect(Object.keys(seen[0] as object)).toEqual(["id"]);
      expect(seen[0]?.id).not.toBe(seen[1]?.id);
      expect(seen.slice(2, 5)).toEqual([session, session, session]);
      expect(seen[5]).toBe(seen[6]);
    },
  );

  verifies(
    "C13",
    "a call inside another inherits its session's meta, and none of it under a session of its own",
    async () => {
      const seen: CallContext["meta"][] = [];
      const inner = tool("inner", (_, { meta }) => void seen.push(meta));
      const outer = tool("outer", async (_, { toolbox }) => {
        await toolbox.call(inner, {}, { meta: { own: 1 } });
        await toolbox.call(inner, {}, { session: { id: "other" } });
        await toolbox.call(inner, {}, { session: { id: "other", meta: { tenant: "b" } } });
      });
      await new Toolkit().call(outer, {}, { session: { id: "mine", meta: { tenant: "a" } } });
      expect(seen).toEqual([{ tenant: "a", own: 1 }, undefined, { tenant: "b" }]);
    },
  );

  verifies("C13", "progress says whether it was heard", async () => {
    const heard: unknown[] = [];
    const toolkit = new Toolkit({
      items: [tool("t", async (_, context) => [await context.progress(1, 2, "half"), await context.progress(2)])],
    });
    expect(await (await toolkit.call("t", {}, { onProgress: (progress) => heard.push(progress) })).json()).toEqual([
      true,
      true,
    ]);
    expect(heard).toEqual([{ progress: 1, total: 2, message: "half" }, { progress: 2 }]);
    expect(await (await toolkit.call("t")).json()).toEqual([false, false]);
    const bad = () => {
      throw new Error("x");
    };
    expect(await (await toolkit.call("t", {}, { onProgress: bad })).json()).toEqual([false, false]);
  });

  test("calls through the toolbox go one deeper, inherit the signal, and end at the limit with the chain", async () => {
    const depths: number[] = [];
    const deep = tool("deep", (_, { depth, toolbox }) => {
      depths.push(depth);
      return toolbox.call("deep");
    });
    const toolkit = new Toolkit({ items: [deep], maxDepth: 2 });
    await expect(toolkit.call("deep")).rejects.toMatchObject({
      code: "DEPTH_EXCEEDED",
      details: { maxDepth: 2, chain: Array(4).fill("builtin.deep") },
    });
    expect(depths).toEqual([0, 1, 2]);
    let inner: AbortSignal | undefined;
    const waits = tool("waits", (_, { signal }) => {
      inner = signal;
      return never();
    });
    const controller = new AbortController();
    const result = toolkit.call(
      tool("outer", (_, { toolbox }) => toolbox.call(waits)),
      {},
      { signal: controller.signal },
    );
    await settle();
    controller.abort("why");
    await expect(result).rejects.toBe("why");
    expect(inner?.reason).toBe("why");
  });

  verifies(
    "K3",
    "read and render take the way of a call; what they give is loaded, what lookup gives reads afresh",
    async () => {
      const clock = virtualClock();
      let reads = 0;
      const counter = defineResource({ uri: "count:reads", name: "counter", bytes: () => String(++reads) });
      const toolkit = new Toolkit({
        clock,
        items: [
          counter,
          defineResource({ uri: "doc:hung", name: "hung", bytes: never }),
          { kind: "prompt", name: "p", input: { type: "object", required: ["a"] }, render: never },
        ],
      });
      const entry = (await toolkit.lookup("count:reads")) as Entry<"resource">;
      expect([await entry.item.text(), await entry.item.text()]).toEqual(["1", "2"]);
      const content: Content = await toolkit.read("count:reads");
      expect([await content.text(), await content.text(), reads]).toEqual(["3", "3", 3]);
      const hung = toolkit.read("doc:hung").catch((error) => error);
      await clock.advance(60_000);
      expect(await hung).toMatchObject({ code: "TIMEOUT", ref: "doc:hung#builtin" });
      await expect(toolkit.render("p", {})).rejects.toMatchObject({ code: "INVALID_INPUT" });
      const bounded = toolkit.render("p", { a: 1 }, { timeoutMs: 100 }).catch((error) => error);
      await clock.advance(100);
      expect(await bounded).toMatchObject({ code: "TIMEOUT", details: { limit: "call" } });
      const controller = new AbortController();
      const aborted = toolkit.read("doc:hung", { signal: controller.signal });
      controller.abort("why");
      await expect(aborted).rejects.toBe("why");
      toolkit.add(
        defineResource({
          uri: "doc:bad",
          name: "bad",
          bytes: () => {
            throw new Error("disk");
          },
        }),
      );
      await expect(toolkit.read("doc:bad")).rejects.toMatchObject({
        code: "TOOL_FAILED",
        ref: "doc:bad#builtin",
        cause: new Error("disk"),
      });
    },
  );
});

test("defineTool tools of a schema run as they are typed", async () => {
  const greet = defineTool({
    name: "greet",
    input: z.object({ name: z.string().default("you") }),
    run: ({ name }) => `Hello, ${name}`,
  });
  expect(await (await new Toolkit({ items: [greet] }).call(greet)).text()).toBe("Hello, you");
});
