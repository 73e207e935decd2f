import { expect, test } from "vitest";
import type { ToolkitEvent } from "../../src/core/event.ts";
import type { Tool } from "../../src/core/item.ts";
import { settle } from "../../src/testing/virtual-clock.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { verifies } from "../support/verifies.ts";

const tool = (name: string, run: Tool["run"] = () => name): Tool => ({ kind: "tool", name, run });

verifies(
  ["E1", "E2"],
  "on, delegates and events hear the same events in the same order, each after it is true",
  async () => {
    const heard: string[][] = [[], [], []];
    const lists: Promise<number>[] = [];
    const id = (event: ToolkitEvent) =>
      "added" in event ? `${event.type} ${event.added} ${event.removed}` : event.type;
    const toolkit: Toolkit = new Toolkit({
      delegate: [{ onEvent: (event) => heard[0]?.push(id(event)) }, { onEvent: (event) => heard[1]?.push(id(event)) }],
    });
    const stream = toolkit.events();
    toolkit.on("*", (event) => heard[2]?.push(id(event)));
    toolkit.on("toolListChanged", () => lists.push(toolkit.list().then(({ count }) => count)));
    toolkit.add(tool("a"));
    toolkit.add(tool("b"));
    toolkit.remove("a");
    await toolkit.call("b");
    await settle();
    const expected = [
      "toolListChanged builtin.a ",
      "toolListChanged builtin.b ",
      "toolListChanged  builtin.a",
      "callStarted",
      "callFinished",
    ];
    expect(heard).toEqual([expected, expected, expected]);
    const streamed: string[] = [];
    for (let n = 0; n < expected.length; n++) streamed.push(id((await stream.next()).value));
    expect(streamed).toEqual(expected);
    expect(await Promise.all(lists)).toEqual([1, 1, 1]);
  },
);

verifies("E1", "a call tells that it began and ended, how long it took, and why it failed", async () => {
  const events: ToolkitEvent[] = [];
  const toolkit = new Toolkit({
    items: [
      tool("good"),
      tool("bad", async () => Promise.reject(new Error("boom"))),
      tool("worse", () => new Promise(() => {})),
    ],
  });
  toolkit.on("callStarted", (event) => events.push(event));
  toolkit.on("callFinished", (event) => events.push(event));
  await toolkit.call("good");
  await toolkit.call("bad").catch(() => {});
  const controller = new AbortController();
  const aborted = toolkit.call("worse", {}, { signal: controller.signal });
  controller.abort(Object.create(null));
  await aborted.catch(() => {});
  await settle();
  expect(events).toMatchObject([
    { type: "callStarted", callId: "1", ref: "builtin.good" },
    { type: "callFinished", callId: "1", ref: "builtin.good", durationMs: expect.any(Number) },
    { type: "callStarted", callId: "2", ref: "builtin.bad" },
    { type: "callFinished", callId: "2", error: { code: "TOOL_FAILED" } },
    { type: "callStarted", callId: "3" },
    { type: "callFinished", callId: "3", error: { message: "{}" } },
  ]);
  expect(events[1]).not.toHaveProperty("error");
});

verifies("E4", "a reader that falls behind loses the oldest and is told how many", async () => {
  const toolkit = new Toolkit();
  const controller = new AbortController();
  const stream = toolkit.events({ limit: 2, signal: controller.signal });
  for (let n = 0; n < 5; n++) toolkit.add(tool(`t${n}`));
  await settle();
  expect((await stream.next()).value).toEqual({ type: "eventsLost", count: 3 });
  expect((await stream.next()).value).toMatchObject({ added: ["builtin.t3"] });
  expect((await stream.next()).value).toMatchObject({ added: ["builtin.t4"] });
  const pending = stream.next();
  controller.abort();
  expect(await pending).toEqual({ done: true, value: undefined });
  toolkit.add(tool("more"));
  await settle();
  expect(await stream.next()).toEqual({ done: true, value: undefined });
});

verifies("C12", "listeners and delegates that fail are logged, and the others hear", async () => {
  const errors: string[] = [];
  const logger = { debug() {}, info() {}, warn() {}, error: (message: string) => void errors.push(message) };
  const onEvent = async () => {
    throw new Error("delegate");
  };
  const toolkit = new Toolkit({ logger, delegate: { onEvent } });
  const heard: string[] = [];
  toolkit.on("toolListChanged", () => {
    throw new Error("listener");
  });
  toolkit.on("toolListChanged", ({ added }) => heard.push(...added));
  toolkit.add(tool("a"));
  await settle();
  expect(heard).toEqual(["builtin.a"]);
  expect(errors.sort()).toEqual([
    "A listener of toolListChanged failed: delegate",
    "A listener of toolListChanged failed: listener",
  ]);
});

verifies("O3", "without a logger nothing is written anywhere", async () => {
  const written: unknown[] = [];
  const restore = [process.stdout, process.stderr].map((stream) => {
    const { write } = stream;
    stream.write = ((chunk: unknown) => written.push(chunk)) as never;
    return () => {
      stream.write = write;
    };
  });
  try {
    const toolkit = new Toolkit({ items: [tool("t", (_, { logger }) => logger.error("hello"))] });
    toolkit.on("*", () => {
      throw new Error("listener");
    });
    await toolkit.call("t");
    toolkit.addSource("bad", { tool: () => [null as never] });
    await toolkit.start();
    await settle();
    await toolkit.close();
  } finally {
    for (const undo of restore) undo();
  }
  expect(written).toEqual([]);
});

verifies("O3", "pino gets the details first, as it wants them", async () => {
  const lines: unknown[][] = [];
  const note = (...args: unknown[]) => void lines.push(args);
  const pino = { debug: note, info: note, warn: note, error: note, bindings: () => ({}), child: () => pino };
  const toolkit = new Toolkit({ logger: pino });
  toolkit.add(tool("counts", (_, { logger }) => logger.info("counted", { lines: 3 })));
  toolkit.add(tool("plain", (_, { logger }) => logger.info("done")));
  await toolkit.call("counts");
  await toolkit.call("plain");
  expect(lines).toEqual([[{ lines: 3 }, "counted"], ["done"]]);
});

verifies("O3", "what a tool logs goes to the logger and the caller's session, with its level", async () => {
  const logged: unknown[][] = [];
  const entries: unknown[] = [];
  const note =
    (method: string) =>
    (...args: unknown[]) =>
      void logged.push([method, ...args]);
  const logger = { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };
  const toolkit = new Toolkit({ logger });
  const noisy = tool("noisy", (_, context) => {
    for (const method of ["debug", "info", "warn", "error"] as const) context.logger[method](method, 1);
  });
  toolkit.add(
    noisy,
    tool("outer", (_, { toolbox }) => toolbox.call("noisy")),
  );
  await toolkit.call("outer", {}, { session: { id: "s", log: (entry) => entries.push(entry) } });
  expect(logged).toEqual([
    ["debug", "debug", 1],
    ["info", "info", 1],
    ["warn", "warn", 1],
    ["error", "error", 1],
  ]);
  expect(entries).toMatchObject([
    { level: "debug" },
    { level: "info" },
    { level: "warning" },
    { level: "error", logger: "builtin.noisy", data: { message: "error", details: 1 } },
  ]);
});

test("a closed toolkit says so, however often, and run ends with its signal", async () => {
  const toolkit = new Toolkit({ items: [tool("a")] });
  const first = toolkit.close();
  expect(toolkit.close()).toBe(first);
  await first;
  const closed = { code: "CLOSED" };
  for (const attempt of [
    toolkit.call("a"),
    toolkit.lookup("a"),
    toolkit.list(),
    toolkit.read("x:y"),
    toolkit.render("a"),
    toolkit.start(),
    toolkit.run(),
  ]) {
    await expect(attempt).rejects.toMatchObject(closed);
  }
  for (const attempt of [
    () => toolkit.add(tool("b")),
    () => toolkit.remove("a"),
    () => toolkit.addSource("x", {}),
    () => toolkit.addConnector("http://localhost:1/mcp"),
  ]) {
    expect(attempt).toThrow(expect.objectContaining(closed));
  }
  const controller = new AbortController();
  const running = new Toolkit().run({ signal: controller.signal });
  controller.abort();
  await running;
  await using short = new Toolkit();
  expect(short.connections).toEqual([]);
});

verifies("E4", "a stream gives what it has and ends when the toolkit closes, or was closed before", async () => {
  const toolkit = new Toolkit();
  const stream = toolkit.events({ signal: new AbortController().signal });
  const plain = toolkit.events();
  toolkit.add(tool("a"));
  await toolkit.close();
  for (const events of [stream, plain]) {
    const types: string[] = [];
    for await (const { type } of events) types.push(type);
    expect(types).toEqual(["toolListChanged"]);
  }
  expect(await toolkit.events().next()).toEqual({ done: true, value: undefined });
});
