import { afterEach, beforeEach, describe, expect } from "vitest";
import { z } from "zod";
import { ToolkitError } from "../../src/core/error.ts";
import { defineTool } from "../../src/core/tool.ts";
import type { ToolkitOptions } from "../../src/core/toolkit-options.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { settle } from "../../src/testing/virtual-clock.ts";
import { Bench } from "../connection/support.ts";
import { FailingStore } from "../support/failing-store.ts";
import { failure } from "../support/failure.ts";
import { sharing } from "../support/sharing.ts";
import { verifies } from "../support/verifies.ts";

interface Payment {
  to: { name: string }[];
  amount: number;
}

const payment = (): Payment => ({ to: [{ name: "Ada" }], amount: 1 });

/** Changes whatever of it can be changed, as deep as it goes. */
function spoil(input: unknown): void {
  const spoilt = input as Payment;
  spoilt.amount = 1_000_000;
  for (const each of spoilt.to) each.name = "Eve";
  spoilt.to.push({ name: "Mallory" });
}

describe("what runs after it was approved", () => {
  let runs: unknown[];
  let benches: Bench[];
  let work: (input: Payment, signal: AbortSignal) => Promise<unknown>;

  const run = async (input: Payment, { signal }: { readonly signal: AbortSignal }) => {
    runs.push(structuredClone(input));
    return work(input, signal);
  };
  const input = { type: "object", properties: { to: { type: "array" }, amount: { type: "number" } } } as const;
  const options = { needsApproval: true };
  // One whose input reaches it as the very object it was called with, and one whose schema makes another of it.
  const tools = [
    defineTool<Payment>({ name: "pay", input, options, annotations: { idempotentHint: true }, run }),
    defineTool({
      name: "pay_parsed",
      input: z.object({
        to: z.array(z.object({ name: z.string() })),
        amount: z.number(),
        note: z.string().default("-"),
      }),
      options,
      run,
    }),
  ];
  const expected = (name: string) => (name === "pay" ? payment() : { ...payment(), note: "-" });

  const benchWith = (more: ToolkitOptions = {}) => {
    const bench = new Bench({ items: tools, ...more });
    benches.push(bench);
    return bench.toolkit;
  };
  const pending = async (call: Promise<unknown>) => {
    const error = await failure(call);
    if (ToolkitError.is(error, "PENDING")) return error.details;
    throw error;
  };

  beforeEach(() => {
    runs = [];
    benches = [];
    work = async () => "paid";
  });
  afterEach(() => Promise.all(benches.map(({ toolkit }) => toolkit.close())));

  for (const name of tools.map((tool) => tool.name)) {
    verifies("H7", `is the copy that was asked about, whoever changes what: ${name}`, async () => {
      const toolkit = benchWith();
      const given = payment();
      const details = await pending(toolkit.call(name, given));
      const { id } = details;
      for (const shown of [given, details.arguments, (await toolkit.approvals.get(id)).arguments]) spoil(shown);
      for (const { arguments: shown } of await toolkit.approvals.list()) spoil(shown);
      expect((await toolkit.approvals.get(id)).arguments).toEqual(payment());
      expect((await toolkit.approvals.resolve(id, { approved: true })).status).toBe("succeeded");
      expect(runs).toEqual([expected(name)]);
    });

    verifies("H7", `is that copy after a restart too: ${name}`, async () => {
      const store = memoryStore();
      const first = benchWith({ store: sharing(store) });
      const given = payment();
      const session = { id: "1", principal: "ada" };
      const { id, arguments: shown } = await pending(first.call(name, given, { session }));
      await first.close();
      const second = benchWith({ store: sharing(store) });
      for (const each of [given, shown, (await second.approvals.get(id)).arguments]) spoil(each);
      expect((await second.approvals.resolve(id, { approved: true })).status).toBe("succeeded");
      expect(runs).toEqual([expected(name)]);
    });

    verifies("H7", `is that copy where a delegate decides at once: ${name}`, async () => {
      const given = payment();
      const toolkit = benchWith({
        delegate: {
          approve: async (request) => {
            spoil(request.arguments);
            spoil(given);
            return { approved: true };
          },
        },
      });
      await toolkit.call(name, given);
      expect(runs).toEqual([expected(name)]);
    });

    verifies("H7", `is that copy where a delegate leaves it open: ${name}`, async () => {
      const toolkit = benchWith({
        delegate: {
          approve: async ({ arguments: shown }) => {
            spoil(shown);
            return undefined;
          },
        },
      });
      const { id, arguments: shown } = await pending(toolkit.call(name, payment()));
      expect(shown).toEqual(payment());
      expect((await toolkit.approvals.resolve(id, { approved: true })).status).toBe("succeeded");
      expect(runs).toEqual([expected(name)]);
    });
  }

  verifies("H7", "is that copy when it is run again, whatever the first run did to its input", async () => {
    const failing = new FailingStore(memoryStore());
    const toolkit = benchWith({ store: failing.store });
    const clock = benches[0]?.clock;
    const { id } = await pending(toolkit.call("pay", payment()));
    const cut = Promise.withResolvers<void>();
    work = async (mine, signal) => {
      spoil(mine);
      if (runs.length > 1) return "paid";
      signal.addEventListener("abort", () => cut.resolve());
      return new Promise(() => undefined);
    };
    const resolving = toolkit.approvals.resolve(id, { approved: true });
    await settle();
    failing.fail();
    await clock?.advance(30_000);
    await cut.promise;
    failing.recoverSilently();
    await clock?.advance(60_000);
    expect((await resolving).status).toBe("succeeded");
    expect(runs).toEqual([payment(), payment()]);
  });
});
