import { describe, expect } from "vitest";
import * as z from "zod";
import { defineTool, memoryStore, parsePrompt, type Toolkit } from "../../src/index.ts";
import { type ScriptedStep, virtualClock } from "../../src/testing/index.ts";
import { failure, rejection } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { faultsOf, resultsIn, type Served, serve, toldIn } from "./support.ts";

const pay = (ran: string[]) =>
  defineTool<{ to?: string }>({
    name: "pay",
    input: { type: "object", properties: { to: { type: "string" } } },
    options: { needsApproval: true },
    run: ({ to = "nobody" }) => {
      ran.push(to);
      return `paid ${to}`;
    },
  });
const waits = defineTool({
  name: "waits",
  run: (_input, context) => context.pending({ reason: "review", message: "Reviewed by hand." }),
});
const calls = (...names: readonly string[]): ScriptedStep => ({
  toolCalls: names.map((name) => ({
    name: name.split(" ")[0] ?? "",
    input: name.includes(" ") ? { to: name.split(" ")[1] } : {},
  })),
});

async function pendingId(run: Promise<unknown>): Promise<string> {
  const error = await failure(run);
  expect(error.code).toBe("PENDING");
  return (error.details as { id: string }).id;
}

async function decide(toolkit: Toolkit, approved: boolean, index = 0) {
  const waiting = await toolkit.approvals.list({ status: "pending" });
  return toolkit.approvals.resolve(waiting[index]?.id ?? "", { approved });
}

/** Suspended with one call of `pay`. */
async function suspended(script: Parameters<typeof serve>[0], options: Parameters<typeof serve>[2] = {}) {
  const ran: string[] = [];
  const served = serve(script, [pay(ran), waits], options);
  const id = await pendingId(served.assistant.generate("Pay.", { tools: ["*"] }));
  return { ...served, served, ran, id };
}

describe("a run that waits", () => {
  const ends: readonly (readonly [string, (served: Served) => Promise<unknown>, RegExp, string])[] = [
    ["approved", ({ toolkit }) => decide(toolkit, true), /^paid Ann$/, "ok"],
    ["denied", ({ toolkit }) => decide(toolkit, false), /^Not done, because it is not allowed/, "denied"],
  ];
  for (const [what, settle, words, status] of ends) {
    verifies("A7", `goes on when its call is ${what}`, async () => {
      const { served, id, model, assistant } = await suspended([calls("pay Ann"), "done"]);
      await using _ = served;
      await settle(served);
      const answer = await assistant.resume(id);
      expect(toldIn(model.requests[1])).toMatch(words);
      expect(answer.meta).toMatchObject({ steps: 2, toolCalls: [{ name: "pay", status }], usage: { inputTokens: 20 } });
      expect(faultsOf(model.requests[1]?.prompt ?? [])).toEqual([]);
    });
  }

  verifies("A7", "goes on when nobody came in time", async () => {
    const clock = virtualClock();
    const { served, id, model, assistant } = await suspended([calls("pay Ann"), "done"], {
      agent: { clock },
      toolkit: { clock, approvals: { ttlMs: 1_000 } },
    });
    await using _ = served;
    await clock.advance(2_000);
    await assistant.resume(id);
    expect(toldIn(model.requests[1])).toMatch(/^Not done, because it is not allowed/);
  });

  verifies(["A7", "H3"], "goes on when work elsewhere is completed, or fails", async () => {
    for (const [completion, words] of [
      [{ result: "looks good" }, /^looks good$/],
      [{ error: new Error("rejected by the bank") }, /^Failed .*rejected by the bank/],
    ] as const) {
      const { served, id, model, assistant, toolkit } = await suspended([calls("waits"), "done"]);
      await using _ = served;
      const [waiting] = await toolkit.approvals.list();
      await toolkit.approvals.complete(waiting?.id ?? "", completion);
      await assistant.resume(id);
      expect(toldIn(model.requests[1])).toMatch(words);
    }
  });

  verifies("A7", "waits on where some of its calls still do, and runs each once", async () => {
    const { served, id, ran, model, assistant, toolkit } = await suspended([
      calls("pay Ann", "waits", "pay Bob"),
      "done",
    ]);
    await using _ = served;
    for (let left = 3; left > 0; left--) {
      expect(await failure(assistant.resume(id))).toMatchObject({ code: "PENDING", details: { id } });
      const [next] = await toolkit.approvals.list({ status: "pending" });
      if (next?.kind === "completion") await toolkit.approvals.complete(next.id, { result: "ok" });
      else await toolkit.approvals.resolve(next?.id ?? "", { approved: true });
    }
    await assistant.resume(id);
    expect(ran.sort()).toEqual(["Ann", "Bob"]);
    expect(resultsIn(model.requests[1]).map(({ toolName }) => toolName)).toEqual(["pay", "waits", "pay"]);
    expect(faultsOf(model.requests[1]?.prompt ?? [])).toEqual([]);
  });

  verifies("A7", "goes on once, however many resume it at the same time", async () => {
    const { served, id, ran, model, assistant, toolkit } = await suspended([calls("pay Ann"), "done"]);
    await using _ = served;
    await decide(toolkit, true);
    const ends = await Promise.allSettled(Array.from({ length: 5 }, () => assistant.resume(id)));
    expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const codes = ends.flatMap((end) => (end.status === "rejected" ? [end.reason.code] : []));
    for (const code of codes) expect(["CONFLICT", "NOT_FOUND"]).toContain(code);
    expect(ran).toEqual(["Ann"]);
    expect(model.requests).toHaveLength(2);
  });

  verifies("A7", "can be resumed again where the model failed right after", async () => {
    const { served, id, ran, model, assistant, toolkit } = await suspended([
      calls("pay Ann"),
      { error: { status: 400 } },
      "done",
    ]);
    await using _ = served;
    await decide(toolkit, true);
    expect(await failure(assistant.resume(id))).toMatchObject({ code: "MODEL_FAILED" });
    expect(await (await assistant.resume(id)).text()).toBe("done");
    expect(ran).toEqual(["Ann"]);
    expect(resultsIn(model.requests[2])).toHaveLength(1);
  });

  verifies("A7", "can be resumed again where resuming was aborted", async () => {
    const gate = Promise.withResolvers<void>();
    const { served, id, ran, model, assistant, toolkit } = await suspended((_request, index) =>
      index === 0 ? calls("pay Ann") : index === 1 ? { text: "never", gate: gate.promise } : "done",
    );
    await using _ = served;
    await decide(toolkit, true);
    const controller = new AbortController();
    const resumed = rejection(assistant.resume(id, { signal: controller.signal }));
    await expect.poll(() => model.requests.length).toBe(2);
    controller.abort(new Error("enough"));
    expect(await resumed).toMatchObject({ message: "enough" });
    const again = async () => (await assistant.resume(id)).text();
    await expect.poll(again, { timeout: 5_000 }).toBe("done");
    expect(ran).toEqual(["Ann"]);
  });

  verifies("A7", "goes on though the signal of the call that it was has aborted since", async () => {
    const ran: string[] = [];
    await using served = serve([calls("pay Ann"), calls("pay Bob"), "done"], [pay(ran)]);
    const controller = new AbortController();
    const id = await pendingId(served.assistant.generate("Pay.", { tools: ["pay"], signal: controller.signal }));
    controller.abort();
    await decide(served.toolkit, true);
    expect(await pendingId(served.assistant.resume(id))).toBe(id);
    await decide(served.toolkit, true);
    expect(await (await served.assistant.resume(id)).text()).toBe("done");
    expect(ran).toEqual(["Ann", "Bob"]);
  });

  verifies("A7", "can be resumed still where resuming did not begin", async () => {
    const { served, id, assistant, toolkit } = await suspended([calls("pay Ann"), "done"]);
    await using _ = served;
    await decide(toolkit, true);
    await rejection(assistant.resume(id, { signal: AbortSignal.abort() }));
    expect(await (await assistant.resume(id)).text()).toBe("done");
  });

  verifies("A7", "is waited for with wait", async () => {
    const { served, id, assistant, toolkit } = await suspended([calls("pay Ann", "pay Bob"), "done"]);
    await using _ = served;
    const answer = assistant.resume(id, { wait: true });
    await decide(toolkit, true);
    await decide(toolkit, true);
    expect(await (await answer).text()).toBe("done");
  });

  verifies("A7", "is nobody's who is another principal", async () => {
    await using served = serve([calls("pay Ann"), "done"], [pay([])]);
    const session = { id: "s", principal: "ann" };
    const id = await pendingId(served.assistant.generate("Pay.", { tools: ["pay"], session }));
    await decide(served.toolkit, true);
    const other = { id: "t", principal: "eve" };
    expect(await failure(served.assistant.resume(id, { session: other }))).toMatchObject({ code: "NOT_FOUND" });
    expect(await (await served.assistant.resume(id, { session })).text()).toBe("done");
  });

  verifies("A7", "in a view goes on with no more than the view shows", async () => {
    const secret = defineTool({ name: "secret", run: () => "hidden" });
    await using served = serve([calls("pay Ann"), calls("secret"), "done"], [pay([]), secret]);
    const view = served.toolkit.view({ include: ["builtin.pay"] });
    const id = await pendingId(served.assistant.generate("Pay.", { tools: ["*"], toolbox: view }));
    await decide(served.toolkit, true);
    await served.assistant.resume(id);
    expect(toldIn(served.model.requests[2])).toMatch(/There is no tool "secret"/);
  });

  verifies("A7", "is CLOSED with its toolkit", async () => {
    const { served, id, assistant, toolkit } = await suspended([calls("pay Ann")]);
    await using _ = served;
    await toolkit.close();
    expect(await failure(assistant.resume(id))).toMatchObject({ code: "CLOSED" });
  });

  verifies(
    ["A7", "T4"],
    "for a tool that takes control ends with its result, and its conversation is whole",
    async () => {
      const sign = defineTool({
        name: "sign",
        options: { needsApproval: true, takesControl: true },
        run: () => "signed",
      });
      await using served = serve([calls("sign")], [sign]);
      const id = await pendingId(served.assistant.generate("Sign.", { tools: ["sign"] }));
      await decide(served.toolkit, true);
      const answer = await served.assistant.resume(id);
      expect(await answer.text()).toBe("signed");
      expect(answer.meta).toMatchObject({ finishReason: "control" });
      expect(faultsOf(served.assistant.conversationOf(answer)?.messages ?? [])).toEqual([]);
    },
  );

  verifies(["A3", "A7"], "gives the answer its schema makes of it", async () => {
    const output = z.object({ days: z.number().default(3) });
    await using served = serve([calls("pay Ann"), { toolCalls: [{ name: "submit_output", input: {} }] }], [pay([])]);
    const id = await pendingId(served.assistant.generate("Pay.", { tools: ["pay"], output }));
    await decide(served.toolkit, true);
    expect(await (await served.assistant.resume(id)).json()).toEqual({ days: 3 });
  });

  verifies(["A4", "A7"], "still has its results to read when it goes on", async () => {
    const big = defineTool({ name: "big", run: () => `${"b".repeat(2_000)}the end` });
    let uri = "";
    await using served = serve(
      ({ prompt }, index) => {
        if (index === 0) return calls("big", "pay");
        if (index === 2) return "done";
        uri = /result:[^\\"]+/.exec(JSON.stringify(prompt))?.[0] ?? "";
        return { toolCalls: [{ name: "result_read", input: { uri, offset: 1_900 } }] };
      },
      [big, pay([])],
      { agent: { maxResultBytes: 1_000 } },
    );
    const id = await pendingId(served.assistant.generate("Pay.", { tools: ["*"] }));
    await decide(served.toolkit, true);
    await served.assistant.resume(id);
    expect(toldIn(served.model.requests[2])).toMatch(/the end$/);
  });

  verifies("A7", "as a sub-agent suspends who called it, and goes on with it", async () => {
    const ran: string[] = [];
    const prompt = (name: string, tool: string) =>
      parsePrompt(`---\nname: ${name}\ntools: [${tool}]\n---\nI am ${name}.`);
    await using served = serve(
      ({ prompt: messages }) => {
        const asked = JSON.stringify(messages);
        const isDone = messages.at(-1)?.role === "tool";
        if (asked.includes("I am inner")) return isDone ? "inner done" : calls("pay Ann");
        return isDone ? "outer done" : calls("inner");
      },
      [pay(ran), prompt("inner", "pay"), prompt("outer", "inner")],
    );
    const id = await pendingId(served.toolkit.call("outer"));
    expect(await failure(served.assistant.resume(id))).toMatchObject({ code: "PENDING", details: { id } });
    await decide(served.toolkit, true);
    const answer = await served.assistant.resume(id);
    expect(await answer.text()).toBe("outer done");
    expect(toldIn(served.model.requests.at(-1))).toBe("inner done");
    expect(answer.meta).toMatchObject({ steps: 2, usage: { inputTokens: 40, outputTokens: 20 } });
    expect(ran).toEqual(["Ann"]);
    expect(await failure(served.assistant.resume(id))).toMatchObject({ code: "NOT_FOUND" });
  });

  verifies("A7", "with a sub-agent can be resumed again, and leaves nothing in the store", async () => {
    const prompt = (name: string, tool: string) =>
      parsePrompt(`---\nname: ${name}\ntools: [${tool}]\n---\nI am ${name}.`);
    const store = memoryStore();
    let failures = 2;
    await using served = serve(
      ({ prompt: messages }) => {
        const isDone = messages.at(-1)?.role === "tool";
        if (JSON.stringify(messages).includes("I am inner")) return isDone ? "inner done" : calls("pay Ann");
        if (isDone && failures-- > 0) return { error: { status: 400 } };
        return isDone ? "outer done" : calls("inner");
      },
      [pay([]), prompt("inner", "pay"), prompt("outer", "inner")],
      { toolkit: { store } },
    );
    const id = await pendingId(served.toolkit.call("outer"));
    await decide(served.toolkit, true);
    for (const _ of [1, 2]) expect((await failure(served.assistant.resume(id))).code).toBe("MODEL_FAILED");
    const answer = await served.assistant.resume(id);
    expect(toldIn(served.model.requests.at(-1))).toBe("inner done");
    expect(await answer.text()).toBe("outer done");
    const { records } = await store.list({ collection: "run", owner: "" });
    expect(records).toEqual([]);
  });
});
