import { afterEach, beforeEach, describe, expect } from "vitest";
import { z } from "zod";
import type { ApprovalRequest, ApprovalStatus, Decision } from "../../src/core/approval.ts";
import { ToolkitError } from "../../src/core/error.ts";
import type { CallContext } from "../../src/core/item.ts";
import type { PendingRequest } from "../../src/core/pending.ts";
import type { CallOptions } from "../../src/core/session.ts";
import { defineTool } from "../../src/core/tool.ts";
import type { ToolkitOptions } from "../../src/core/toolkit-options.ts";
import { parsePrompt } from "../../src/prompt/parse-prompt.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { settle } from "../../src/testing/virtual-clock.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { Bench } from "../connection/support.ts";
import { FailingStore } from "../support/failing-store.ts";
import { failure, rejection } from "../support/failure.ts";
import { FakeConnector, tools } from "../support/fake-connector.ts";
import { sharing } from "../support/sharing.ts";
import { verifies } from "../support/verifies.ts";

const minute = 60_000;
const keyOf = (id: string) => ({ collection: "approval", owner: "", key: id }) as const;

/** A call that rejects with PENDING, as its error. */
async function pending(call: Promise<unknown>): Promise<ToolkitError<"PENDING">> {
  const error = await failure(call);
  if (ToolkitError.is(error, "PENDING")) return error;
  throw error;
}

describe("a call that needs approval", () => {
  let runs: { readonly input: unknown; readonly context: CallContext }[];
  let benches: Bench[];
  let work: () => Promise<unknown>;

  const pay = defineTool({
    name: "pay",
    input: z.object({ to: z.string(), amount: z.coerce.number().default(1) }),
    options: { needsApproval: true },
    run: async (input, context) => {
      runs.push({ input, context });
      await work();
      return { paid: input.amount };
    },
  });
  const large = defineTool({
    name: "large",
    input: { type: "object", properties: { amount: { type: "number" } } },
    options: { needsApproval: ({ amount }: { amount: number }) => amount > 100 },
    run: ({ amount }: { amount: number }) => amount,
  });
  const free = defineTool({ name: "free", run: () => "free" });
  const brief = parsePrompt("---\nname: brief\n---\nIn brief.");

  const benchWith = (options: ToolkitOptions = {}) => {
    const bench = new Bench({ items: [pay, large, free, brief], ...options });
    benches.push(bench);
    return bench;
  };
  const approving = (approve: (request: ApprovalRequest) => unknown) => ({
    approve: async (request: ApprovalRequest) => (await approve(request)) as Decision,
  });

  beforeEach(() => {
    runs = [];
    benches = [];
    work = async () => undefined;
  });
  afterEach(() => Promise.all(benches.map(({ toolkit }) => toolkit.close())));

  verifies("H1", "is PENDING with all there is to decide by, after its input was validated", async () => {
    const { toolkit, clock } = benchWith();
    expect(await failure(toolkit.call("pay", {}))).toMatchObject({ code: "INVALID_INPUT" });
    const error = await pending(toolkit.call("pay", { to: "Ada", amount: "7" }));
    expect(error).toMatchObject({ phase: "policy", ref: "builtin.pay" });
    expect(error.details).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      reason: "builtin.pay needs approval",
      message: expect.stringContaining("builtin.pay"),
      tool: "builtin.pay",
      arguments: { to: "Ada", amount: "7" },
      expiresAt: clock.now() + 15 * minute,
    });
    expect(error.message).toContain(error.details.id);
    expect(runs).toEqual([]);
  });

  verifies("H1", "may need it by its input; what throws instead of saying so is refused", async () => {
    const failing = defineTool({
      name: "failing",
      options: { needsApproval: () => Promise.reject(new Error("no idea")) },
      run: () => 1,
    });
    const { toolkit } = benchWith({ items: [large, failing] });
    expect(await (await toolkit.call("large", { amount: 5 })).json()).toBe(5);
    await pending(toolkit.call("large", { amount: 500 }));
    expect(await failure(toolkit.call("failing"))).toMatchObject({ code: "DENIED", cause: { message: "no idea" } });
  });

  const asked: readonly (readonly [who: string, options: ToolkitOptions, call: CallOptions, reason: string])[] = [
    ["the policy", { policy: { decide: () => ({ approve: "over the limit" }) } }, {}, "over the limit"],
    ["the settings", { settings: { "*.free": { needsApproval: true } } }, {}, "builtin.free needs approval"],
    ["whoever calls", {}, { needsApproval: "so says the run" }, "so says the run"],
  ];
  for (const [who, options, callOptions, reason] of asked) {
    verifies("H1", `${who} may ask for it`, async () => {
      const { toolkit } = benchWith(options);
      const { details } = await pending(toolkit.call("free", {}, callOptions));
      expect(details.reason).toBe(reason);
      const resolved = await toolkit.approvals.resolve(details.id, { approved: true });
      expect([resolved.status, await resolved.content?.text()]).toEqual(["succeeded", "free"]);
    });
  }

  verifies("H1", "the toolkit's settings may lift what the tool asks for", async () => {
    const { toolkit } = benchWith({ settings: { "builtin.pay": { needsApproval: false } } });
    await toolkit.call("pay", { to: "Ada" });
    expect(runs).toHaveLength(1);
  });

  verifies("H1", "a prompt that is called may need it too", async () => {
    const delegate = { runPrompt: async () => resource.text("answer", "done") };
    const { toolkit } = benchWith({ delegate, settings: { "*.brief": { needsApproval: true } } });
    const { details } = await pending(toolkit.call("brief"));
    const { content } = await toolkit.approvals.resolve(details.id, { approved: true });
    expect(await content?.text()).toBe("done");
  });

  verifies(["H1", "C12"], "a delegate decides at once", async () => {
    const requests: ApprovalRequest[] = [];
    let decision: unknown = { approved: true, by: "Bo" };
    const delegate = approving((request) => {
      requests.push(request);
      return decision;
    });
    const bench = benchWith({ delegate: [{}, delegate] });
    const { toolkit } = bench;
    const session = { id: "7", principal: "ada" };
    await toolkit.call("pay", { to: "Ada" }, { session });
    expect(requests[0]).toMatchObject({ tool: "builtin.pay", arguments: { to: "Ada" }, session });
    expect(runs).toHaveLength(1);
    expect(bench.take()).toContain("approvalRequested");
    decision = { approved: false, by: "Bo", reason: "too much" };
    const error = await failure(toolkit.call("pay", { to: "Ada" }));
    expect(error).toMatchObject({ code: "DENIED", details: { rule: "approval", by: "Bo", reason: "too much" } });
    expect(error.message).toContain("Bo denied it: too much");
    for (decision of ["yes", { approved: "yes" }, { approved: true, by: 7 }])
      expect((await failure(toolkit.call("pay", { to: "Ada" }))).message).toContain("is no decision");
    expect(runs).toHaveLength(1);
    expect(await toolkit.approvals.list()).toEqual([]);
  });

  verifies(
    ["H1", "C12"],
    "a delegate that fails refuses the call; one that leaves it open leaves it pending",
    async () => {
      const cause = new Error("out of office");
      const refusing = benchWith({ delegate: approving(() => Promise.reject(cause)) });
      expect(await failure(refusing.toolkit.call("pay", { to: "Ada" }))).toMatchObject({ code: "DENIED", cause });
      const open = benchWith({ delegate: approving(() => undefined) });
      await pending(open.toolkit.call("pay", { to: "Ada" }));
    },
  );

  verifies(
    ["H1", "C6"],
    "an abort while a delegate decides ends the call, and nothing waits or runs after it",
    async () => {
      const decided = Promise.withResolvers<undefined>();
      let heard: AbortSignal | undefined;
      const { toolkit } = benchWith({
        delegate: {
          approve: (_request, { signal }) => {
            heard = signal;
            return decided.promise;
          },
        },
      });
      const controller = new AbortController();
      const call = rejection(toolkit.call("pay", { to: "Ada" }, { signal: controller.signal }));
      await settle();
      controller.abort("enough");
      expect(await call).toBe("enough");
      expect(heard?.reason).toBe("enough");
      decided.resolve(undefined);
      await settle();
      expect([runs.length, await toolkit.approvals.list()]).toEqual([0, []]);
    },
  );

  verifies("H2", "a tool that changes while a delegate decides is not run", async () => {
    const far = new FakeConnector({ lists: { tool: tools("send") } });
    const decided = Promise.withResolvers<Decision>();
    const bench = benchWith({
      delegate: { approve: () => decided.promise },
      settings: { "far.*": { needsApproval: true } },
    });
    await bench.start({ far });
    const call = failure(bench.toolkit.call("far.send"));
    far.lists = { tool: [{ name: "send", description: "Sends everything.", input: { type: "object" } }] };
    far.session.host.changed({ kind: "tool" });
    await bench.clock.advance(1_000);
    decided.resolve({ approved: true });
    expect(await call).toMatchObject({ code: "DENIED", message: expect.stringContaining("has changed") });
  });

  verifies(["H2", "E1"], "resolve runs it as its caller, gives its result, and tells", async () => {
    const bench = benchWith();
    const { toolkit } = bench;
    const session = { id: "7", principal: "ada", meta: { tenant: "x" }, log: () => undefined };
    const attachments = [resource.text("note", "hi")];
    const { details } = await pending(toolkit.call("pay", { to: "Ada", amount: "7" }, { session, attachments }));
    const { id } = details;
    expect(await toolkit.approvals.get(id)).toMatchObject({ status: "pending", kind: "approval", tool: "builtin.pay" });
    const resolved = await toolkit.approvals.resolve(id, { approved: true, by: "Bo", reason: "fine" });
    expect(await resolved.content?.json()).toEqual({ paid: 7 });
    expect(resolved).toMatchObject({ status: "succeeded", decision: { approved: true, by: "Bo", reason: "fine" } });
    expect(runs).toHaveLength(1);
    expect(runs[0]?.context.session).toBe(session);
    expect(runs[0]?.context.meta).toEqual({ tenant: "x" });
    expect(runs[0]?.context.attachments).toEqual(attachments);
    await settle();
    const about = { id, ref: "builtin.pay" };
    expect(bench.of("approvalRequested")).toMatchObject([{ ...about, kind: "approval" }]);
    expect(bench.of("approvalResolved")).toMatchObject([{ ...about, status: "running", by: "Bo", reason: "fine" }]);
    expect(bench.of("callFinished")).toHaveLength(2);
  });

  verifies("H2", "twenty who approve at once make one run, and all are told the same", async () => {
    const done = Promise.withResolvers<void>();
    work = () => done.promise;
    const { toolkit } = benchWith();
    const { id } = (await pending(toolkit.call("pay", { to: "Ada" }))).details;
    const resolving = Array.from({ length: 20 }, () => toolkit.approvals.resolve(id, { approved: true }));
    await settle();
    expect((await toolkit.approvals.get(id)).status).toBe("running");
    expect(await failure(toolkit.approvals.resolve(id, { approved: false }))).toMatchObject({ code: "CONFLICT" });
    done.resolve();
    const contents = new Set((await Promise.all(resolving)).map(({ content }) => content));
    expect([runs.length, contents.size]).toEqual([1, 1]);
    expect((await toolkit.approvals.resolve(id, { approved: true })).content).toBe([...contents][0]);
    expect(runs).toHaveLength(1);
  });

  verifies("H2", "of those who approve and deny at once one has it, and the others are told", async () => {
    const { toolkit } = benchWith();
    const { id } = (await pending(toolkit.call("pay", { to: "Ada" }))).details;
    const outcomes = await Promise.allSettled(
      [false, true, false, true].map((approved) => toolkit.approvals.resolve(id, { approved })),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "rejected"]);
    expect(runs).toEqual([]);
  });

  verifies(
    "H2",
    "of opposite decisions at the same time the first one wins, whatever it takes to carry it out",
    async () => {
      const { toolkit } = benchWith();
      for (const first of [true, false]) {
        const { id } = (await pending(toolkit.call("pay", { to: "Ada" }))).details;
        const outcomes = await Promise.allSettled(
          [first, !first, first, !first].map((approved) => toolkit.approvals.resolve(id, { approved })),
        );
        expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "rejected"]);
        expect((await toolkit.approvals.get(id)).status).toBe(first ? "succeeded" : "denied");
      }
      expect(runs).toHaveLength(1);
    },
  );

  verifies(["H2", "J1"], "that ends while the store fails has ended once the store is there again", async () => {
    const done = Promise.withResolvers<void>();
    work = () => done.promise;
    const failing = new FailingStore(memoryStore());
    const bench = benchWith({ store: failing.store });
    const { toolkit, clock } = bench;
    const { id } = (await pending(toolkit.call("pay", { to: "Ada" }))).details;
    const resolving = toolkit.approvals.resolve(id, { approved: true });
    await settle();
    failing.fail();
    done.resolve();
    await settle();
    expect(bench.errors().join()).toContain("The outcome of the approved call of builtin.pay was not stored");
    await clock.advance(15_000);
    failing.recoverSilently();
    await clock.advance(1_000);
    expect((await resolving).status).toBe("succeeded");
    expect(await (await toolkit.approvals.wait(id)).json()).toEqual({ paid: 1 });
    expect(runs).toHaveLength(1);
  });

  verifies("H2", "who approves and goes away ends its wait, and not the run", async () => {
    const done = Promise.withResolvers<void>();
    work = () => done.promise;
    const { toolkit } = benchWith();
    const { id } = (await pending(toolkit.call("pay", { to: "Ada" }))).details;
    const controller = new AbortController();
    const resolving = rejection(toolkit.approvals.resolve(id, { approved: true }, { signal: controller.signal }));
    await settle();
    controller.abort("away");
    expect(await resolving).toBe("away");
    const waiting = toolkit.approvals.wait(id);
    done.resolve();
    expect(await (await waiting).json()).toEqual({ paid: 1 });
  });

  verifies("H2", "what is denied is DENIED to those who wait, with who and why", async () => {
    const { toolkit } = benchWith();
    const { id } = (await pending(toolkit.call("pay", { to: "Ada" }))).details;
    const waiting = failure(toolkit.approvals.wait(id));
    const denied = await toolkit.approvals.resolve(id, { approved: false, by: "Bo", reason: "no budget" });
    expect(denied.status).toBe("denied");
    expect(await waiting).toMatchObject({
      code: "DENIED",
      ref: "builtin.pay",
      details: { rule: "approval", by: "Bo", reason: "no budget" },
    });
    expect(await failure(toolkit.approvals.resolve(id, { approved: true }))).toMatchObject({ code: "CONFLICT" });
  });

  verifies("H2", "what fails after it was approved fails for those who wait, and is not run again", async () => {
    work = () => Promise.reject(new Error("no funds"));
    const { toolkit } = benchWith();
    const { id } = (await pending(toolkit.call("pay", { to: "Ada" }))).details;
    const waiting = failure(toolkit.approvals.wait(id));
    const resolved = await toolkit.approvals.resolve(id, { approved: true });
    expect(resolved).toMatchObject({ status: "failed", error: { code: "TOOL_FAILED", ref: "builtin.pay" } });
    expect(await waiting).toBe(resolved.error);
    await toolkit.approvals.resolve(id, { approved: true });
    expect(runs).toHaveLength(1);
  });

  verifies("H2", "it expires, on the clock of the toolkit, and is forgotten a while after", async () => {
    const bench = benchWith({ approvals: { ttlMs: minute, keepMs: 2 * minute } });
    const { toolkit, clock } = bench;
    const { id } = (await pending(toolkit.call("pay", { to: "Ada" }))).details;
    const waiting = failure(toolkit.approvals.wait(id));
    expect(clock.keptAlive).toBe(1);
    await clock.advance(minute);
    expect((await waiting).message).toContain("it was not decided until");
    expect(clock.keptAlive).toBe(0);
    expect(bench.of("approvalResolved")).toMatchObject([{ id, status: "expired" }]);
    expect(await failure(toolkit.approvals.resolve(id, { approved: true }))).toMatchObject({ code: "CONFLICT" });
    await clock.advance(2 * minute);
    expect(await failure(toolkit.approvals.get(id))).toMatchObject({ code: "NOT_FOUND" });
    expect([runs.length, clock.timers]).toEqual([0, 0]);
  });

  verifies("H2", "is not run late where the timer was late", async () => {
    const { toolkit, clock } = benchWith({ approvals: { ttlMs: minute } });
    const { id } = (await pending(toolkit.call("pay", { to: "Ada" }))).details;
    clock.stall(minute);
    expect(await failure(toolkit.approvals.resolve(id, { approved: true }))).toMatchObject({ code: "CONFLICT" });
    expect(runs).toEqual([]);
  });

  const changes: readonly (readonly [what: string, change: (bench: Bench, far: FakeConnector) => void])[] = [
    [
      "changed",
      (_bench, far) => {
        far.lists = { tool: [{ name: "send", description: "Sends everything.", input: { type: "object" } }] };
        far.session.host.changed({ kind: "tool" });
      },
    ],
    [
      "gone",
      (_bench, far) => {
        far.lists = { tool: [] };
        far.session.host.changed({ kind: "tool" });
      },
    ],
    ["of a connector that is gone", (bench) => void bench.toolkit.removeConnector("far")],
  ];
  for (const [what, change] of changes) {
    verifies("H2", `a tool that is ${what} voids it`, async () => {
      const far = new FakeConnector({ lists: { tool: tools("send") } });
      const bench = benchWith({ settings: { "far.*": { needsApproval: true } } });
      await bench.start({ far });
      const { toolkit } = bench;
      const { id } = (await pending(toolkit.call("far.send", { to: "Ada" }))).details;
      const waiting = failure(toolkit.approvals.wait(id));
      change(bench, far);
      await bench.clock.advance(1_000);
      const error = await failure(toolkit.approvals.resolve(id, { approved: true }));
      expect([error.code, (await toolkit.approvals.get(id)).status]).toEqual(["CONFLICT", "void"]);
      expect(await waiting).toMatchObject({ code: "DENIED", message: expect.stringContaining("call it again") });
    });
  }

  verifies("H2", "what its caller does to the input afterwards was not approved, and is not run", async () => {
    const { toolkit } = benchWith();
    const input = { to: "Ada", amount: 1 };
    const { id } = (await pending(toolkit.call("pay", input))).details;
    input.amount = 1_000_000;
    await toolkit.approvals.resolve(id, { approved: true });
    expect(runs[0]?.input).toEqual({ to: "Ada", amount: 1 });
  });

  const tampered = {
    arguments: { arguments: { to: "Eve", amount: 9 } },
    caller: { session: { id: "8", principal: "eve" } },
    tool: { tool: "builtin.large" },
  };
  for (const [what, change] of Object.entries(tampered)) {
    verifies("H2", `an approval whose ${what} is not what was asked about is void`, async () => {
      const store = memoryStore();
      const first = benchWith({ store: sharing(store) });
      const session = { id: "7", principal: "ada" };
      const { id } = (await pending(first.toolkit.call("pay", { to: "Ada" }, { session }))).details;
      const stored = await store.get(keyOf(id));
      await store.put({ ...keyOf(id), value: { ...(stored?.value as object), ...change } });
      const second = benchWith({ store: sharing(store) });
      expect(await failure(second.toolkit.approvals.resolve(id, { approved: true }))).toMatchObject({
        code: "CONFLICT",
      });
      expect([runs.length, (await second.toolkit.approvals.get(id)).status]).toEqual([0, "void"]);
    });
  }

  verifies("H2", "is known and run by another toolkit on the same store, by one of them alone", async () => {
    const store = memoryStore();
    const first = benchWith({ store: sharing(store) });
    const session = { id: "7", principal: "ada", meta: { tenant: "x" } };
    const { id } = (await pending(first.toolkit.call("pay", { to: "Ada" }, { session }))).details;
    await first.toolkit.close();
    const others = [benchWith({ store: sharing(store) }), benchWith({ store: sharing(store) })];
    const waiting = others.map(({ toolkit }) => toolkit.approvals.wait(id));
    const resolved = await Promise.all(others.map(({ toolkit }) => toolkit.approvals.resolve(id, { approved: true })));
    expect(resolved.map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
    expect(runs).toHaveLength(1);
    expect(runs[0]?.context.session).toEqual(session);
    expect(await Promise.all((await Promise.all(waiting)).map((content) => content.json()))).toEqual([
      { paid: 1 },
      { paid: 1 },
    ]);
  });

  verifies(
    "H2",
    "what has attachments, or is confined to a view, is void in another process that cannot reach its own",
    async () => {
      const store = memoryStore();
      const alone = () => ({ ...sharing(store), bus: undefined });
      const first = benchWith({ store: alone() }).toolkit;
      const second = benchWith({ store: alone() }).toolkit;
      const attachments = [resource.text("note", "hi")];
      const calls = [
        first.call("pay", { to: "Ada" }, { attachments }),
        first.view({ exclude: ["*.free"] }).call("pay", { to: "Ada" }),
      ];
      for (const call of calls) {
        const { id } = (await pending(call)).details;
        expect(await failure(second.approvals.resolve(id, { approved: true }))).toMatchObject({ code: "CONFLICT" });
        expect((await second.approvals.get(id)).status).toBe("void");
      }
      expect(runs).toEqual([]);
    },
  );

  verifies(
    ["H2", "V6"],
    "what only its own process can run is decided in another, and void once its own is gone",
    async () => {
      const store = memoryStore();
      const first = benchWith({ store: sharing(store) }).toolkit;
      const second = benchWith({ store: sharing(store) }).toolkit;
      const attachments = [resource.text("note", "hi")];
      const idOf = async (call: Promise<unknown>) => (await pending(call)).details.id;
      const attached = await idOf(first.call("pay", { to: "Ada" }, { attachments }));
      expect(await second.approvals.resolve(attached, { approved: true, by: "ops" })).toMatchObject({
        status: "succeeded",
      });
      expect(runs.map(({ context }) => context.attachments.length)).toEqual([1]);
      const view = first.view({ exclude: ["*.free"] });
      const confined = await idOf(view.call("pay", { to: "Ada" }));
      const both = [first, second].map((toolkit) => toolkit.approvals.resolve(confined, { approved: true }));
      expect((await Promise.all(both)).map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
      expect(runs).toHaveLength(2);
      const denied = await idOf(view.call("pay", { to: "Ada" }));
      expect((await second.approvals.resolve(denied, { approved: false })).status).toBe("denied");
      const orphan = await idOf(view.call("pay", { to: "Ada" }));
      await first.close();
      expect(await failure(second.approvals.resolve(orphan, { approved: true }))).toMatchObject({ code: "CONFLICT" });
      expect((await second.approvals.get(orphan)).status).toBe("void");
      expect(runs).toHaveLength(2);
    },
  );

  verifies(["H3", "V6"], "work whose result only its own process can take is completed in another", async () => {
    const store = memoryStore();
    const later = defineTool({
      name: "later",
      run: (_input, context) => context.pending({ reason: "a job", message: "It runs elsewhere." }),
    });
    const first = benchWith({ store: sharing(store), items: [later] }).toolkit;
    const second = benchWith({ store: sharing(store), items: [later] }).toolkit;
    const { id } = (await pending(first.view({ exclude: ["*.free"] }).call("later"))).details;
    const waiting = first.approvals.wait(id);
    expect((await second.approvals.complete(id, { result: { done: true } })).status).toBe("succeeded");
    expect(await (await waiting).json()).toEqual({ done: true });
  });

  verifies("H2", "a tool of a toolset's own is run as itself; a view is not left", async () => {
    const secret = defineTool({ name: "secret", run: () => "secret" });
    const peek = defineTool({
      name: "peek",
      options: { needsApproval: true },
      run: (_input, { toolbox }) => toolbox.lookup("secret").then(({ ref }) => ref),
    });
    const { toolkit } = benchWith({ items: [secret, peek] });
    const view = toolkit.view({ exclude: ["*.secret"] });
    const seen = await pending(view.call("peek"));
    const viewed = await toolkit.approvals.resolve(seen.details.id, { approved: true });
    expect(viewed).toMatchObject({ status: "failed", error: { cause: { code: "NOT_FOUND" } } });
    const own = { ...free, name: "own", options: { needsApproval: true } };
    const run = (await toolkit.toolset()).add(own).begin();
    const [answer] = await run.execute([{ id: "1", name: "own", input: {} }]);
    expect(answer?.status).toBe("pending");
    const details = ToolkitError.is(answer?.error, "PENDING") ? answer.error.details : undefined;
    const resolved = await toolkit.approvals.resolve(details?.id ?? "", { approved: true });
    expect(await resolved.content?.text()).toBe("free");
  });

  verifies(["H1", "T5"], "the policy of a run may ask for it", async () => {
    const { toolkit } = benchWith();
    const policy = { decide: () => ({ approve: "a person must look" }) };
    const run = (await toolkit.toolset({ policy })).begin();
    const [answer] = await run.execute([{ id: "1", name: "free", input: {} }]);
    expect(answer).toMatchObject({ status: "pending", error: { details: { reason: "a person must look" } } });
    expect(run.toolCalls).toBe(1);
  });

  verifies("H2", "is refused still where the policy refuses it by the time it is approved", async () => {
    let open = true;
    const { toolkit } = benchWith({ policy: { decide: () => open } });
    const { id } = (await pending(toolkit.call("pay", { to: "Ada" }))).details;
    open = false;
    const resolved = await toolkit.approvals.resolve(id, { approved: true });
    expect(resolved).toMatchObject({ status: "failed", error: { code: "DENIED", details: { rule: "decide" } } });
    expect(runs).toEqual([]);
  });

  verifies("H2", "what was approved is one call: a tool that calls itself again is asked about again", async () => {
    const again = defineTool({
      name: "again",
      options: { needsApproval: true },
      run: async (_input, { toolbox, depth }) => (depth > 0 ? "ran" : toolbox.call("again")),
    });
    const { toolkit } = benchWith({ items: [again] });
    const { id } = (await pending(toolkit.call("again"))).details;
    const resolved = await toolkit.approvals.resolve(id, { approved: true });
    expect(resolved.error).toMatchObject({ code: "TOOL_FAILED", cause: { code: "PENDING" } });
    expect(await toolkit.approvals.list({ status: "pending" })).toHaveLength(1);
  });

  verifies("H2", "list narrows by status, tool and principal", async () => {
    const { toolkit } = benchWith();
    const { approvals } = toolkit;
    const first = (await pending(toolkit.call("pay", { to: "a" }, { session: { id: "1", principal: "ada" } }))).details;
    const second = (await pending(toolkit.call("large", { amount: 500 }))).details;
    await approvals.resolve(second.id, { approved: false });
    const ids = async (query: Parameters<typeof approvals.list>[0]) =>
      (await approvals.list(query)).map(({ id }) => id);
    expect(await ids(undefined)).toEqual([first.id, second.id]);
    expect(await ids({ status: "pending" })).toEqual([first.id]);
    expect(await ids({ status: ["denied", "pending"] satisfies ApprovalStatus[] })).toEqual([first.id, second.id]);
    expect(await ids({ tool: "builtin.large" })).toEqual([second.id]);
    expect(await ids({ principal: "ada" })).toEqual([first.id]);
    expect(await ids({ principal: "eve" })).toEqual([]);
  });

  verifies(["H2", "C12"], "what is no decision, no id, or too late says so; a store that is full refuses", async () => {
    const { toolkit } = benchWith({ approvals: { limit: 1 } });
    const { approvals } = toolkit;
    const { id } = (await pending(toolkit.call("pay", { to: "Ada" }))).details;
    expect(await failure(approvals.resolve(id, { approved: "yes" } as never))).toMatchObject({ code: "INVALID_INPUT" });
    expect(await failure(approvals.complete(id, { result: 1 }))).toMatchObject({ code: "INVALID_INPUT" });
    for (const call of [approvals.get("x"), approvals.wait("x"), approvals.resolve("x", { approved: true })])
      expect(await failure(call)).toMatchObject({ code: "NOT_FOUND", details: { key: "x" } });
    const full = await failure(toolkit.call("pay", { to: "Bo" }));
    expect(full).toMatchObject({ code: "LIMIT_EXCEEDED", details: { limit: "approvals", max: 1 } });
    await approvals.resolve(id, { approved: false });
    await pending(toolkit.call("pay", { to: "Bo" }));
  });

  verifies("H2", "close ends those who wait, and leaves no timer", async () => {
    const { toolkit, clock } = benchWith();
    const { id } = (await pending(toolkit.call("pay", { to: "Ada" }))).details;
    const waiting = failure(toolkit.approvals.wait(id));
    await settle();
    await toolkit.close();
    expect((await waiting).code).toBe("CLOSED");
    expect(await failure(toolkit.approvals.list())).toMatchObject({ code: "CLOSED" });
    expect(clock.timers).toBe(0);
  });

  verifies("H2", "options that are none are refused", () => {
    for (const approvals of [7, { ttlMs: 0 }, { keepMs: Number.POSITIVE_INFINITY }, { leaseMs: -1 }, { limit: 0.5 }])
      expect(() => new Toolkit({ approvals: approvals as never })).toThrow(/option approvals/);
    expect(() => new Toolkit({ store: {} as never })).toThrow(/option store/);
  });
});

describe("a call whose work completes elsewhere", () => {
  let bench: Bench;
  let request: PendingRequest;
  let swallow: boolean;

  const order = defineTool({
    name: "order",
    output: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
    run: async (_input, context) => {
      await Promise.resolve();
      try {
        context.pending(request);
      } catch (error) {
        if (!swallow) throw error;
      }
      return { sum: 0 };
    },
  });
  const at = defineTool({ name: "at_once", run: (_input, context) => context.pending(request) });

  beforeEach(() => {
    bench = new Bench({ items: [order, at], settings: { "*.at_once": { cache: false } } });
    request = {
      reason: "delivery",
      message: "It is on its way.",
      expiresAt: bench.clock.now() + minute,
      callbackUrl: "https://example.com/orders/1",
      metadata: { order: 1 },
    };
    swallow = false;
  });
  afterEach(() => bench.toolkit.close());

  verifies(["H3", "E1"], "ends PENDING with what the tool says of it, and is there by then", async () => {
    for (const name of ["order", "at_once"]) {
      const error = await pending(bench.toolkit.call(name, { book: 7 }));
      expect(error).toMatchObject({ phase: "execute", ref: `builtin.${name}` });
      expect(error.details).toEqual({
        ...request,
        id: error.details.id,
        tool: `builtin.${name}`,
        arguments: { book: 7 },
      });
      expect(await bench.toolkit.approvals.get(error.details.id)).toMatchObject({ kind: "completion", ...request });
    }
    await settle();
    expect(bench.of("approvalRequested").map(({ kind }) => kind)).toEqual(["completion", "completion"]);
  });

  verifies("H3", "is completed once, with a result that fits its schema", async () => {
    const { approvals } = bench.toolkit;
    const { id } = (await pending(bench.toolkit.call("order"))).details;
    const waiting = approvals.wait(id);
    expect(await failure(approvals.complete(id, { result: { sum: "7" } }))).toMatchObject({ code: "INVALID_OUTPUT" });
    expect((await approvals.get(id)).status).toBe("pending");
    const completions = await Promise.allSettled([7, 8, 9].map((sum) => approvals.complete(id, { result: { sum } })));
    expect(completions.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
    expect(await (await waiting).json()).toEqual({ sum: 7 });
    expect(await failure(approvals.complete(id, { result: { sum: 7 } }))).toMatchObject({ code: "CONFLICT" });
    await settle();
    expect(bench.of("approvalResolved")).toMatchObject([{ id, status: "succeeded" }]);
  });

  verifies("H3", "is completed with an error, or given up, or expires", async () => {
    const { approvals } = bench.toolkit;
    const ids = [];
    for (let count = 0; count < 3; count += 1) ids.push((await pending(bench.toolkit.call("order"))).details.id);
    const [broken = "", givenUp = "", late = ""] = ids;
    const waiting = ids.map((id) => failure(approvals.wait(id)));
    await approvals.complete(broken, { error: new Error("sold out") });
    expect(await failure(approvals.resolve(givenUp, { approved: true }))).toMatchObject({ code: "INVALID_INPUT" });
    await approvals.resolve(givenUp, { approved: false, reason: "never mind" });
    await bench.clock.advance(minute);
    const [error, denied, expired] = await Promise.all(waiting);
    expect(error).toMatchObject({ code: "TOOL_FAILED", cause: { message: "sold out" } });
    expect(denied).toMatchObject({ code: "DENIED", details: { reason: "never mind" } });
    expect(expired?.message).toContain("it was not completed until");
    for (const id of [givenUp, late])
      expect(await failure(approvals.complete(id, { result: { sum: 1 } }))).toMatchObject({ code: "CONFLICT" });
  });

  verifies("H3", "one that was approved first waits on under the same id", async () => {
    const { toolkit } = bench;
    const { id } = (await pending(toolkit.call("order", {}, { needsApproval: "dear" }))).details;
    const waiting = toolkit.approvals.wait(id);
    const resolved = await toolkit.approvals.resolve(id, { approved: true, by: "Bo" });
    expect(resolved).toMatchObject({ status: "pending", kind: "completion", message: request.message });
    expect(await toolkit.approvals.resolve(id, { approved: true })).toMatchObject({ status: "pending" });
    await toolkit.approvals.complete(id, { result: { sum: 3 } });
    expect(await (await waiting).json()).toEqual({ sum: 3 });
    expect(await toolkit.approvals.list()).toHaveLength(1);
  });

  verifies("H3", "that is to be waited for until a time that is over fails, and is not kept", async () => {
    request = { ...request, expiresAt: bench.clock.now() };
    for (const name of ["order", "at_once"]) {
      const error = await failure(bench.toolkit.call(name));
      expect(error).toMatchObject({ code: "TOOL_FAILED", message: expect.stringContaining("a time in the future") });
    }
    expect(await bench.toolkit.approvals.list()).toEqual([]);
    const { id } = (await pending(bench.toolkit.call("order", {}, { needsApproval: "dear" }))).details;
    const resolved = await bench.toolkit.approvals.resolve(id, { approved: true });
    expect(resolved).toMatchObject({ status: "failed", error: { code: "TOOL_FAILED" } });
  });

  verifies("H3", "what the tool takes back leaves nothing behind", async () => {
    swallow = true;
    expect(await (await bench.toolkit.call("order")).json()).toEqual({ sum: 0 });
    expect(await bench.toolkit.approvals.list()).toEqual([]);
  });

  verifies("H3", "a request or completion that is none says so", async () => {
    const { approvals } = bench.toolkit;
    const { id } = (await pending(bench.toolkit.call("order"))).details;
    for (const completion of [{}, { result: 1, error: 2 }, undefined])
      expect(await failure(approvals.complete(id, completion as never))).toMatchObject({ code: "INVALID_INPUT" });
    request = { reason: "x" } as never;
    const error = await failure(bench.toolkit.call("order"));
    expect([error.code, error.message]).toEqual(["TOOL_FAILED", expect.stringContaining("a text for message")]);
  });
});

verifies("H2", "whoever waits when the toolkit closes is told, however soon that is", async () => {
  const asked = defineTool({ name: "asked", options: { needsApproval: true }, run: () => "done" });
  const toolkit = new Toolkit({ items: [asked] });
  const pending = await failure(toolkit.call("asked"));
  const { id } = pending.details as { readonly id: string };
  const waiting = failure(toolkit.approvals.wait(id));
  await toolkit.close();
  expect((await waiting).code).toBe("CLOSED");
});
