import { describe, expect } from "vitest";
import { agent } from "../../src/agent/index.ts";
import { defineTool, memoryStore, parsePrompt, type Store, Toolkit, ToolkitError } from "../../src/index.ts";
import { type Script, type ScriptedStep, scriptedModel } from "../../src/testing/index.ts";
import { workflows } from "../../src/workflow/workflows.ts";
import { verifies } from "../support/verifies.ts";
import { eventually, flow, observedStore, silent } from "./support.ts";

const calls = (...to: readonly string[]): ScriptedStep => ({
  toolCalls: to.map((name) => ({ name: "pay", input: { to: name } })),
});
const prompt = parsePrompt("---\nname: payer\ndescription: Pays.\ntools: [pay]\n---\nPay what is due.");
const steps = [
  { id: "before", tool: "note", params: { text: "before" } },
  { id: "paid", run: "payer", fallback: { value: "unpaid" } },
  { id: "after", tool: "note", params: { text: "${steps.paid}, after" } },
];

/** A toolkit with an agent whose model follows a script, and a workflow whose second step is a prompt with a tool that needs approval. */
async function payer(store: Store, done: string[], script: Script, leaseMs = 10_000) {
  const model = scriptedModel(script);
  const assistant = agent({ defaultModel: model, suspended: { leaseMs } });
  const flows = workflows([flow(steps)], { leaseMs });
  const pay = defineTool<{ to: string }>({
    name: "pay",
    options: { needsApproval: true },
    run: ({ to }) => {
      done.push(`pay ${to}`);
      return `paid ${to}`;
    },
  });
  const note = defineTool<{ text: string }>({
    name: "note",
    run: ({ text }) => {
      done.push(text);
      return text;
    },
  });
  const toolkit = new Toolkit({
    items: [pay, note, prompt],
    delegate: [flows, assistant],
    store,
    logger: silent,
    approvals: { leaseMs },
  });
  toolkit.addSource("workflow", flows);
  await toolkit.start();
  const begin = async () => {
    const error: unknown = await toolkit.call("workflow.test", {}).catch((failure: unknown) => failure);
    if (!ToolkitError.is(error, "PENDING")) throw error;
    return error.details.id;
  };
  const approvals = () => toolkit.approvals.list({ status: "pending", tool: "builtin.pay" });
  const ended = () => eventually(async () => (await flows.runs()).find(({ endedAt }) => endedAt !== undefined));
  return { toolkit, flows, assistant, model, begin, approvals, ended, [Symbol.asyncDispose]: () => toolkit.close() };
}

const prompts = async (store: Store) => (await store.list({ collection: "run" })).records;

describe("a step that executes a prompt whose agent waits", () => {
  verifies(
    ["W3", "A7"],
    "has its run wait for what the agent waits for, and goes on with the agent's own run",
    async () => {
      await using store = memoryStore();
      const done: string[] = [];
      await using made = await payer(store, done, [calls("Ann"), "paid it"]);
      const answer = made.toolkit.approvals.wait(await made.begin());
      const [run] = await made.flows.runs({ status: "waiting" });
      const [approval] = await made.approvals();
      expect(run?.waitsFor).toEqual([{ step: "paid", id: approval?.id, expiresAt: approval?.expiresAt }]);
      // It goes on with the workflow, as the run of a sub-agent with that which called it.
      expect(await made.assistant.suspended()).toEqual([]);
      await made.toolkit.approvals.resolve(approval?.id ?? "", { approved: true });
      expect(await (await answer).text()).toBe("paid it, after");
      expect(done).toEqual(["before", "pay Ann", "paid it, after"]);
      expect(made.model.requests).toHaveLength(2);
      expect((await made.ended()).steps.paid).toMatchObject({ state: "succeeded", result: "paid it" });
      expect(await prompts(store)).toEqual([]);
    },
  );

  verifies(["W3", "A7"], "waits for each of several, and again for what the agent asks for then", async () => {
    await using store = memoryStore();
    const done: string[] = [];
    await using made = await payer(store, done, [calls("Ann", "Bob"), calls("Cid"), "all"]);
    const answer = made.toolkit.approvals.wait(await made.begin());
    for (const [left, approved] of [
      [2, true],
      [1, false],
      [1, true],
    ] as const) {
      const [run] = await eventually(async () => {
        const runs = await made.flows.runs({ status: "waiting" });
        return runs[0]?.waitsFor.length === left ? runs : undefined;
      });
      await made.toolkit.approvals.resolve(run?.waitsFor[0]?.id ?? "", { approved });
    }
    expect(await (await answer).text()).toBe("all, after");
    expect(done).toHaveLength(4);
    expect(done.filter((each) => each.startsWith("pay"))).toHaveLength(2);
    expect(made.model.requests).toHaveLength(3);
    expect(await prompts(store)).toEqual([]);
  });

  verifies(["W3", "A7", "J1"], "goes on in another process, where the one that began is gone", async () => {
    await using store = memoryStore();
    const shared = () => observedStore(store, () => ({ isMade: false, fails: false }));
    const done: string[] = [];
    const first = await payer(shared(), done, [calls("Ann")]);
    const caller = await first.begin();
    await first.toolkit.close();
    await using other = await payer(shared(), done, ["paid it"]);
    const [approval] = await other.approvals();
    await other.toolkit.approvals.resolve(approval?.id ?? "", { approved: true });
    expect(await (await other.toolkit.approvals.wait(caller)).text()).toBe("paid it, after");
    expect(done).toEqual(["before", "pay Ann", "paid it, after"]);
  });

  verifies(["W3", "A7"], "and that is cancelled has its approvals denied, and leaves no run of an agent", async () => {
    await using store = memoryStore();
    const done: string[] = [];
    await using made = await payer(store, done, [calls("Ann")]);
    await made.begin();
    const [run] = await made.flows.runs();
    await made.flows.cancel(run?.id ?? "");
    expect(await made.approvals()).toEqual([]);
    expect(await prompts(store)).toEqual([]);
    expect(done).toEqual(["before"]);
  });

  verifies(["W3", "A7"], "has failed where the agent's run is forgotten: its fallback takes its place", async () => {
    await using store = memoryStore();
    const done: string[] = [];
    await using made = await payer(store, done, [calls("Ann")]);
    await made.begin();
    const [record] = await prompts(store);
    await made.assistant.forget(record?.key ?? "");
    const run = await made.ended();
    expect(run).toMatchObject({ status: "succeeded", result: "unpaid, after" });
    expect(done).toEqual(["before", "unpaid, after"]);
  });

  verifies(
    ["W3", "A7", "J1"],
    "whose process is gone at any write after the approval pays once at most, and ends",
    async () => {
      const lostAt = async (last: number, isMade: boolean): Promise<number> => {
        await using store = memoryStore();
        const done: string[] = [];
        let writes = Number.NEGATIVE_INFINITY;
        const first = await payer(
          observedStore(store, () => {
            writes += 1;
            return { isMade: isMade && writes === last, fails: writes >= last };
          }),
          done,
          [calls("Ann"), "paid it"],
          60,
        );
        await first.begin();
        const [approval] = await first.approvals();
        writes = 0;
        const resolved = first.toolkit.approvals.resolve(approval?.id ?? "", { approved: true });
        resolved.catch(() => undefined);
        // Without its store the first one may never come to an end.
        if (last === Number.POSITIVE_INFINITY) await first.ended();
        else await eventually(() => (writes >= last ? true : undefined));
        const other = await payer(store, done, ["paid it", "paid it"], 60);
        if (last < 3)
          await other.toolkit.approvals.resolve(approval?.id ?? "", { approved: true }).catch(() => undefined);
        const run = await other.ended();
        const about = `write ${last}, ${isMade ? "made" : "not made"}`;
        expect(run.status, about).toMatch(/succeeded|failed/);
        expect(done.filter((each) => each === "pay Ann").length, about).toBeLessThanOrEqual(1);
        expect(new Set(done).size, about).toBe(done.length);
        await Promise.all([first.toolkit.close(), other.toolkit.close()]);
        return writes;
      };
      const count = await lostAt(Number.POSITIVE_INFINITY, false);
      expect(count).toBeGreaterThan(8);
      const writes = Array.from({ length: count }, (_, n) => n + 1);
      await Promise.all([true, false].flatMap((isMade) => writes.map((last) => lostAt(last, isMade))));
    },
    60_000,
  );
});
