import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, stat, writeFile } from "node:fs/promises";
import { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { defineTool, Toolkit } from "../../src/index.ts";
import { parseTape, readTape, record, recordRun, type TapeLine } from "../../src/tape/index.ts";
import { virtualClock } from "../../src/testing/index.ts";
import { FakeConnector } from "../support/fake-connector.ts";
import { verifies } from "../support/verifies.ts";
import { warningsLogger } from "../support/warnings-logger.ts";
import { planPrompt, scripted, tapeFolder, tapeOf, twoCities, weatherTool } from "./support.ts";

const folder = tapeFolder();

function ofType<T extends TapeLine["type"]>(lines: readonly TapeLine[], type: T): readonly TapeLine<T>[] {
  return lines.filter((line): line is TapeLine<T> => line.type === type);
}

describe("a tape of a run", () => {
  verifies(
    "Y2",
    "has its calls, results, turns with what is new in each, and the definitions of its tools",
    async () => {
      const { tool } = weatherTool();
      await using toolkit = scripted(twoCities, [planPrompt(), tool]);
      const file = folder.path("run.tape");
      const answer = await recordRun(toolkit, { to: file }, () => toolkit.call("plan", { city: "Bern" }));
      expect(await answer.text()).toBe("It is sunny.");
      const { header, lines, isComplete, dropped } = await readTape(file);
      expect([header.version, isComplete, dropped]).toEqual([1, true, 0]);
      expect(ofType(lines, "item").map(({ ref }) => ref)).toEqual(["builtin.plan", "builtin.weather"]);
      expect(ofType(lines, "call").map(({ call, parent, ref, input }) => ({ call, parent, ref, input }))).toEqual([
        { call: 1, parent: undefined, ref: "builtin.plan", input: { city: "Bern" } },
        { call: 2, parent: 1, ref: "builtin.weather", input: { city: "Bern" } },
        { call: 3, parent: 1, ref: "builtin.weather", input: { city: "Rome" } },
      ]);
      const turns = ofType(lines, "turn");
      expect(turns.map(({ step, call, request }) => [step, call, request?.kept, request?.added.length])).toEqual([
        [0, 1, 0, 2],
        [1, 1, 2, 2],
      ]);
      expect(turns[1]?.answer).toMatchObject({
        content: [{ type: "text", text: "It is sunny." }],
        finishReason: "stop",
      });
      expect(
        ofType(lines, "result")
          .map(({ call }) => call)
          .sort(),
      ).toEqual([1, 2, 3]);
      expect((await stat(file)).mode & 0o777).toBe(0o600);
    },
  );

  verifies(
    "Y2",
    "masks secrets by key, also in texts that are JSON, in what they were rendered into, and in URLs",
    async () => {
      const login = defineTool({
        name: "login",
        run: () => ({
          sessionToken: "tok-secret-1",
          note: 'it is {"password":"hunter-22"}',
          url: "https://ada:pass@host/x",
        }),
      });
      await using toolkit = scripted(
        [{ toolCalls: [{ name: "login" }] }, "Done with tok-secret-1."],
        [planPrompt(), login],
        {
          redact: ["iban"],
        },
      );
      const input = { city: "Bern", apiKey: "sk-secret-2", iban: "CH93-0076" };
      const { header, lines } = await tapeOf(toolkit, () => toolkit.call("plan", input));
      const text = JSON.stringify(lines);
      expect(header.redact).toEqual(["iban"]);
      for (const secret of ["tok-secret-1", "sk-secret-2", "CH93-0076", "ada:pass"]) expect(text).not.toContain(secret);
      expect(text).toContain("Plan a day in");
      expect(text).toContain("Bern");
    },
  );

  verifies("Y2", "has errors, questions with their answers, approvals, and changes of lists", async () => {
    const ask = defineTool({
      name: "ask",
      run: async (_input, context) => (await context.elicit("Your name?", { type: "object", properties: {} })).action,
    });
    const fail = defineTool({ name: "fail", run: () => Promise.reject(new Error("It broke.")) });
    const guarded = defineTool({ name: "guarded", options: { needsApproval: true }, run: () => "ran" });
    const lines: TapeLine[] = [];
    await using toolkit = new Toolkit({
      items: [ask, fail, guarded],
      delegate: { elicit: async () => ({ action: "accept" }), approve: async () => ({ approved: false, by: "ada" }) },
    });
    const recording = record(toolkit, { to: (line) => void lines.push(line) });
    await toolkit.call("ask");
    await expect(toolkit.call("fail")).rejects.toMatchObject({ code: "TOOL_FAILED" });
    await expect(toolkit.call("guarded")).rejects.toMatchObject({ code: "DENIED" });
    const added = Promise.withResolvers<void>();
    toolkit.on("toolListChanged", () => added.resolve());
    toolkit.add(defineTool({ name: "late", run: () => "late" }));
    await added.promise;
    await recording.close();
    expect(ofType(lines, "question")).toMatchObject([
      { kind: "elicit", requester: "builtin.ask", request: { message: "Your name?" }, answer: { action: "accept" } },
    ]);
    expect(ofType(lines, "result").flatMap(({ error }) => error?.code ?? [])).toEqual(["TOOL_FAILED", "DENIED"]);
    expect(ofType(lines, "list")).toMatchObject([{ kind: "tool", namespace: "builtin", added: ["builtin.late"] }]);
    expect(recording.lines).toBe(lines.length);
    // Nothing is written after its end.
    await toolkit.call("ask");
    expect(lines.at(-1)).toMatchObject({ type: "end", dropped: 0 });
  });

  verifies("Y2", "of one run has nothing of another that goes on at the same time", async () => {
    const gates = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    const [one, other] = gates.map(({ promise }, index) => defineTool({ name: `t${index}`, run: () => promise }));
    const inner = defineTool({ name: "inner", run: async (_input, context) => context.toolbox.call("t0") });
    await using toolkit = new Toolkit({ items: [one, other, inner].flatMap((each) => each ?? []) });
    const beside = toolkit.call("t1");
    const tape = tapeOf(toolkit, () => toolkit.call("inner"));
    for (const { resolve } of gates) resolve("done");
    await beside;
    await toolkit.call("t1");
    const { lines } = await tape;
    expect(ofType(lines, "call").map(({ ref, parent }) => [ref, parent])).toEqual([
      ["builtin.inner", undefined],
      ["builtin.t0", 1],
    ]);
  });

  test("has the connections that are there, that come and that go, by the clock of the toolkit", async () => {
    const clock = virtualClock(0);
    await using toolkit = new Toolkit({ clock });
    toolkit.addConnector(new FakeConnector({ lists: { tool: [{ name: "echo" }] } }), { namespace: "far" });
    await toolkit.start();
    const lines: TapeLine[] = [];
    const recording = record(toolkit, { to: (line) => void lines.push(line) });
    clock.stall(1_500);
    await toolkit.removeConnector("far");
    await recording.close();
    expect(lines[0]).toMatchObject({ type: "tape", beganAt: "1970-01-01T00:00:00.000Z" });
    expect(ofType(lines, "connection").map(({ at, state }) => [at, state])).toEqual([
      [0, "connected"],
      [1_500, "removed"],
    ]);
  });
});

describe("the bounds of a tape", () => {
  verifies(
    "Y2",
    "a line that is too long loses its largest member and says so; a full tape counts what it lacks",
    async () => {
      const big = defineTool({ name: "big", run: () => "x".repeat(5_000) });
      const { warnings, logger } = warningsLogger();
      await using toolkit = new Toolkit({ items: [big], logger });
      const lines: TapeLine[] = [];
      const to = (line: TapeLine) => void lines.push(line);
      await using recording = record(toolkit, { to, maxLineBytes: 1_024, maxBytes: 1_500 });
      for (let count = 0; count < 20; count++) await toolkit.call("big", { count });
      await recording.close();
      const [result] = ofType(lines, "result");
      expect(result).toMatchObject({ call: 1, cut: expect.any(Number) });
      expect(result?.content).toBeUndefined();
      expect(recording.dropped).toBeGreaterThan(10);
      expect(lines.at(-1)).toMatchObject({ type: "end", dropped: recording.dropped });
      expect(warnings).toEqual([expect.stringContaining("raise maxBytes")]);
      expect(parseTape(lines).dropped).toBe(recording.dropped);
    },
  );

  test("a stream that fails, or takes nothing, drops lines and harms no call", async () => {
    const { tool } = weatherTool();
    const { warnings, logger } = warningsLogger();
    await using toolkit = new Toolkit({ items: [tool], logger });
    const broken = new Writable({ write: (_chunk, _encoding, done) => done(new Error("The disk is full.")) });
    const failed = new Promise<void>((resolve) => broken.once("close", resolve));
    const recording = record(toolkit, { to: broken });
    await failed;
    expect(await toolkit.call("weather", { city: "Bern" }).then((content) => content.json())).toMatchObject({
      sky: "blue",
    });
    await recording.close();
    expect([recording.failure?.message, recording.dropped > 0]).toEqual(["The disk is full.", true]);
    expect(warnings).toEqual([expect.stringContaining("The disk is full.")]);
  });

  verifies(
    "Y2",
    "a process that is killed has lost no line",
    async () => {
      const file = folder.path("killed.tape");
      const script = `
      import { defineTool, Toolkit } from ${JSON.stringify(fileURLToPath(new URL("../../src/index.ts", import.meta.url)))};
      import { record } from ${JSON.stringify(fileURLToPath(new URL("../../src/tape/index.ts", import.meta.url)))};
      const toolkit = new Toolkit({ items: [defineTool({ name: "one", run: () => "1" }), defineTool({ name: "die", run: () => process.kill(process.pid, "SIGKILL") })] });
      record(toolkit, { to: ${JSON.stringify(file)} });
      await toolkit.call("one");
      await toolkit.call("die");
    `;
      const child = spawn(process.execPath, ["--no-warnings", "--input-type=module", "--eval", script], {
        stdio: "inherit",
      });
      const [, signal] = (await once(child, "close")) as [number | null, string | null];
      expect(signal).toBe("SIGKILL");
      const { lines, isComplete } = await readTape(file);
      expect(isComplete).toBe(false);
      expect(lines.map((line) => `${line.type} ${"ref" in line ? line.ref : ""}`)).toEqual([
        "item builtin.one",
        "call builtin.one",
        "result ",
        "item builtin.die",
        "call builtin.die",
      ]);
    },
    240_000,
  );

  test("an earlier tape is replaced, and no other file", async () => {
    await using toolkit = new Toolkit();
    const file = folder.path("a.tape");
    for (let count = 0; count < 2; count++) await record(toolkit, { to: file }).close();
    expect((await readFile(file, "utf8")).trimEnd().split("\n")).toHaveLength(2);
    await writeFile(file, "a letter");
    expect(() => record(toolkit, { to: file })).toThrow(/a\.tape cannot be written: it is there, and is no tape/);
    expect(await readFile(file, "utf8")).toBe("a letter");
    expect(() => record(toolkit, { to: folder.path("no/such/folder.tape") })).toThrow(/cannot be written/);
  });

  test("options that are wrong are refused", async () => {
    await using toolkit = new Toolkit();
    const to = () => undefined;
    expect(() => record(toolkit, { to: 7 as never })).toThrow(/option to of a recording/);
    expect(() => record(toolkit, { to, maxBytes: 0 })).toThrow(/maxBytes/);
    expect(() => record(toolkit, { to, redact: [""] })).toThrow(/redact/);
    expect(() => record(toolkit, { to, file: "x" } as never)).toThrow(/no option "file"/);
    expect(() => record({} as never, { to })).toThrow(/must be a Toolkit/);
  });
});
