import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { type AgentOptions, agent } from "../../../src/agent/index.ts";
import { defineTool, memoryStore, parsePrompt, Toolkit } from "../../../src/index.ts";
import { sqliteStore } from "../../../src/store/sqlite/index.ts";
import { type ModelRequest, type ScriptedToolCall, scriptedModel, virtualClock } from "../../../src/testing/index.ts";
import { failure } from "../../support/failure.ts";
import { verifies } from "../../support/verifies.ts";
import { resultsIn, type Served, serve, toldIn } from "../support.ts";
import { large, largeServer, rows } from "./support.ts";

const uriIn = (value: unknown) => /result:[\w-]+\/\d+/.exec(JSON.stringify(value))?.[0] ?? "";
const call = (name: string, input: object = {}) => ({ toolCalls: [{ name, input }] });
const tokensOf = (value: unknown) => Math.ceil(Buffer.byteLength(JSON.stringify(value)) / 4);

/** A run that exports, and then makes calls with the URI of the result, one after the other. */
async function withLarge(
  calls: readonly ScriptedToolCall[],
  look: (told: readonly string[], served: Served) => unknown,
  { tool = "shop__export", ...options }: AgentOptions & { readonly tool?: string } = {},
) {
  await using server = largeServer();
  await using served = serve(
    ({ prompt }, index) => {
      const next = calls[index - 1];
      if (index === 0) return call(tool);
      return next === undefined
        ? "done"
        : { toolCalls: [{ ...next, input: { uri: uriIn(prompt), ...(next.input as object) } }] };
    },
    [],
    { agent: options },
  );
  served.toolkit.addConnector(server.connector(), { namespace: "shop" });
  await served.toolkit.start();
  await served.assistant.generate("Go.", { tools: ["shop.*"] });
  await look(served.model.requests.slice(2).map(toldIn), served);
}

describe("a large result of a server", () => {
  for (const tool of ["shop__export", "shop__structured"]) {
    verifies("A4", `of 318,000 characters costs at most 1,500 tokens, its tools included: ${tool}`, async () => {
      await withLarge(
        [],
        (_told, { model: { requests } }) => {
          const [first, second] = requests;
          const reading = second?.tools?.filter(({ name }) => name.startsWith("result_")) ?? [];
          expect(large.length).toBeGreaterThan(318_000);
          expect(tokensOf(resultsIn(second)) + tokensOf(reading)).toBeLessThan(1_500);
          expect(reading.map(({ name }) => name)).toEqual(["result_read", "result_grep", "result_select"]);
          expect(first?.tools?.some(({ name }) => name.startsWith("result_"))).toBe(false);
        },
        { tool },
      );
    });
  }

  verifies("A4", "can be read to its last byte, also in one piece by the caller", async () => {
    await using server = largeServer();
    let text = "";
    await using served = serve(
      ({ prompt }, index) => {
        if (index === 0) return call("shop__export");
        const [told] = [toldIn({ prompt } as ModelRequest)];
        const offset = /(?:"offset":|offset )(\d+)[^\]]*\]$/.exec(told)?.[1];
        text += told.replace(/\n\n\[(?:Truncated|Characters)[^\]]*\]$/, "");
        return offset === undefined ? "done" : call("result_read", { uri: uriIn(prompt), offset: Number(offset) });
      },
      [],
      { agent: { maxSteps: 200 } },
    );
    served.toolkit.addConnector(server.connector(), { namespace: "shop" });
    await served.toolkit.start();
    const answer = await served.assistant.generate("Go.", { tools: ["shop.*"] });
    expect(text === large).toBe(true);
    const whole = await served.assistant.readResult(`result:${answer.meta?.run}/1`);
    expect((await whole.text()) === large).toBe(true);
  });

  verifies("A4", "is searched: each match with its offset, in pages", async () => {
    const at = large.indexOf('"name":"Customer 4321"');
    const calls = [
      { name: "result_grep", input: { pattern: "Customer 4321\\b" } },
      { name: "result_grep", input: { pattern: "customer 43\\d\\d", ignoreCase: true, limit: 3, context: 5 } },
      { name: "result_grep", input: { pattern: "Customer 43\\d\\d", offset: at - 5, context: 0 } },
      { name: "result_grep", input: { pattern: "Zürich" } },
    ];
    await withLarge(calls, ([one = "", three = "", rest = "", none = ""]) => {
      expect(one).toMatch(
        /^\d+: .*"name":"Customer 4321","city".*\n\n\[1 matches from 0 to the end of the \d+ characters\.\]$/s,
      );
      expect(large.slice(Number.parseInt(one, 10))).toMatch(/^Customer 4321/);
      expect(three).toMatch(/Customer 4300.*Customer 4301.*Customer 4302.*\[3 matches.*Go on with offset \d+\.\]$/s);
      expect(rest).toMatch(/^\d+: Customer 4321\n\d+: Customer 4322\n.*4330\n\n\[10 matches/s);
      expect(none).toMatch(/^\[0 matches/);
    });
  });

  verifies("A4", "is searched line by line where it has lines", async () => {
    const calls = [
      { name: "result_grep", input: { pattern: "^1999\\d ok$", limit: 50 } },
      { name: "result_grep", input: { pattern: "ok\\n3 ok" } },
      { name: "result_grep", input: { pattern: "^ok", limit: 1 } },
    ];
    await withLarge(
      calls,
      ([lines = "", across = "", none = ""]) => {
        expect(lines.match(/: 1999\d ok$/gm)).toHaveLength(10);
        expect(across).toMatch(/^\d+: 2 ok\n3 ok/);
        expect(none).toMatch(/^\[0 matches/);
      },
      { tool: "shop__log" },
    );
  });

  verifies("A4", "is selected from, and a selection that is large itself is a result again", async () => {
    const calls = [
      { name: "result_select", input: { expression: "rows[?id == `4321`].[name, city] | [0]" } },
      { name: "result_select", input: { expression: "length(rows)" } },
      { name: "result_select", input: { expression: "max_by(rows, &price).price" } },
      { name: "result_select", input: { expression: "rows[].name" } },
      { name: "result_select", input: { expression: "rows[?id =" } },
      { name: "result_select", input: { expression: "nosuch(rows)" } },
    ];
    await withLarge(calls, async ([pair, count, most, names = "", wrong, unknown], { assistant }) => {
      expect([pair, count, most]).toEqual(['["Customer 4321","Genève"]', "5150", "999"]);
      expect(names).toMatch(/^\["Customer 0".*\[Truncated/s);
      expect(await (await assistant.readResult(uriIn(names))).json()).toEqual(rows.map(({ name }) => name));
      expect(wrong).toMatch(/INVALID_INPUT.*expression/);
      expect(unknown).toMatch(/INVALID_INPUT.*nosuch.*no function.*sort_by/);
    });
  });

  verifies("A4", "that is no JSON is not selected from, and a wrong pattern says why", async () => {
    const calls = [
      { name: "result_select", input: { expression: "@" } },
      { name: "result_grep", input: { pattern: "(?<=a)b" } },
      { name: "result_grep", input: { pattern: "(" } },
    ];
    await withLarge(
      calls,
      (told) => {
        expect(told[0]).toMatch(/INVALID_INPUT.*no JSON/);
        for (const text of told.slice(1)) expect(text).toMatch(/INVALID_INPUT.*pattern cannot be searched for/);
      },
      { tool: "shop__log" },
    );
  });
});

const big = defineTool({ name: "big", run: () => large });
const pay = defineTool({ name: "pay", options: { needsApproval: true }, run: () => "paid" });

/** The answer to a further run that reads a result by its URI. */
async function readBy(toolkit: Toolkit, uri: string, session: object | undefined): Promise<string> {
  const model = scriptedModel([call("big"), call("result_read", { uri, length: 20 }), "done"]);
  const other = agent({ defaultModel: model });
  await other.generate("Go.", { toolbox: toolkit, tools: ["big"], session: session as never });
  return toldIn(model.requests[2]);
}

describe("a kept result", () => {
  const ada = { id: "1", principal: "ada" };
  const bob = { id: "1", principal: "bob" };
  const owners: readonly (readonly [
    whose: string,
    session: object | undefined,
    others: readonly (object | undefined)[],
  ])[] = [
    ["a principal", ada, [bob, { id: "1" }, undefined]],
    ["a session", { id: "1" }, [{ id: "2" }, bob, undefined]],
    ["the service", undefined, [{ id: "1" }, bob]],
  ];
  for (const [whose, session, others] of owners) {
    verifies("A4", `of ${whose} is read by later runs of the same, and by nothing else`, async () => {
      const read: (readonly [string, string])[] = [];
      const uris: string[] = [];
      await using served = serve(
        (request, index) => {
          const at = index % 3;
          if (at === 0) return call("big");
          if (at === 1) uris.push(uriIn(request.prompt.at(-1)));
          if (at === 2) read.push([uris[0] ?? "", toldIn(request)]);
          return at === 1 ? call("result_read", { uri: uris[0], length: 20 }) : "done";
        },
        [big],
      );
      for (const by of [session, session, ...others])
        await served.assistant.generate("Go.", { tools: ["big"], session: by as never });
      const texts = read.map(([, text]) => text);
      for (const text of texts.slice(0, 2)) expect(text).toMatch(/^\{"rows":\[\{"id":0,"na\n/);
      for (const text of texts.slice(2)) expect(text).toMatch(/NOT_FOUND/);
      const [uri = ""] = uris;
      const own = { session: session as never };
      expect((await (await served.assistant.readResult(uri, own)).text()) === large).toBe(true);
      for (const other of others)
        expect((await failure(served.assistant.readResult(uri, { session: other as never }))).code).toBe("NOT_FOUND");
    });
  }

  verifies("A4", "is there for the conversation that goes on, with the tools from the first turn", async () => {
    await using served = serve(
      ({ prompt }, index) => {
        if (index === 0) return call("big");
        return index === 2 ? call("result_read", { uri: uriIn(prompt), offset: 10, length: 5 }) : "done";
      },
      [big],
    );
    const first = await served.assistant.generate("Go.", { tools: ["big"] });
    const conversation = JSON.parse(JSON.stringify(served.assistant.conversationOf(first)));
    await served.assistant.generate("On.", { tools: ["big"], conversation });
    expect(toldIn(served.model.requests[3])).toMatch(/^"id":\n/);
  });

  verifies(["A4", "A7"], "of a run that was suspended is there in another process that has the store", async () => {
    const store = memoryStore();
    const script = ({ prompt }: ModelRequest) => {
      const results = prompt.filter(({ role }) => role === "tool").length;
      if (results === 0) return call("big");
      if (results === 1) return call("pay");
      return results === 2 ? call("result_grep", { uri: uriIn(prompt), pattern: "Customer 4321" }) : "done";
    };
    const session = { id: "1", principal: "ada" };
    const began = serve(script, [big, pay], { toolkit: { store } });
    const waiting = await failure(began.assistant.generate("Go.", { tools: ["*"], session }));
    const [record] = (await store.list({ collection: "run" })).records;
    const stored = JSON.parse(JSON.stringify(record));
    const kept = await store.list({ collection: "result" }, { bytes: true });
    const approvals = await store.list({ collection: "approval" });
    // Another process has what was stored, and nothing else.
    const elsewhere = memoryStore();
    for (const each of [stored, ...kept.records, ...approvals.records]) await elsewhere.put(each);
    await using on = serve(script, [big, pay], { toolkit: { store: elsewhere } });
    for (const { id } of await on.toolkit.approvals.list({ status: "pending" }))
      await on.toolkit.approvals.resolve(id, { approved: true });
    await on.assistant.resume((waiting.details as { id: string }).id, { session });
    expect(on.model.requests.flatMap(({ tools = [] }) => tools.map(({ name }) => name))).toContain("result_grep");
    expect(toldIn(on.model.requests.at(-1))).toMatch(/Customer 4321.*1 matches/s);
    await began.toolkit.close();
  });

  verifies(["A4", "S1"], "in a file is there for the conversation that goes on in another process", async () => {
    const folder = await mkdtemp(join(tmpdir(), "toolweave-results-"));
    const session = { id: "1", principal: "ada" };
    const open = () => serve(script, [big], { toolkit: { store: sqliteStore({ file: join(folder, "store.db") }) } });
    const script = ({ prompt }: ModelRequest) => {
      if (prompt.at(-1)?.role === "tool") return "done";
      return prompt.length === 1
        ? call("big")
        : call("result_select", { uri: uriIn(prompt), expression: "rows[7].name" });
    };
    try {
      const one = open();
      const first = await one.assistant.generate("Go.", { tools: ["big"], session });
      const conversation = JSON.parse(JSON.stringify(one.assistant.conversationOf(first)));
      await one.toolkit.close();
      await using other = open();
      await other.assistant.generate("On.", { tools: ["big"], session, conversation });
      expect(toldIn(other.model.requests[1])).toBe('"Customer 7"');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  verifies("A4", "of a sub-agent is read by the run that called it", async () => {
    const prompts = [
      parsePrompt("---\nname: inner\ntools: [big]\n---\nI am inner."),
      parsePrompt("---\nname: outer\ntools: [inner]\n---\nI am outer."),
    ];
    await using served = serve(
      ({ prompt }) => {
        const isDone = prompt.at(-1)?.role === "tool";
        if (JSON.stringify(prompt).includes("I am inner")) return isDone ? `It is in ${uriIn(prompt)}.` : call("big");
        if (!isDone) return call("inner");
        const uri = uriIn(prompt);
        return JSON.stringify(prompt).includes('result_read","input')
          ? "done"
          : call("result_read", { uri, length: 9 });
      },
      [big, ...prompts],
    );
    await served.toolkit.call("outer");
    expect(toldIn(served.model.requests.at(-1))).toMatch(/^\{"rows":\[\n/);
  });

  verifies("A4", "is gone after its time, and the oldest where an owner has too many", async () => {
    const clock = virtualClock();
    const store = memoryStore({ clock });
    const results = { keepMs: 1_000, maxBytes: 1_000_000 };
    const size = Buffer.byteLength(large);
    await using served = serve((request) => (request.prompt.at(-1)?.role === "tool" ? "done" : call("big")), [big], {
      agent: { clock, results },
      toolkit: { store },
    });
    const uris: string[] = [];
    for (const _ of [1, 2, 3, 4]) {
      const answer = await served.assistant.generate("Go.", { tools: ["big"] });
      uris.push(`result:${answer.meta?.run}/1`);
      await clock.advance(100);
    }
    const codes = () =>
      Promise.all(
        uris.map((uri) =>
          served.assistant.readResult(uri).then(
            ({ size }) => size,
            ({ code }) => code,
          ),
        ),
      );
    expect(await codes()).toEqual(["NOT_FOUND", "NOT_FOUND", size, size]);
    await clock.advance(2_000);
    expect(new Set(await codes())).toEqual(new Set(["NOT_FOUND"]));
    await served.assistant.generate("Go.", { tools: ["big"] });
    expect((await store.list({ collection: "result" })).records).toHaveLength(1);
  });

  verifies("A4", "that could not be stored is there for its run, and the operator learns why", async () => {
    const warnings: string[] = [];
    const logger = { debug() {}, info() {}, warn: (message: string) => warnings.push(message), error() {} };
    const store = memoryStore();
    await using served = serve(
      ({ prompt }, index) =>
        index === 0 ? call("big") : index === 1 ? call("result_read", { uri: uriIn(prompt) }) : "done",
      [big],
      { agent: { results: { maxBytes: 1_000 } }, toolkit: { store, logger } },
    );
    const answer = await served.assistant.generate("Go.", { tools: ["big"] });
    expect(toldIn(served.model.requests[2])).toMatch(/^\{"rows"/);
    expect(warnings).toEqual([expect.stringMatching(/result:.*kept for its run alone.*quota/)]);
    expect((await failure(served.assistant.readResult(`result:${answer.meta?.run}/1`))).code).toBe("NOT_FOUND");
  });

  verifies("A4", "that is larger than all that may be kept pushes no other out", async () => {
    const huge = defineTool({ name: "huge", run: () => "x".repeat(600_000) });
    await using served = serve(
      ({ prompt }) =>
        prompt.at(-1)?.role === "tool" ? "done" : call(JSON.stringify(prompt).includes("Huge") ? "huge" : "big"),
      [big, huge],
      { agent: { results: { maxBytes: 500_000 } } },
    );
    const first = await served.assistant.generate("Big.", { tools: ["*"] });
    await served.assistant.generate("Huge.", { tools: ["*"] });
    expect((await served.assistant.readResult(`result:${first.meta?.run}/1`)).size).toBe(Buffer.byteLength(large));
  });

  verifies("A4", "of a run outside of every toolkit is kept as well", async () => {
    const model = scriptedModel([call("big"), "done"]);
    const alone = agent({ defaultModel: model });
    const answer = await alone.generate("Go.", { tools: [big] });
    expect((await alone.readResult(`result:${answer.meta?.run}/1`)).size).toBeGreaterThan(318_000);
    await using toolkit = new Toolkit({ items: [big] });
    expect(await readBy(toolkit, `result:${answer.meta?.run}/1`, undefined)).toMatch(/NOT_FOUND/);
  });

  for (const results of [{ keepMs: 0 }, { maxBytes: Number.NaN }, { keep: 1 }, "x"]) {
    verifies("A4", `has no such option as ${JSON.stringify(results)}`, () => {
      expect(() => agent({ results: results as never })).toThrow(expect.objectContaining({ code: "INVALID_CONFIG" }));
    });
  }
});
