import { describe, expect } from "vitest";
import { type AgentOptions, agent } from "../../../src/agent/index.ts";
import type { Store } from "../../../src/core/store.ts";
import { defineTool, memoryStore, parsePrompt, Toolkit } from "../../../src/index.ts";
import { type Script, type ScriptedStep, scriptedModel, virtualClock } from "../../../src/testing/index.ts";
import { FailingStore } from "../../support/failing-store.ts";
import { failure, rejection } from "../../support/failure.ts";
import { sharing } from "../../support/sharing.ts";
import { verifies } from "../../support/verifies.ts";

const pay = defineTool({ name: "pay", options: { needsApproval: true }, run: () => "paid" });
const log = defineTool({ name: "log", run: () => "logged" });
const prompt = (name: string, tools: string) =>
  parsePrompt(`---\nname: ${name}\ntools: [${tools}]\n---\nYou are ${name}.`);
const call = (name: string) => ({ toolCalls: [{ name }] });
const session = { id: "1", principal: "ada" };

/** Pays, and answers at the moment at which the store fails. */
function answerAsItFails(failing: FailingStore): Script {
  return (_request, index) => {
    if (index === 0) return call("pay");
    failing.fail();
    return "done";
  };
}

/** Pays, and then takes as long to answer as the test wants. */
function heldUp(last: ScriptedStep | string) {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const script: Script = async (_request, index) => {
    if (index === 0) return call("pay");
    asked.resolve();
    await answer.promise;
    return last;
  };
  return { script, asked, answer };
}

/** A toolkit as a process has it that shares a store. */
function serve(store: Store, script: Script, options: AgentOptions = {}) {
  const clock = virtualClock(Date.now());
  const assistant = agent({ defaultModel: scriptedModel(script), clock, ...options });
  const items = [pay, log, prompt("payer", "pay, log"), prompt("boss", "payer")];
  const logged: string[] = [];
  const note = (message: string) => void logged.push(message);
  const logger = { debug: note, info: note, warn: note, error: note };
  const toolkit = new Toolkit({ items, delegate: assistant, store: sharing(store), clock, logger });
  const close = () => toolkit.close();
  const suspended = async (name = "payer") => {
    const error = await failure(toolkit.call(name, {}, { session }));
    expect(error.code).toBe("PENDING");
    return (error.details as { id: string }).id;
  };
  const decide = async (approved = true) => {
    const [waiting] = await toolkit.approvals.list({ status: "pending" });
    return toolkit.approvals.resolve(waiting?.id ?? "", { approved });
  };
  return { toolkit, assistant, clock, logged, suspended, decide, [Symbol.asyncDispose]: close };
}

const runsIn = async (store: Store) => (await store.list({ collection: "run", owner: "" })).records;
const isEmpty = async (store: Store) => expect(await runsIn(store)).toEqual([]);

describe("a run that cannot be kept", () => {
  verifies(["A7", "S3"], "ends with STORE_FAILED, and what it waited for is denied", async () => {
    const inner = memoryStore();
    const failing = new FailingStore(inner);
    // The approval is the first write, the run the second; what withdraws the approval comes after.
    const broken: Store = {
      ...failing.store,
      put: async (draft, options) => {
        if (draft.collection === "run") failing.writesLeft = 0;
        try {
          return await failing.store.put(draft, options);
        } finally {
          failing.writesLeft = Number.POSITIVE_INFINITY;
        }
      },
    };
    await using service = serve(broken, [call("pay")]);
    expect(await failure(service.toolkit.call("payer"))).toMatchObject({ code: "STORE_FAILED" });
    const [approval] = await service.toolkit.approvals.list();
    expect(approval).toMatchObject({
      status: "denied",
      decision: { reason: expect.stringContaining("could not be kept") },
    });
    await isEmpty(inner);
    expect(await service.assistant.suspended()).toEqual([]);
  });

  verifies("A7", "for there being too many ends with LIMIT_EXCEEDED, and its approvals are denied", async () => {
    const store = memoryStore();
    await using service = serve(store, () => call("pay"), { suspended: { limit: 1 } });
    const id = await service.suspended();
    expect(await failure(service.toolkit.call("payer"))).toMatchObject({ code: "LIMIT_EXCEEDED" });
    expect((await service.toolkit.approvals.list()).map(({ status }) => status)).toEqual(["pending", "denied"]);
    expect((await service.assistant.suspended()).map((run) => run.id)).toEqual([id]);
  });

  verifies("A7", "with the sub-agent it waits for leaves nothing of that either", async () => {
    const store = memoryStore();
    const script: Script = ({ prompt: messages }) =>
      call(JSON.stringify(messages).includes("You are boss") ? "payer" : "pay");
    await using service = serve(store, script, { suspended: { limit: 1 } });
    expect(await failure(service.toolkit.call("boss"))).toMatchObject({ code: "LIMIT_EXCEEDED" });
    expect((await service.toolkit.approvals.list()).map(({ status }) => status)).toEqual(["denied"]);
    await isEmpty(store);
  });
});

describe("a run that is kept", () => {
  verifies("A7", "is listed with what it waits for, and for its principal alone", async () => {
    await using service = serve(memoryStore(), [call("pay")]);
    const id = await service.suspended();
    const [approval] = await service.toolkit.approvals.list();
    expect(await service.assistant.suspended()).toEqual([
      {
        id,
        ref: "builtin.payer",
        status: "suspended",
        since: expect.any(Number),
        expiresAt: approval?.expiresAt,
        waitsFor: [
          {
            id: approval?.id,
            tool: "builtin.pay",
            reason: approval?.reason,
            message: approval?.message,
            expiresAt: approval?.expiresAt,
          },
        ],
        isLocal: false,
        principal: "ada",
      },
    ]);
    expect(await service.assistant.suspended({ session })).toHaveLength(1);
    expect(await service.assistant.suspended({ session: { id: "2", principal: "eve" } })).toEqual([]);
  });

  verifies(["A7", "H1"], "and given up denies what it waits for, aloud, and is there no more", async () => {
    const store = memoryStore();
    await using service = serve(store, [call("pay")]);
    const told: unknown[] = [];
    service.toolkit.on("approvalResolved", (event) => void told.push(event));
    const id = await service.suspended();
    const eve = { session: { id: "2", principal: "eve" } };
    expect(await failure(service.assistant.forget(id, eve))).toMatchObject({ code: "NOT_FOUND" });
    await service.assistant.forget(id, { by: "ops", reason: "too old" });
    await service.clock.advance(0);
    expect(told).toMatchObject([{ status: "denied", by: "ops", reason: "too old", principal: "ada" }]);
    expect(await failure(service.assistant.resume(id))).toMatchObject({ code: "NOT_FOUND" });
    expect(await failure(service.assistant.forget(id))).toMatchObject({ code: "NOT_FOUND" });
    await isEmpty(store);
  });

  verifies("A7", "is forgotten when nobody came for it long after", async () => {
    const store = memoryStore();
    await using service = serve(store, () => call("pay"), { suspended: { keepMs: 3_600_000 } });
    const id = await service.suspended();
    await service.clock.advance(3_600_000);
    const second = await service.suspended();
    expect((await runsIn(store)).map(({ key }) => key).sort()).toEqual([id, second].sort());
    await service.clock.advance(3_600_000);
    const third = await service.suspended();
    expect((await runsIn(store)).map(({ key }) => key).sort()).toEqual([second, third].sort());
  });

  verifies("A7", "is told that an outcome which was forgotten is not known, in place of a failure", async () => {
    const store = memoryStore();
    const told: string[] = [];
    await using service = serve(store, ({ prompt: messages }, index) => {
      told.push(JSON.stringify(messages.at(-1)));
      return index === 0 ? call("pay") : "done";
    });
    const id = await service.suspended();
    await service.decide();
    await service.clock.advance(3_600_000);
    await service.assistant.resume(id);
    expect(told[1]).toMatch(/pay is not known any more.*It may have run/);
  });

  const torn: readonly (readonly [string, (value: Record<string, object>) => unknown])[] = [
    ["no object", () => "torn"],
    ["its status", (value) => ({ ...value, status: "asleep" })],
    ["its turn", (value) => ({ ...value, turn: { parts: [], waiting: [{ id: 1 }] } })],
    ["its state", (value) => ({ ...value, state: { ...value.state, messages: [{ role: "ghost" }] } })],
    ["its results", (value) => ({ ...value, results: { count: 1, contents: [[1, { torn: true }]] } })],
    ["its session", (value) => ({ ...value, session: {} })],
    ["its lease", (value) => ({ ...value, lease: { until: "soon" } })],
  ];
  for (const [what, edit] of torn) {
    verifies(
      ["A7", "S3"],
      `and was edited by hand is STORE_FAILED, naming it, and hides no other: ${what}`,
      async () => {
        const store = memoryStore();
        await using service = serve(store, () => call("pay"));
        const id = await service.suspended();
        const other = await service.suspended();
        const record = (await runsIn(store)).find(({ key }) => key === id);
        const key = { collection: "run", owner: "", key: id } as const;
        await store.put({ ...key, value: edit(record?.value as Record<string, object>) });
        const error = await failure(service.assistant.resume(id));
        expect(error).toMatchObject({ code: "STORE_FAILED", message: expect.stringContaining(id) });
        expect(error.message).toContain(what);
        expect(error.message).not.toContain("You are payer");
        expect((await service.assistant.suspended()).map((run) => run.id)).toEqual([other]);
        expect(service.logged.join()).toContain(id);
        expect((await failure(service.assistant.forget(id, { session }))).code).toBe("STORE_FAILED");
        await service.assistant.forget(id);
        expect((await runsIn(store)).map((each) => each.key)).toEqual([other]);
      },
    );
  }
});

describe("a run that is resumed", () => {
  verifies(
    "A7",
    "may be resumed again by another process where its toolkit is closed before it did anything",
    async () => {
      const store = memoryStore();
      const asked = Promise.withResolvers<void>();
      const never = new Promise<never>(() => undefined);
      await using closing = serve(store, (_request, index) => {
        if (index === 0) return call("pay");
        asked.resolve();
        return never;
      });
      const id = await closing.suspended();
      await closing.decide();
      const resumed = rejection(closing.assistant.resume(id));
      await asked.promise;
      await closing.toolkit.close();
      expect(await resumed).toMatchObject({ code: "CLOSED" });
      await using other = serve(store, ["done"]);
      expect(await (await other.assistant.resume(id)).text()).toBe("done");
    },
  );

  verifies("A7", "gives its answer though nobody can write down any more that it has ended", async () => {
    const failing = new FailingStore(memoryStore());
    await using service = serve(failing.store, answerAsItFails(failing));
    const id = await service.suspended();
    await service.decide();
    expect(await (await service.assistant.resume(id)).text()).toBe("done");
    expect(service.logged.join()).toContain(`The outcome of the run "${id}" of builtin.payer was not stored`);
    failing.recover();
    expect((await failure(service.assistant.resume(id))).code).toBe("CONFLICT");
    failing.fail();
    await service.clock.advance(30_000);
    failing.recover();
    await service.clock.advance(30_000);
    expect((await failure(service.assistant.resume(id))).code).toBe("OUTCOME_UNKNOWN");
  });

  verifies(
    ["A7", "J1"],
    "has ended once the store is there again, where that is before its lease is over",
    async () => {
      const inner = memoryStore();
      const failing = new FailingStore(inner);
      await using service = serve(failing.store, answerAsItFails(failing));
      const id = await service.suspended();
      await service.decide();
      expect(await (await service.assistant.resume(id)).text()).toBe("done");
      await service.clock.advance(20_000);
      failing.recover();
      await service.clock.advance(1_000);
      expect((await failure(service.assistant.resume(id))).code).toBe("NOT_FOUND");
      await isEmpty(inner);
    },
  );

  verifies("A7", "is cut once another may have taken it over, and does nothing more", async () => {
    const store = memoryStore();
    const { script, asked, answer } = heldUp(call("log"));
    await using slow = serve(store, script);
    const id = await slow.suspended();
    await slow.decide();
    const resumed = rejection(slow.assistant.resume(id));
    await asked.promise;
    // It stands still for so long that another takes it for dead.
    await using other = serve(store, ["never"]);
    other.clock.stall(11 * 30_000 + 1);
    expect((await failure(other.assistant.resume(id))).code).toBe("OUTCOME_UNKNOWN");
    await slow.clock.advance(10_000);
    expect(await resumed).toMatchObject({ message: expect.stringContaining("another holder has it") });
    answer.resolve();
    await slow.clock.advance(0);
    expect(await other.assistant.suspended()).toMatchObject([{ id, status: "lost" }]);
  });

  verifies("A7", "with a lease that is renewed for as long as its model takes", async () => {
    const store = memoryStore();
    const { script, asked, answer } = heldUp("done");
    await using slow = serve(store, script);
    const id = await slow.suspended();
    await slow.decide();
    const resumed = slow.assistant.resume(id);
    await asked.promise;
    await using other = serve(store, ["never"]);
    for (let count = 0; count < 10; count++) {
      await slow.clock.advance(10_000);
      await other.clock.advance(10_000);
    }
    expect((await failure(other.assistant.resume(id))).code).toBe("CONFLICT");
    answer.resolve();
    expect(await (await resumed).text()).toBe("done");
    await isEmpty(store);
  });

  verifies("A7", "whose sub-agent somebody else goes on with waits for it still", async () => {
    const store = memoryStore();
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const isBoss = (messages: unknown) => JSON.stringify(messages).includes("You are boss");
    const script: Script = async ({ prompt: messages }) => {
      const isDone = messages.at(-1)?.role === "tool";
      if (isBoss(messages)) return isDone ? "boss done" : call("payer");
      if (!isDone) return call("pay");
      asked.resolve();
      await answer.promise;
      return "payer done";
    };
    await using service = serve(store, script);
    const id = await service.suspended("boss");
    const [waiting] = await service.assistant.suspended();
    const child = waiting?.waitsFor[0]?.id ?? "";
    await service.decide();
    const resumed = service.assistant.resume(child);
    await asked.promise;
    expect(await failure(service.assistant.resume(id))).toMatchObject({ code: "PENDING", details: { id } });
    answer.resolve();
    expect(await (await resumed).text()).toBe("payer done");
    expect(await (await service.assistant.resume(id)).text()).toBe("boss done");
    await isEmpty(store);
  });
});
