import { describe, expect } from "vitest";
import type { StoredRecord } from "../../src/core/store.ts";
import { defineTool, memoryStore, type Store, Toolkit } from "../../src/index.ts";
import { type Workflows, workflows } from "../../src/workflow/workflows.ts";
import { verifies } from "../support/verifies.ts";
import { eventually, flow, observedStore, silent } from "./support.ts";

const each = { id: "all", forEach: "${input.list}", concurrency: 2, tool: "mark", params: { n: "${item}" } } as const;
const elements = (count: number) => Array.from({ length: count }, (_, n) => n);

/** A toolkit whose tool, which is not safe to repeat, notes its calls and answers with so much. */
async function worker(store: Store, calls: number[], size: number, leaseMs = 10_000) {
  const mark = defineTool<{ n: number }>({
    name: "mark",
    run: ({ n }) => {
      calls.push(n);
      return `${n}`.padEnd(size);
    },
  });
  const flows = workflows([flow([{ ...each, onError: "continue" }])], { leaseMs });
  const toolkit = new Toolkit({ items: [mark], delegate: flows, store, logger: silent });
  toolkit.addSource("workflow", flows);
  await toolkit.start();
  return { toolkit, flows };
}

const recordsOf = async (store: Store): Promise<readonly StoredRecord[]> =>
  (await store.list({ collection: "workflow" })).records;
const piecesOf = async (store: Store) => (await recordsOf(store)).filter(({ owner }) => owner !== "");

/** Resolves to the run when it has ended, and nothing of it is left beside its record. */
async function ended(flows: Workflows, store: Store) {
  const run = await eventually(async () => (await flows.runs()).find(({ endedAt }) => endedAt !== undefined));
  await eventually(async () => ((await piecesOf(store)).length === 0 ? true : undefined));
  return run;
}

describe("a long run of a workflow", () => {
  verifies("W3", "writes no more for an element when it has many, and keeps one record in the end", async () => {
    await using store = memoryStore();
    const writes = async (count: number) => {
      let bytes = 0;
      const { toolkit, flows } = await worker(
        observedStore(store, (size) => {
          bytes += size;
          return { isMade: false, fails: false };
        }),
        [],
        20,
      );
      const content = await toolkit.call("workflow.test", { list: elements(count) });
      expect(((await content.json()) as readonly string[]).map(Number)).toEqual(elements(count));
      const [run] = await flows.runs();
      expect(Object.values(run?.steps ?? {}).filter(({ state }) => state === "succeeded")).toHaveLength(count);
      expect(await piecesOf(store)).toEqual([]);
      await toolkit.close();
      return bytes / count;
    };
    const [few, many] = [await writes(500), await writes(4_000)];
    expect(many).toBeLessThan(2 * few);
  });

  verifies(["W3", "J1"], "shows all of its steps while it runs, also those that its record has no more", async () => {
    await using store = memoryStore();
    const gate = Promise.withResolvers<void>();
    const held = defineTool<{ n: number }>({
      name: "mark",
      run: async ({ n }) => {
        if (n === 40) await gate.promise;
        return "x".repeat(4_000);
      },
    });
    const flows = workflows([flow([each])]);
    await using toolkit = new Toolkit({ items: [held], delegate: flows, store });
    toolkit.addSource("workflow", flows);
    const call = toolkit.call("workflow.test", { list: elements(50) });
    const run = await eventually(async () => {
      const [found] = await flows.runs();
      return found?.steps["all[49]"]?.state === "succeeded" ? found : undefined;
    });
    expect(Object.keys(run.steps)).toHaveLength(50);
    expect(run).toMatchObject({ input: { list: elements(50) }, workflow: { name: "test" } });
    expect(await flows.get(run.id)).toEqual(run);
    const [record] = (await recordsOf(store)).filter(({ owner }) => owner === "");
    expect(JSON.stringify(record?.value).length).toBeLessThan(70_000);
    gate.resolve();
    await call;
    expect(await piecesOf(store)).toEqual([]);
  });

  verifies(
    ["W3", "J1"],
    "whose store fails at any of its writes goes on elsewhere: no element twice, no piece left",
    async () => {
      const list = elements(12);
      /** @param last - the write at which the first process loses the store. Gives the number of writes */
      const lostAt = async (last: number, isMade: boolean): Promise<number> => {
        await using store = memoryStore();
        const calls: number[] = [];
        let writes = 0;
        const broken = observedStore(store, () => {
          writes += 1;
          return { isMade: isMade && writes === last, fails: writes >= last };
        });
        const first = await worker(broken, calls, 9_000, 60);
        const result = await first.toolkit.call("workflow.test", { list }).catch((error: unknown) => error);
        const other = await worker(store, calls, 9_000, 60);
        const run = await ended(other.flows, store);
        const about = `write ${last}, ${isMade ? "made" : "not made"}: ${String(result)}`;
        expect(new Set(calls).size, about).toBe(calls.length);
        expect(run.status, about).toBe("succeeded");
        const unknown = Object.values(run.steps).filter(({ state }) => state === "failed").length;
        expect(calls.length, about).toBeGreaterThanOrEqual(list.length - unknown);
        expect(unknown, about).toBeLessThanOrEqual(2);
        await Promise.all([first.toolkit.close(), other.toolkit.close()]);
        return writes;
      };
      const count = await lostAt(Number.POSITIVE_INFINITY, false);
      expect(count).toBeGreaterThan(20);
      // Without its first write there is no run.
      const writes = Array.from({ length: count - 1 }, (_, n) => n + 2);
      await Promise.all([true, false].flatMap((isMade) => writes.map((last) => lostAt(last, isMade))));
    },
    60_000,
  );

  verifies(["W3", "J1"], "that was written whole by an earlier version goes on with what its record has", async () => {
    await using store = memoryStore();
    const calls: number[] = [];
    const waits = defineTool<{ n: number }>({ name: "mark", run: () => "", options: { needsApproval: true } });
    const flows = workflows([flow([each])]);
    const before = new Toolkit({
      items: [waits],
      delegate: flows,
      store: observedStore(store, () => ({ isMade: false, fails: false })),
    });
    before.addSource("workflow", flows);
    await expect(before.call("workflow.test", { list: elements(300) })).rejects.toMatchObject({ code: "PENDING" });
    await before.close();
    const [record] = (await recordsOf(store)).filter(({ owner }) => owner === "");
    const { pieces: _, ...value } = (record?.value ?? {}) as Record<string, unknown>;
    const steps = Object.fromEntries(
      elements(250).map((n) => [
        `all[${n}]`,
        { state: "succeeded", startedAt: 1, endedAt: 2, result: `${n}`.padEnd(200) },
      ]),
    );
    for (const { collection, owner, key } of await piecesOf(store)) await store.delete({ collection, owner, key });
    const whole = { workflow: flow([each]), input: { list: elements(300) }, ...value, status: "running", steps };
    await store.put({ collection: "workflow", owner: "", key: record?.key ?? "", value: whole });
    const { toolkit, flows: later } = await worker(store, calls, 200, 40);
    const run = await ended(later, store);
    expect(run.status).toBe("succeeded");
    expect(calls.toSorted((one, two) => one - two)).toEqual(elements(300).slice(250));
    expect(run.result).toHaveLength(300);
    await toolkit.close();
  });
});
