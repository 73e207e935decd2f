import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished } from "vitest";
import { defineTool, parsePrompt } from "../../src/index.ts";
import { sqliteStore } from "../../src/store/sqlite/index.ts";
import type { ModelRequest } from "../../src/testing/index.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { serve } from "./support.ts";

const tool = (name: string, options = {}) => defineTool({ name, options, run: () => `${name} done` });
const items = [
  tool("search"),
  tool("draft"),
  tool("look_up", { capability: true }),
  tool("answer", { exclusive: true, takesControl: true }),
  tool("sole", { exclusive: true }),
  tool("guarded", { needsApproval: true }),
  parsePrompt("---\nname: writer\ntools: [search, draft]\n---\nWrite."),
  parsePrompt("---\nname: closer\ntools: [answer, search]\n---\nClose."),
  parsePrompt("---\nname: torn\ntools: [answer, sole]\n---\nClose."),
];
const offered = ({ tools = [], toolChoice }: ModelRequest) => [tools.map(({ name }) => name), toolChoice];
const search = { toolCalls: [{ name: "search" }] };
const auto = { type: "auto" };

describe("the tools that a caller forces", () => {
  verifies(["A2", "T2"], "one is the tool choice of the first turn alone, of a text and of a prompt", async () => {
    const all = ["draft", "search"];
    const calls = [{ type: "tool", toolName: "search" }, auto];
    for (const ask of ["generate", "stream", "call"] as const) {
      await using served = serve([search, "done"], items);
      const options = { forced: ["search"] };
      if (ask === "generate") await served.assistant.generate("Go.", { tools: all, ...options });
      else if (ask === "stream") await served.assistant.stream({ prompt: "writer" }, options).result;
      else await served.toolkit.call("writer", {}, options);
      expect(served.model.requests.map(offered)).toEqual(calls.map((choice) => [all, choice]));
    }
  });

  verifies(
    ["A2", "T2"],
    "of several only they are offered in the first turn, with what only adds an ability",
    async () => {
      await using served = serve([search, "done"], items);
      await served.assistant.generate("Go.", { tools: ["*"], forced: ["search", "builtin.draft"] });
      expect(served.model.requests.map(offered)).toEqual([
        [["draft", "look_up", "search"], { type: "required" }],
        [["draft", "guarded", "look_up", "search", "closer", "torn", "writer"], auto],
      ]);
    },
  );

  verifies(["A2", "T2"], "one that the prompt does not name is offered too, and one of the caller's own", async () => {
    await using served = serve([search, "done", { toolCalls: [{ name: "mine" }] }, "done"], items);
    await served.assistant.generate("Go.", { tools: ["draft"], forced: ["search"] });
    await served.assistant.generate("Go.", { tools: [tool("mine")], forced: ["mine"] });
    const named = (toolName: string) => ({ type: "tool", toolName });
    expect(served.model.requests.map(offered)).toEqual([
      [["draft", "search"], named("search")],
      [["draft", "search"], auto],
      [["mine"], named("mine")],
      [["mine"], auto],
    ]);
  });

  verifies(["A2", "T2"], "an exclusive one among them stands alone", async () => {
    await using served = serve([{ toolCalls: [{ name: "answer" }] }], items);
    const done = await served.assistant.generate("Go.", { tools: ["*"], forced: ["search", "answer"] });
    expect(await done.text()).toBe("answer done");
    expect(served.model.requests.map(offered)).toEqual([[["answer"], { type: "tool", toolName: "answer" }]]);
  });

  verifies(["A2", "T2"], "a prompt that names an exclusive one gets it alone, and not two of them", async () => {
    await using served = serve(["done", "done"], items);
    await served.toolkit.call("closer");
    await served.assistant.generate("Go.", { tools: [tool("own", { exclusive: true })] });
    expect(served.model.requests.map(offered)).toEqual([
      [["answer"], auto],
      [["own"], auto],
    ]);
    const torn = await failure(served.toolkit.call("torn"));
    expect([torn.code, torn.message]).toEqual(["INVALID_INPUT", expect.stringMatching(/answer and .*sole.*exclusive/)]);
    const both = await failure(served.toolkit.call("closer", {}, { forced: ["draft"] }));
    expect([both.code, both.message]).toEqual(["INVALID_INPUT", expect.stringMatching(/answer is exclusive/)]);
  });

  verifies(["A2", "T2"], "stay forced no longer where the run was suspended in its first turn", async () => {
    const call = { toolCalls: [{ name: "guarded" }] };
    await using served = serve([call, "done"], items);
    const waiting = await failure(served.assistant.generate("Go.", { tools: ["search"], forced: ["guarded"] }));
    for (const { id } of await served.toolkit.approvals.list({ status: "pending" }))
      await served.toolkit.approvals.resolve(id, { approved: true });
    await served.assistant.resume((waiting.details as { id: string }).id);
    const all = ["guarded", "search"];
    expect(served.model.requests.map(offered)).toEqual([
      [all, { type: "tool", toolName: "guarded" }],
      [all, auto],
    ]);
  });

  for (const session of [{ id: "1", principal: "ada" }, undefined]) {
    verifies(
      ["A2", "T2", "H2"],
      `stay forced where the call of the prompt waits itself, in this process and in another: ${JSON.stringify(session)}`,
      async () => {
        const folder = await mkdtemp(join(tmpdir(), "toolweave-forced-"));
        onTestFinished(() => rm(folder, { recursive: true, force: true }));
        const service = () =>
          serve(() => "done", items, { toolkit: { store: sqliteStore({ file: join(folder, "db") }) } });
        const waiting: string[] = [];
        const look = async (id: string) => {
          await using served = service();
          await served.toolkit.approvals.resolve(id, { approved: true });
          await served.toolkit.approvals.wait(id);
          expect(served.model.requests.map(offered)).toEqual([
            [["draft", "search"], { type: "tool", toolName: "draft" }],
          ]);
          const kept = await served.assistant.conversations.get("chat", { session });
          expect(kept?.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
          await served.assistant.conversations.delete("chat", { session });
        };
        {
          await using served = service();
          const options = { forced: ["draft"], conversation: "chat", session, needsApproval: "It costs." };
          for (let count = 0; count < 2; count += 1) {
            const error = await failure(served.toolkit.call("writer", {}, options));
            waiting.push((error.details as { id: string }).id);
          }
          expect(JSON.stringify(await served.toolkit.approvals.list())).not.toMatch(/forced|Anonymous/);
          const [own = ""] = waiting;
          await served.toolkit.approvals.resolve(own, { approved: true });
          await served.toolkit.approvals.wait(own);
          expect(served.model.requests.map(offered)).toEqual([
            [["draft", "search"], { type: "tool", toolName: "draft" }],
          ]);
          expect(await served.assistant.conversations.delete("chat", { session })).toBe(true);
        }
        await look(waiting[1] ?? "");
      },
    );
  }

  const wrong: readonly (readonly [what: string, forced: unknown, code: string, says: RegExp])[] = [
    ["an unknown name", ["serch"], "NOT_FOUND", /forced names "serch".*search/],
    ["an empty name", [""], "INVALID_CONFIG", /forced/],
    ["no list", "search", "INVALID_CONFIG", /forced/],
  ];
  for (const [what, forced, code, says] of wrong) {
    verifies(["A2", "T2"], `are refused: ${what}`, async () => {
      await using served = serve(["done"], items);
      const error = await failure(served.assistant.generate("Go.", { tools: ["*"], forced: forced as string[] }));
      expect([error.code, error.message]).toEqual([code, expect.stringMatching(says)]);
      expect(served.model.requests).toEqual([]);
    });
  }

  verifies(
    ["A2", "T5"],
    "where none may be called, no definition is sent, and a structured answer comes all the same",
    async () => {
      const agent = { policy: { toolChoice: "none" as const } };
      await using served = serve([search, '{"n":1}'], items, { agent });
      const output = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } as const;
      const done = await served.assistant.generate("Go.", { tools: ["*"], output });
      expect(await done.json()).toEqual({ n: 1 });
      expect(served.model.requests.map(({ tools, responseFormat }) => [tools, responseFormat?.type])).toEqual([
        [undefined, "json"],
        [undefined, "json"],
      ]);
    },
  );
});
