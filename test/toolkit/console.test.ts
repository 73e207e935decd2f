import { Console } from "node:console";
import { Writable } from "node:stream";
import { inspect } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { defineTool } from "../../src/core/tool.ts";
import { joinParts } from "../../src/resource/content.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { Bench } from "../connection/support.ts";
import { failure } from "../support/failure.ts";
import { FakeConnector, tools } from "../support/fake-connector.ts";

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
});
afterEach(() => bench.toolkit.close());

/** The output of `console.table`. */
function table(rows: unknown): string {
  let printed = "";
  const stdout = new Writable({
    write(chunk, _encoding, done) {
      printed += String(chunk);
      done();
    },
  });
  new Console({ stdout }).table(rows);
  return printed;
}

test("the console shows a Toolkit by its items and connections, and no inner part", async () => {
  bench.toolkit.add(defineTool({ name: "greet", description: "Greets.", run: () => "hi" }), resource.text("note", "x"));
  await bench.start({ weather: new FakeConnector({ lists: { tool: tools("forecast", "history") } }) });
  expect(inspect(bench.toolkit)).toBe(
    "Toolkit {\n  tools: 3,\n  prompts: 0,\n  resources: 1,\n  connections: [ 'weather: connected' ]\n}",
  );
  expect(inspect({ a: { b: { c: { toolkit: bench.toolkit } } } }, { depth: 1 })).not.toContain("connections");
});

test("the console shows an Entry by what it is, and a Content by its beginning", async () => {
  bench.toolkit.add(defineTool({ name: "greet", description: "Greets.", run: () => ({ a: "x".repeat(500) }) }));
  const entry = await bench.toolkit.lookup("greet", { kind: "tool" });
  expect(inspect(entry)).toBe("Entry { kind: 'tool', ref: 'builtin.greet', description: 'Greets.' }");
  expect({ ...entry }).toEqual(entry);
  const shown = inspect(await bench.toolkit.call(entry));
  expect(shown).toContain("Content {");
  expect(shown).toContain("mediaType: 'application/json'");
  expect(shown).toContain("… (508 characters)'");
  expect(shown.length).toBeLessThan(400);
  const bytes = await resource.data("odd", new Uint8Array([0, 1, 2]));
  expect(inspect(bytes)).toBe("Content { name: 'odd', mediaType: 'application/octet-stream', size: 3 }");
  expect(inspect(joinParts([resource.text("a", "one"), bytes], { name: "both" }))).toMatch(/parts: \[\s+Content \{/);
});

test("console.table of the connections has a short line for each, and no secret", async () => {
  const down = new FakeConnector({ label: "down.example" });
  down.outcomes = [new Error(`connect ECONNREFUSED ${"x".repeat(200)}`)];
  await bench.start({ weather: new FakeConnector({ lists: { tool: tools("forecast") } }), down });
  bench.toolkit.addConnector("https://me:hunter2@127.0.0.1:9/mcp?key=hunter2", { lazy: true, namespace: "lazy" });
  const [head = "", ...rows] = table(bench.toolkit.connections)
    .split("\n")
    .filter((line) => line.includes("│"))
    .map((line) =>
      line
        .split("│")
        .map((cell) => cell.trim())
        .join("|"),
    );
  expect(head).toBe("|(index)|namespace|state|label|tools|error|");
  expect(rows[0]).toBe("|0|'weather'|'connected'|'fake'|1|''|");
  expect(rows[1]).toMatch(
    /^\|1\|'down'\|'waiting'\|'down.example'\|0\|'connect ECONNREFUSED x+… \(221 characters\)'\|$/,
  );
  expect(rows[2]).toBe("|2|'lazy'|'idle'|'https://127.0.0.1:9/mcp'|0|''|");
  expect(inspect(bench.toolkit.connections, { depth: 9 })).not.toContain("hunter2");
});

test("timestamps are whole milliseconds", async () => {
  const { Toolkit } = await import("../../src/toolkit/toolkit.ts");
  const toolkit = new Toolkit();
  const down = new FakeConnector();
  down.outcomes = [new Error("refused"), "hang"];
  const connection = toolkit.addConnector(down, { namespace: "down" });
  await toolkit.start();
  const { failures } = await toolkit.list();
  const times = [connection.since, connection.nextAttemptAt, ...failures.map(({ since }) => since)];
  expect(times).toHaveLength(3);
  for (const time of times) expect(Number.isInteger(time), String(time)).toBe(true);
  await toolkit.close();
});

test("a failed call has one line in the log, without what it was called with", async () => {
  bench.toolkit.add(
    defineTool({ name: "fails", run: () => Promise.reject(new Error("password hunter2 is wrong")) }),
    defineTool({
      name: "strict",
      input: { type: "object", properties: { pin: { type: "integer" } } },
      run: () => "ok",
    }),
    defineTool({ name: "outer", run: (_input, { toolbox }) => toolbox.call("fails") }),
  );
  await bench.start();
  for (const [key, input] of [
    ["fails", {}],
    ["strict", { pin: "hunter2" }],
    ["outer", {}],
    ["wether.now", {}],
  ] as const)
    await failure(bench.toolkit.call(key, input));
  const aborted = AbortSignal.abort();
  await bench.toolkit.call("fails", {}, { signal: aborted }).catch(() => undefined);
  expect(bench.logged.map(({ level, message }) => `${level} ${message}`)).toEqual([
    "warn The call of builtin.fails failed: TOOL_FAILED: The tool ran and failed.",
    'warn The call of builtin.strict failed: INVALID_INPUT: The input or an argument is not valid; nothing ran. At "/pin".',
    "debug The call of builtin.fails failed: TOOL_FAILED: The tool ran and failed.",
    "warn The call of builtin.outer failed: TOOL_FAILED: The tool ran and failed.",
    'warn The call of wether.now failed: NOT_FOUND: There is no tool or prompt "wether.now". There is no namespace "wether": there are builtin.',
    "debug The call of fails was aborted.",
  ]);
  expect(bench.logged[0]?.details).toEqual({ code: "TOOL_FAILED", ref: "builtin.fails", phase: "execute" });
  expect(JSON.stringify(bench.logged)).not.toContain("hunter2");
});

test("[N7] NOT_FOUND of an unknown namespace lists those there are, and of nothing else", async () => {
  await bench.start({ weather: new FakeConnector({ lists: { tool: tools("forecast") } }), news: new FakeConnector() });
  const messageOf = async (key: string) => (await failure(bench.toolkit.lookup(key))).message;
  expect(await messageOf("wether.forecast")).toBe(
    'There is no item "wether.forecast". There is no namespace "wether": there are builtin, weather, news. Did you mean "weather.forecast"?',
  );
  expect(await messageOf("weather.storm")).not.toContain("namespace");
  expect(await messageOf("storm")).not.toContain("namespace");
  const view = bench.toolkit.view({ exclude: ["news.*"] });
  expect((await failure(view.lookup("wether.forecast"))).message).not.toContain("news");
});

test("[N4] a listed resource is found by its ref and its URI, whatever that looks like", async () => {
  const uris = ["notes.md", "C:\\notes", "x:1", "/a/b#c", "plain", "memo:a"];
  const far = new FakeConnector({ lists: { resource: uris.map((uri) => ({ uri, name: uri })) } });
  await bench.start({ files: far, other: new FakeConnector({ lists: { tool: tools("plain") } }) });
  for (const { ref } of (await bench.toolkit.list({ kind: "resource" })).entries) {
    expect((await bench.toolkit.lookup(ref)).ref).toBe(ref);
    expect((await bench.toolkit.lookup(ref.replace("#files", ""), { kind: "resource" })).ref).toBe(ref);
    await bench.toolkit.read(ref);
    expect((await bench.toolkit.explain(ref)).candidates.map((each) => each.ref)).toEqual([ref]);
  }
  // A ref means no resource of another server, whatever that calls it.
  const squat = new FakeConnector({ lists: { resource: [{ uri: "gone.md#files", name: "gone" }] } });
  bench.toolkit.addConnector(squat, { namespace: "squat" });
  await bench.toolkit.connections.at(-1)?.ready();
  expect((await failure(bench.toolkit.lookup("gone.md#files"))).code).toBe("NOT_FOUND");
  // A tool goes before it.
  expect((await bench.toolkit.lookup("plain")).ref).toBe("other.plain");
  expect((await failure(bench.toolkit.lookup("notes.md#other"))).details).not.toMatchObject({
    suggestions: expect.arrayContaining(["notes.md#other"]),
  });
});

test("attachments that are no Resources are refused before anything runs", async () => {
  let ran = 0;
  bench.toolkit.add(defineTool({ name: "see", run: () => void ran++ }));
  await bench.start();
  const good = resource.text("a", "b");
  for (const [attachments, pointer] of [
    [[good, "text"], "/attachments/1"],
    [[{ uri: "memo:a" }], "/attachments/0"],
    ["text", "/attachments"],
    [good, "/attachments"],
  ] as const) {
    const error = await failure(bench.toolkit.call("see", {}, { attachments: attachments as never }));
    expect(error).toMatchObject({ code: "INVALID_INPUT", details: { issues: [{ pointer }] } });
  }
  expect(ran).toBe(0);
  await bench.toolkit.call("see", {}, { attachments: [good] });
  expect(ran).toBe(1);
});
