import { describe, expect } from "vitest";
import { defineTool, memoryStore, Toolkit } from "../../../src/index.ts";
import { virtualClock } from "../../../src/testing/index.ts";
import { failure } from "../../support/failure.ts";
import { verifies } from "../../support/verifies.ts";
import { serve } from "../support.ts";

const text = "long ".repeat(2_000);
const long = defineTool({ name: "long", run: () => text });
const script = ({ prompt }: { prompt: readonly { role: string }[] }) =>
  prompt.at(-1)?.role === "tool" ? "done" : { toolCalls: [{ name: "long", input: {} }] };
const ada = { id: "1", principal: "ada" };

describe("a long result of a run, read through the toolkit", () => {
  const owners = [
    [ada, { id: "2", principal: "ada" }],
    [{ id: "1" }, { id: "1" }],
    [undefined, undefined],
  ] as const;
  for (const [session, reader] of owners) {
    verifies("A4", `is there for its owner: ${JSON.stringify(session)}`, async () => {
      await using served = serve(script, [long]);
      const answer = await served.assistant.generate("Go.", { tools: ["long"], session });
      const uri = `result:${answer.meta?.run}/1`;
      expect(await (await served.toolkit.read(uri, { session: reader })).text()).toBe(text);
      expect((await served.toolkit.lookup(uri)).ref).toBe(`${uri}#builtin`);
      const view = served.toolkit.view({ include: ["builtin.*"] });
      expect((await failure(view.read("result:none/1", { session: reader }))).code).toBe("NOT_FOUND");
    });
  }

  const pairs = [
    [ada, { id: "1", principal: "bob" }],
    [ada, { id: "1" }],
    [ada, undefined],
    [{ id: "1" }, { id: "2" }],
    [{ id: "1" }, { id: "2", principal: "1" }],
    [undefined, ada],
  ] as const;
  for (const [session, other] of pairs) {
    verifies("A4", `of ${JSON.stringify(session)} is not there for ${JSON.stringify(other)}`, async () => {
      await using served = serve(script, [long]);
      const answer = await served.assistant.generate("Go.", { tools: ["long"], session });
      const { run } = answer.meta ?? {};
      const error = await failure(served.toolkit.read(`result:${run}/1`, { session: other }));
      const absent = await failure(served.toolkit.read(`result:${run}/2`, { session: other }));
      expect(error).toMatchObject({ code: "NOT_FOUND", ref: `result:${run}/1#builtin` });
      expect(error.message.replace("/1", "/2")).toBe(absent.message);
    });
  }

  verifies("A4", "is the owner's through a view of a principal, and in the tools that the owner calls", async () => {
    const look = defineTool({
      name: "look",
      input: { type: "object", properties: { uri: { type: "string" } }, required: ["uri"] } as const,
      run: async ({ uri }: { uri: string }, { toolbox }) => String((await toolbox.read(uri)).size),
    });
    await using served = serve(script, [long, look]);
    const answer = await served.assistant.generate("Go.", { tools: ["long"], session: ada });
    const uri = `result:${answer.meta?.run}/1`;
    expect((await served.toolkit.view({ principal: "ada" }).read(uri)).size).toBe(text.length);
    expect((await failure(served.toolkit.view({ principal: "bob" }).read(uri))).code).toBe("NOT_FOUND");
    expect(await (await served.toolkit.call("look", { uri }, { session: ada })).text()).toBe(String(text.length));
    const bob = { session: { id: "1", principal: "bob" } };
    expect((await failure(served.toolkit.call("look", { uri }, bob))).message).toMatch(/there is no such result/);
  });

  verifies("A4", "that has expired is NOT_FOUND, which says so to its owner alone", async () => {
    const clock = virtualClock();
    const store = memoryStore({ clock });
    await using served = serve(script, [long], {
      agent: { clock, results: { keepMs: 1_000 } },
      toolkit: { store, clock },
    });
    const answer = await served.assistant.generate("Go.", { tools: ["long"], session: ada });
    const uri = `result:${answer.meta?.run}/1`;
    await clock.advance(1_000);
    const error = await failure(served.toolkit.read(uri, { session: ada }));
    expect(error.code).toBe("NOT_FOUND");
    expect(error.message).toMatch(/has expired. Results are kept for 1000 ms, the option results.keepMs of the agent/);
    expect((await failure(served.toolkit.read(uri))).message).toMatch(/there is no such result/);
    expect((await failure(served.assistant.readResult(uri, { session: ada }))).message).toBe(error.message);
  });

  verifies("A4", "is read under the policy of the toolkit, as any resource is", async () => {
    await using served = serve(script, [long], { toolkit: { policy: { block: ["result:*"] } } });
    const answer = await served.assistant.generate("Go.", { tools: ["long"], session: ada });
    const read = served.toolkit.read(`result:${answer.meta?.run}/1`, { session: ada });
    expect((await failure(read)).code).toBe("DENIED");
  });

  verifies("A4", "is a template among the builtins, which a toolkit without an agent has not", async () => {
    await using served = serve(script, [long]);
    const { entries } = await served.toolkit.list({ kind: "template" });
    expect(entries.map(({ ref }) => ref)).toEqual(["result:{run}/{number}#builtin"]);
    await using alone = new Toolkit();
    expect((await alone.list({ kind: "template" })).count).toBe(0);
  });
});
