import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect } from "vitest";
import { verifies } from "../support/verifies.ts";

/** Runs a module in a process that dies of an unhandled rejection, and must end by itself. */
async function runs(body: string): Promise<string> {
  const from = JSON.stringify(new URL("../../src/index.ts", import.meta.url).href);
  const script = `import { Toolkit, resource, defineResource } from ${from};\nconst never = new Promise(() => {});\n${body}`;
  const options = { timeout: 20_000, killSignal: "SIGKILL" } as const;
  const args = ["--unhandled-rejections=strict", "--input-type=module", "-e", script];
  return (await promisify(execFile)(process.execPath, args, options)).stdout;
}

verifies(
  "C12",
  "nothing that goes wrong in a tool, listener, delegate, logger or source is an unhandled rejection",
  async () => {
    const stdout = await runs(`
    const reject = async () => { throw new Error("rejected"); };
    const logger = { debug: reject, info: reject, warn: reject, error: reject };
    const delegate = { onEvent: reject, runPrompt: reject };
    const toolkit = new Toolkit({ logger, delegate, use: [(call, next) => next(call)] });
    toolkit.on("*", reject);
    toolkit.on("callFinished", () => { throw Object.create(null); });
    const input = { type: "object", required: ["a"] };
    const hostile = Object.create(null);
    toolkit.add(
      { kind: "prompt", name: "p", render: reject },
      { kind: "tool", name: "rejects", run: reject },
      { kind: "tool", name: "odd", run: () => Promise.reject(hostile) },
      { kind: "tool", name: "late", run: (_, { signal }) => new Promise((_, fail) => signal.addEventListener("abort", () => setTimeout(() => fail(new Error("late")), 20))) },
      { kind: "tool", name: "never", run: () => never },
      { kind: "tool", name: "strict", input, run: () => 1 },
      { kind: "tool", name: "logs", run: async (_, { logger, progress }) => { logger.info("x"); } },
      { kind: "tool", name: "reports", run: (_, context) => { context.progress(1); return "done"; } },
      { kind: "tool", name: "forgets", run: (_, { toolbox }) => { toolbox.call("reports"); return "done"; } },
      { kind: "tool", name: "stream", run: async function* () { yield 1; throw new Error("stream"); } },
      { kind: "tool", name: "bigint", run: async () => 1n },
      defineResource({ uri: "doc:bad", name: "bad", bytes: reject }),
    );
    let tell;
    toolkit.addSource("bad", { tool: reject, prompt: () => [null], watch: (listener) => { tell = listener; return reject; } });
    await toolkit.start();
    const controller = new AbortController();
    const { signal } = controller;
    const session = { id: "s", log: reject };
    const options = { session, onProgress: reject, onPartial: reject };
    const calls = ["p", "rejects", "odd", "strict", "logs", "reports", "forgets", "stream", "bigint", "missing"].map((name) => toolkit.call(name, {}, options));
    calls.push(...["late", "never"].map((name) => toolkit.call(name, {}, { signal })));
    calls.push(...["late", "never"].map((name) => toolkit.call(name, {}, { timeoutMs: 20 })));
    calls.push(toolkit.read("doc:bad"), toolkit.render("p"), toolkit.read("missing:x"), toolkit.lookup("missing"));
    calls.push(toolkit.call("strict", defineResource({ uri: "doc:in", name: "in", bytes: reject })));
    tell({ kind: "tool" });
    tell({ kind: "gadget" });
    setTimeout(() => controller.abort(hostile), 10);
    const outcomes = await Promise.allSettled(calls);
    calls.length = 0;
    const closing = toolkit.call("never").catch((error) => error.code);
    setTimeout(async () => {
      await toolkit.close();
      console.log(outcomes.map(({ status, reason }) => (status === "fulfilled" ? "ok" : reason?.code ?? "reason")).join(" "), await closing);
    }, 100);
  `);
    expect(stdout.trim()).toBe(
      "TOOL_FAILED TOOL_FAILED TOOL_FAILED INVALID_INPUT ok ok ok TOOL_FAILED INVALID_OUTPUT NOT_FOUND reason reason TIMEOUT TIMEOUT TOOL_FAILED TOOL_FAILED NOT_FOUND NOT_FOUND INVALID_INPUT CLOSED",
    );
  },
  30_000,
);

verifies(
  "C7",
  "no timer keeps a process alive after the calls it was for, though the toolkit is not closed",
  async () => {
    const stdout = await runs(`
    const toolkit = new Toolkit();
    toolkit.addSource("pack", { tool: () => [] });
    toolkit.add({ kind: "tool", name: "quick", run: async () => "done" }, { kind: "tool", name: "never", run: () => never });
    await toolkit.start();
    const events = toolkit.events();
    events.next();
    await toolkit.call("quick", {}, { timeoutMs: 600_000 });
    const error = await toolkit.call("never", {}, { timeoutMs: 50 }).catch((caught) => caught);
    process.on("exit", (code) => console.log(code, error.code));
  `);
    expect(stdout.trim()).toBe("0 TIMEOUT");
  },
  30_000,
);

verifies(
  "C7",
  "a limit is reached though nothing else keeps the process alive",
  async () => {
    expect(
      await runs(`
      const toolkit = new Toolkit({ timeoutMs: 50, startTimeoutMs: 50 });
      toolkit.addSource("hung", { tool: () => never });
      const missing = await toolkit.lookup("hung.tool").catch((caught) => caught);
      console.log(missing.code);
      toolkit.addSource("hungToo", { tool: () => never });
      await toolkit.start();
      const error = await toolkit.call({ kind: "tool", name: "never", run: () => never }).catch((caught) => caught);
      console.log(error.code);
    `),
    ).toBe("NOT_FOUND\nTIMEOUT\n");
  },
  30_000,
);
