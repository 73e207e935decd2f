import { afterEach, describe, expect } from "vitest";
import { ToolkitError } from "../../../src/core/error.ts";
import { defineTool } from "../../../src/core/tool.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { settle } from "../../../src/testing/virtual-clock.ts";
import { Bench } from "../../connection/support.ts";
import { failure, rejection } from "../../support/failure.ts";
import { sharing } from "../../support/sharing.ts";
import { verifies } from "../../support/verifies.ts";

describe("a process that stands still while it runs what was approved", () => {
  const store = memoryStore();
  const benches: Bench[] = [];
  const runs: { readonly signal: AbortSignal; readonly end: PromiseWithResolvers<string> }[] = [];

  const benchWith = (annotations = {}) => {
    const pay = defineTool({
      name: "pay",
      annotations,
      options: { needsApproval: true, timeoutMs: 600_000 },
      run: (_input, { signal }) => {
        const end = Promise.withResolvers<string>();
        runs.push({ signal, end });
        return end.promise;
      },
    });
    const bench = new Bench({ items: [pay], store: sharing(store) });
    benches.push(bench);
    return bench;
  };
  const approved = async ({ toolkit }: Bench) => {
    const error = await failure(toolkit.call("pay", {}, { session: { id: "1", principal: "ada" } }));
    if (!ToolkitError.is(error, "PENDING")) throw error;
    const resolving = toolkit.approvals.resolve(error.details.id, { approved: true });
    await settle();
    return { id: error.details.id, resolving };
  };

  afterEach(async () => {
    for (const { end } of runs.splice(0)) end.resolve("late");
    await Promise.all(benches.splice(0).map(({ toolkit }) => toolkit.close()));
  });

  verifies("H2", "is taken for dead, and what it comes to afterwards does not count", async () => {
    const [slow, other] = [benchWith(), benchWith()];
    const { id, resolving } = await approved(slow);
    const waiting = failure(other.toolkit.approvals.wait(id));
    await other.clock.advance(30_000);
    expect((await waiting).code).toBe("OUTCOME_UNKNOWN");
    runs[0]?.end.resolve("paid");
    expect((await resolving).status).toBe("failed");
    expect((await failure(slow.toolkit.approvals.wait(id))).code).toBe("OUTCOME_UNKNOWN");
    expect(runs).toHaveLength(1);
  });

  verifies("H2", "is cut once it sees that another has taken over, and is told what that came to", async () => {
    const [slow, other] = [benchWith({ idempotentHint: true }), benchWith({ idempotentHint: true })];
    const { id, resolving } = await approved(slow);
    const waiting = other.toolkit.approvals.wait(id);
    await other.clock.advance(30_000);
    expect(runs).toHaveLength(2);
    await slow.clock.advance(10_000);
    expect(runs.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    runs[1]?.end.resolve("paid");
    expect(await (await waiting).text()).toBe("paid");
    expect(await (await resolving).content?.text()).toBe("paid");
  });

  verifies("H2", "and is alive keeps it, however long it takes", async () => {
    const [slow, other] = [benchWith(), benchWith()];
    const { id, resolving } = await approved(slow);
    const waiting = other.toolkit.approvals.wait(id);
    for (let count = 0; count < 10; count++) {
      await slow.clock.advance(10_000);
      await other.clock.advance(10_000);
    }
    runs[0]?.end.resolve("paid");
    expect((await resolving).status).toBe("succeeded");
    expect(await (await waiting).text()).toBe("paid");
  });

  verifies(
    "H2",
    "and is closed lets go of what may run twice, and says of the rest that its outcome is unknown",
    async () => {
      for (const [annotations, isRepeatable] of [
        [{}, false],
        [{ readOnlyHint: true }, true],
      ] as const) {
        const [closing, other] = [benchWith(annotations), benchWith(annotations)];
        const { id, resolving } = await approved(closing);
        const told = rejection(resolving);
        const waiting = other.toolkit.approvals.wait(id).then(
          (content) => content.text(),
          (error) => error.code,
        );
        const before = runs.length;
        await closing.toolkit.close();
        expect(await told).toMatchObject({ code: "CLOSED" });
        await settle();
        expect(runs.length - before).toBe(isRepeatable ? 1 : 0);
        runs.at(-1)?.end.resolve("paid");
        expect(await waiting).toBe(isRepeatable ? "paid" : "OUTCOME_UNKNOWN");
      }
    },
  );
});
