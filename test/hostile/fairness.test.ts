import { afterEach, describe, expect } from "vitest";
import type { Session } from "../../src/core/session.ts";
import type { Store } from "../../src/core/store.ts";
import { defineTool } from "../../src/core/tool.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { sqliteStore } from "../../src/store/sqlite/index.ts";
import { type FaultyServer, faultyServer } from "../../src/testing/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure } from "../support/failure.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";

const session = (principal: string): { readonly session: Session } => ({
  session: { id: `of ${principal}`, principal },
});

describe.each(["in-memory", "stdio", "http"] as const)("a principal with a thousand calls over %s", (way) => {
  let toolkit: Toolkit;
  let server: FaultyServer;

  afterEach(async () => {
    await toolkit.close();
    await server[Symbol.asyncDispose]();
  });

  verifies(["H4", "M12"], "delays another by one turn, and fills the queue for itself alone", async () => {
    const started: string[] = [];
    const turns: (() => void)[] = [];
    server = faultyServer({
      tools: {
        work: {
          inputSchema: { type: "object", properties: { id: { type: "string" } } },
          run: async ({ id }) => {
            started.push(String(id));
            await new Promise<void>((resolve) => turns.push(resolve));
            return "done";
          },
        },
      },
    });
    toolkit = new Toolkit({ maxQueuedCalls: 500 });
    const target =
      way === "in-memory" ? server.connector() : way === "stdio" ? await server.stdio() : (await server.listen()).url;
    const connection = toolkit.addConnector(target, { namespace: "far", maxConcurrentCalls: 1 });
    await connection.ready();
    const stop = new AbortController();
    const call = (owner: string, id: string) =>
      toolkit.call("far.work", { id }, { ...session(owner), signal: stop.signal }).catch((error: unknown) => error);
    const flood = Array.from({ length: 1_000 }, (_, index) => call("ann", `ann ${index}`));
    const bob = call("bob", "bob");
    await until(() => started.length === 1);
    turns.shift()?.();
    await until(() => started.length === 2);
    turns.shift()?.();
    await until(() => started.length === 3);
    expect(started).toContain("bob");
    turns.shift()?.();
    await bob;
    stop.abort(new Error("enough"));
    const ends = await Promise.all(flood);
    const refused = ends.filter((end) => (end as { readonly code?: string }).code === "LIMIT_EXCEEDED");
    expect(refused.length).toBeGreaterThanOrEqual(499);
    expect(refused[0]).toMatchObject({ details: { limit: "maxQueuedCalls", max: 500 } });
    for (const end of turns.splice(0)) end();
  });
});

const stores: Readonly<Record<string, () => Store>> = {
  memory: () => memoryStore(),
  sqlite: () => sqliteStore({ file: ":memory:" }),
};

describe.each(Object.keys(stores))("a principal that fills the approvals of the store %s", (name) => {
  verifies("H4", "gets half of the places, and one of them again when one is decided", async () => {
    await using toolkit = new Toolkit({ store: stores[name]?.(), approvals: { limit: 10 } });
    toolkit.add(defineTool({ name: "pay", options: { needsApproval: true }, run: () => "paid" }));
    await toolkit.start();
    const codes = async (owner: string, times: number) => {
      const ends: (string | undefined)[] = [];
      for (let time = 0; time < times; time += 1)
        ends.push((await failure(toolkit.call("pay", { time }, session(owner)))).code);
      return ends;
    };
    expect(await codes("ann", 7)).toEqual([...Array(5).fill("PENDING"), "LIMIT_EXCEEDED", "LIMIT_EXCEEDED"]);
    expect(await codes("bob", 3)).toEqual(["PENDING", "PENDING", "PENDING"]);
    const [first] = (await toolkit.approvals.list()).filter(({ session: { principal } }) => principal === "ann");
    await toolkit.approvals.resolve(first?.id ?? "", { approved: false });
    expect(await codes("ann", 2)).toEqual(["PENDING", "LIMIT_EXCEEDED"]);
  });

  verifies("H4", "gets half of the bytes, whatever each input takes, and all principals no more than all", async () => {
    await using toolkit = new Toolkit({ store: stores[name]?.(), approvals: { maxBytes: 1_000_000 } });
    toolkit.add(defineTool({ name: "pay", options: { needsApproval: true }, run: () => "paid" }));
    await toolkit.start();
    const text = "x".repeat(100_000);
    const ask = (owner: string) => failure(toolkit.call("pay", { text }, owner === "" ? {} : session(owner)));
    const codes = async (owner: string, times: number) => {
      const ends: (string | undefined)[] = [];
      for (let time = 0; time < times; time += 1) ends.push((await ask(owner)).code);
      return ends;
    };
    expect(await codes("ann", 5)).toEqual([...Array(4).fill("PENDING"), "LIMIT_EXCEEDED"]);
    expect(await ask("ann")).toMatchObject({ details: { limit: "maxBytes", max: 500_000 } });
    const [first] = await toolkit.approvals.list();
    await toolkit.approvals.resolve(first?.id ?? "", { approved: false });
    expect(await codes("ann", 2)).toEqual(["PENDING", "LIMIT_EXCEEDED"]);
    // An approval that was denied makes room first.
    expect(await codes("", 6)).toEqual([...Array(5).fill("PENDING"), "LIMIT_EXCEEDED"]);
    expect(await ask("")).toMatchObject({ details: { limit: "maxBytes", max: 1_000_000 } });
  });
});
