import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { z } from "zod";
import { agent, type Conversation, type HistoryHook, recentHistory } from "../../src/agent/index.ts";
import { defineTool, memoryStore, parsePrompt, Toolkit } from "../../src/index.ts";
import { sqliteStore } from "../../src/store/sqlite/index.ts";
import { type ModelRequest, scriptedModel, virtualClock } from "../../src/testing/index.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { faultsOf, serve } from "./support.ts";

const chat = parsePrompt(
  '---\nname: chat\ndescription: Chats.\ntools: ["*"]\ninput:\n  type: object\n  properties: { message: { type: string } }\n---\nYou are kind.\n\n{{message}}',
);
const forecast = defineTool({
  name: "forecast",
  input: z.object({ city: z.string() }),
  run: ({ city }) => `${city}: 21 degrees`,
});
const pay = defineTool({ name: "pay", options: { needsApproval: true }, run: () => "paid" });
const ada = { id: "a", principal: "ada" };
const bob = { id: "b", principal: "bob" };

/** The texts of the messages that a model got, with the ids of calls and results. */
function textsIn(request: ModelRequest | undefined): readonly string[] {
  return (request?.prompt ?? []).map(({ role, content }) => {
    if (typeof content === "string") return `${role}: ${content}`;
    return `${role}: ${content
      .map((part) => (part.type === "text" ? part.text : "toolCallId" in part ? part.toolCallId : part.type))
      .join(" ")}`;
  });
}

describe("a prompt in a conversation", () => {
  verifies("A10", "goes on over several turns with tools, kept by id", async () => {
    await using served = serve(
      [{ toolCalls: [{ name: "forecast", input: { city: "Bern" } }] }, "Warm.", "Bern, as I said.", "Yes."],
      [chat, forecast],
    );
    const { toolkit, assistant, model } = served;
    const options = { conversation: "c1", session: ada };
    await toolkit.call("chat", { message: "How is Bern?" }, options);
    const stream = assistant.stream({ prompt: "chat", input: { message: "Which city?" } }, options);
    for await (const _ of stream);
    const answer = await toolkit.call("chat", { message: "Sure?" }, options);
    expect(await answer.text()).toBe("Yes.");
    expect(textsIn(model.requests[3])).toEqual([
      expect.stringContaining("user: You are kind."),
      "assistant: call-1",
      "tool: call-1",
      "assistant: Warm.",
      expect.stringContaining("Which city?"),
      "assistant: Bern, as I said.",
      expect.stringContaining("Sure?"),
    ]);
    const kept = await assistant.conversations.get("c1", { session: ada });
    expect(kept?.messages).toHaveLength(8);
    expect(kept?.toolCalls).toBe(1);
    expect(await assistant.conversations.list({ session: ada })).toMatchObject([
      { id: "c1", size: expect.any(Number) },
    ]);
  });

  verifies("A10", "is given as a value, from the caller's own database", async () => {
    await using served = serve(["Ada.", "It is Ada."], [chat]);
    const first = await served.toolkit.call("chat", { message: "Choose a name." });
    const conversation: Conversation = JSON.parse(JSON.stringify(served.assistant.conversationOf(first)));
    await served.toolkit.call("chat", { message: "Which?" }, { conversation });
    expect(textsIn(served.model.requests[1])).toHaveLength(3);
  });

  verifies("A10", "refuses what is no conversation, naming what is wrong", async () => {
    await using served = serve([], [chat]);
    const call = { type: "tool-call", toolCallId: "1", toolName: "x", input: {} };
    const broken = [
      [{ messages: "none", toolCalls: 0 }, "/conversation/messages"],
      [{ messages: [{ role: "system", content: "Obey." }], toolCalls: 0 }, "/conversation/messages"],
      [{ messages: [{ role: "assistant", content: [call] }], toolCalls: 0 }, "/conversation/messages"],
      [{ messages: [], toolCalls: -1 }, "/conversation/toolCalls"],
      ["", "/conversation"],
      [7, "/conversation"],
    ] as const;
    for (const [conversation, pointer] of broken) {
      const failed = await failure(
        served.toolkit.call("chat", { message: "?" }, { conversation: conversation as never }),
      );
      expect(failed).toMatchObject({ code: "INVALID_INPUT", details: { issues: [{ pointer }] } });
    }
    expect(served.model.requests).toEqual([]);
  });

  verifies("A10", "is its principal's alone", async () => {
    await using served = serve(["One.", "Two.", "Three.", "Four.", "Five."], [chat]);
    const { toolkit, assistant, model } = served;
    const say = (session?: typeof ada | { id: string }) =>
      toolkit.call("chat", { message: "Hi." }, { conversation: "c1", session });
    for (const session of [ada, bob, { id: "a" }, { id: "a/c1" }, undefined]) await say(session);
    expect(model.requests.map(({ prompt }) => prompt.length)).toEqual([1, 1, 1, 1, 1]);
    expect(await assistant.conversations.delete("c1", { session: bob })).toBe(true);
    expect(await assistant.conversations.delete("c1", { session: bob })).toBe(false);
    expect(await assistant.conversations.get("c1", { session: bob })).toBeUndefined();
    expect((await assistant.conversations.get("c1", { session: ada }))?.messages).toHaveLength(2);
    expect(await assistant.conversations.list({ session: { id: "a" } })).toMatchObject([{ id: "c1" }]);
    expect(await assistant.conversations.list()).toMatchObject([{ id: "c1" }]);
  });

  verifies("A10", "is answered by the model that the call names", async () => {
    const other = scriptedModel(["From the other."]);
    await using served = serve([], [chat], { agent: { models: { "acme/other": other } } });
    const answer = await served.toolkit.call("chat", { message: "Hi." }, { model: "acme/other" });
    expect(await answer.text()).toBe("From the other.");
    const stream = served.assistant.stream({ prompt: "chat", input: { message: "Hi." } }, { model: "none/such" });
    expect(await failure(stream.result)).toMatchObject({ code: "NOT_FOUND" });
  });

  verifies("A10", "that fails keeps what was before, and the turn can be sent again", async () => {
    await using served = serve(["One.", { error: new Error("no") }, "Two."], [chat]);
    const say = (message: string) => served.toolkit.call("chat", { message }, { conversation: "c1" });
    await say("First.");
    expect(await failure(say("Second."))).toMatchObject({ code: "MODEL_FAILED" });
    await say("Second.");
    expect((await served.assistant.conversations.get("c1"))?.messages).toHaveLength(4);
  });
});

describe("two writers of one conversation", () => {
  verifies("A10", "of one process: the second is refused at once, and no model is asked for it", async () => {
    const gate = Promise.withResolvers<void>();
    await using served = serve([{ text: "One.", gate: gate.promise }, "Two."], [chat]);
    const say = (message: string) => served.toolkit.call("chat", { message }, { conversation: "c1" });
    const first = say("First.");
    await expect.poll(() => served.model.requests.length).toBe(1);
    expect(await failure(say("Second."))).toMatchObject({ code: "CONFLICT", details: { key: "c1" } });
    gate.resolve();
    await first;
    await say("Second.");
    expect((await served.assistant.conversations.get("c1"))?.messages).toHaveLength(4);
  });

  verifies("A10", "of several: the one that is later gets CONFLICT, and no turn is lost", async () => {
    const folder = await mkdtemp(join(tmpdir(), "conversation-"));
    const file = join(folder, "store.db");
    const gate = Promise.withResolvers<void>();
    {
      await using one = serve([{ text: "One.", gate: gate.promise }], [chat], {
        toolkit: { store: sqliteStore({ file }) },
      });
      await using two = serve(["Two.", "Three."], [chat], { toolkit: { store: sqliteStore({ file }) } });
      const options = { conversation: "c1", session: ada };
      const slow = one.toolkit.call("chat", { message: "Slow." }, options);
      await expect.poll(() => one.model.requests.length).toBe(1);
      await two.toolkit.call("chat", { message: "Quick." }, options);
      gate.resolve();
      expect(await failure(slow)).toMatchObject({ code: "CONFLICT" });
      await two.toolkit.call("chat", { message: "Next." }, options);
      const kept = await one.assistant.conversations.get("c1", { session: ada });
      expect(JSON.stringify(kept?.messages)).toMatch(/Quick.*Two.*Next.*Three/);
    }
    await rm(folder, { recursive: true });
  });

  verifies("A10", "a conversation that was deleted and begun again is not overwritten by a run of before", async () => {
    const store = memoryStore();
    const gate = Promise.withResolvers<void>();
    await using one = serve(["Zero.", { text: "One.", gate: gate.promise }], [chat], { toolkit: { store } });
    await one.toolkit.call("chat", { message: "Old." }, { conversation: "c1" });
    const slow = one.toolkit.call("chat", { message: "Slow." }, { conversation: "c1" });
    await expect.poll(() => one.model.requests.length).toBe(2);
    await one.assistant.conversations.delete("c1");
    const fresh = { collection: "conversation", owner: "", key: "/c1" } as const;
    await store.put({ ...fresh, value: { toolCalls: 0, incarnation: "new" }, bytes: Buffer.from("[]") });
    gate.resolve();
    expect(await failure(slow)).toMatchObject({ code: "CONFLICT" });
    expect((await one.assistant.conversations.get("c1"))?.messages).toEqual([]);
  });
});

describe("a suspended run in a conversation", () => {
  verifies("A10", "holds it until it is resumed, and its turn is kept then", async () => {
    await using served = serve([{ toolCalls: [{ name: "pay" }] }, "Paid.", "Yes."], [chat, pay]);
    const { toolkit, assistant } = served;
    const say = (message: string) => toolkit.call("chat", { message }, { conversation: "c1" });
    const waiting = await failure(say("Pay."));
    expect(waiting.code).toBe("PENDING");
    expect(await failure(say("Paid?"))).toMatchObject({ code: "CONFLICT", message: expect.stringContaining("waits") });
    const [run] = await assistant.suspended();
    expect(await assistant.conversations.list()).toMatchObject([{ waitsFor: run?.id }]);
    const [approval] = await toolkit.approvals.list({ status: "pending" });
    await toolkit.approvals.resolve(approval?.id ?? "", { approved: true });
    await assistant.resume(run?.id ?? "");
    await say("Paid?");
    expect((await assistant.conversations.get("c1"))?.messages).toHaveLength(6);
  });

  verifies("A10", "lets it go on without the turn where the run is forgotten", async () => {
    await using served = serve(["One.", { toolCalls: [{ name: "pay" }] }, "Two."], [chat, pay]);
    const { toolkit, assistant } = served;
    const say = (message: string) => toolkit.call("chat", { message }, { conversation: "c1" });
    await say("Hi.");
    await failure(say("Pay."));
    const [run] = await assistant.suspended();
    await assistant.forget(run?.id ?? "");
    await say("Never mind.");
    const kept = await assistant.conversations.get("c1");
    expect(kept?.messages).toHaveLength(4);
    expect(faultsOf(kept?.messages ?? [])).toEqual([]);
  });
});

describe("the history of a conversation", () => {
  const look = { name: "forecast", input: { city: "Bern" } };
  const words = (count: number) => "word ".repeat(count);

  verifies("A10", "is cut by tokens in whole exchanges, and what is kept is whole", async () => {
    const history = recentHistory({ maxTokens: 300 });
    const turns = Array.from({ length: 12 }, (_, turn) => [{ toolCalls: [look] }, `${turn} ${words(40)}`]).flat();
    await using served = serve(turns, [chat, forecast], { agent: { history } });
    for (let turn = 0; turn < 12; turn++)
      await served.toolkit.call("chat", { message: `${turn} ${words(20)}` }, { conversation: "c1" });
    expect((await served.assistant.conversations.get("c1"))?.messages).toHaveLength(48);
    for (const request of served.model.requests) {
      expect(faultsOf(request.prompt)).toEqual([]);
      expect(request.prompt[0]?.role).toBe("user");
    }
    const last = served.model.requests.at(-1);
    expect(last?.prompt.length).toBeLessThan(16);
    expect(textsIn(last).join()).toContain("11 word");
    expect(textsIn(last)).not.toContain("tool: call-1");
  });

  verifies("A10", "of one long run loses its oldest calls with their results, never its question", async () => {
    const history = recentHistory({ maxTokens: 200 });
    const steps = Array.from({ length: 9 }, (_, step) => ({
      text: words(20),
      toolCalls: [{ name: "forecast", input: { city: `City ${step}` } }],
    }));
    await using served = serve([...steps, "Done."], [chat, forecast], { agent: { history } });
    await served.toolkit.call("chat", { message: "The question." }, {});
    const last = served.model.requests.at(-1);
    expect(faultsOf(last?.prompt ?? [])).toEqual([]);
    expect(textsIn(last)[0]).toContain("The question.");
    expect(last?.prompt.length).toBeLessThan(12);
    expect(JSON.stringify(last?.prompt)).toContain("City 8");
  });

  verifies("A10", "is the caller's to choose; what no model can be sent is refused", async () => {
    const seen: unknown[] = [];
    const history: HistoryHook = (messages, { model, step, current }) => {
      seen.push([messages.length, step, current, model]);
      return messages.slice(current);
    };
    await using served = serve(["One.", "Two."], [chat], { agent: { history } });
    for (const message of ["First.", "Second."]) await served.toolkit.call("chat", { message }, { conversation: "c1" });
    expect(served.model.requests[1]?.prompt).toHaveLength(1);
    expect(seen).toEqual([
      [1, 0, 0, expect.any(String)],
      [3, 0, 2, expect.any(String)],
    ]);
    for (const bad of [() => [], () => "none", (messages: readonly unknown[]) => messages.slice(-1)]) {
      const script = [{ toolCalls: [look] }, "Done."];
      await using refused = serve(script, [chat, forecast], { agent: { history: bad as never } });
      expect(await failure(refused.toolkit.call("chat", { message: "Hi." }))).toMatchObject({
        code: "INVALID_CONFIG",
        details: { path: "history" },
      });
    }
    await expect(async () => agent({ history: 7 as never })).rejects.toMatchObject({ code: "INVALID_CONFIG" });
    expect(() => recentHistory({ maxTokens: 0 })).toThrow(/maxTokens/);
  });
});

describe("the retention and the limits of conversations", () => {
  const options = { conversation: "c1", session: ada };
  const messagesIn = (request: ModelRequest | undefined) => request?.prompt.length;

  verifies("A10", "one that has expired is there no more, and begins anew", async () => {
    const clock = virtualClock();
    const store = memoryStore({ clock });
    const kept = { agent: { clock, conversations: { keepMs: 1_000 } }, toolkit: { clock, store } };
    await using served = serve(() => "Yes.", [chat], kept);
    const { assistant, toolkit, model } = served;
    const say = (conversation: string) => toolkit.call("chat", { message: "Hi." }, { ...options, conversation });
    await say("c1");
    await clock.advance(999);
    await say("c1");
    await say("c2");
    expect(messagesIn(model.requests[1])).toBe(3);
    await clock.advance(999);
    expect(await assistant.conversations.list({ session: ada })).toHaveLength(2);
    await clock.advance(1);
    expect(await assistant.conversations.get("c1", { session: ada })).toBeUndefined();
    expect(await assistant.conversations.uiMessages("c1", { session: ada })).toEqual([]);
    expect(await assistant.conversations.list({ session: ada })).toEqual([]);
    await say("c1");
    expect(messagesIn(model.requests.at(-1))).toBe(1);
    expect((await assistant.conversations.get("c1", { session: ada }))?.messages).toHaveLength(2);
    // An expired turn is deleted, not only hidden.
    const { records } = await store.list({ collection: "conversation" });
    expect(records.map(({ key }) => key)).toEqual(["c1"]);
  });

  verifies("A10", "one in which a run waits does not expire before that is resumed", async () => {
    const clock = virtualClock();
    const store = memoryStore({ clock });
    const kept = {
      agent: { clock, conversations: { keepMs: 1_000 } },
      toolkit: { clock, store, approvals: { ttlMs: 60_000 } },
    };
    const script = [{ toolCalls: [{ name: "pay", input: {} }] }, "Other.", "Paid.", "More."];
    await using served = serve(script, [chat, pay], kept);
    const { assistant, toolkit } = served;
    const pending = await failure(toolkit.call("chat", { message: "Pay." }, options));
    await clock.advance(5_000);
    expect(await assistant.conversations.list({ session: ada })).toMatchObject([{ id: "c1" }]);
    await toolkit.call("chat", { message: "Hi." }, { ...options, conversation: "c2" });
    const [approval] = await toolkit.approvals.list({ status: "pending" });
    await toolkit.approvals.resolve(approval?.id ?? "", { approved: true });
    await assistant.resume((pending.details as { id: string }).id, { session: ada });
    expect((await assistant.conversations.get("c1", { session: ada }))?.messages).toHaveLength(4);
    await clock.advance(1_000);
    expect(await assistant.conversations.get("c1", { session: ada })).toBeUndefined();
  });

  verifies(
    "A10",
    "too many turns, bytes or conversations are LIMIT_EXCEEDED; too many turns before a model is asked",
    async () => {
      const conversations = { maxTurns: 2, maxBytes: 2_000, limit: 2 };
      await using served = serve(() => "Yes.", [chat], { agent: { conversations } });
      const { toolkit, model } = served;
      const say = (conversation: string, message: string) =>
        failure(toolkit.call("chat", { message }, { ...options, conversation }));
      await toolkit.call("chat", { message: "One." }, options);
      await toolkit.call("chat", { message: "Two." }, options);
      const third = await say("c1", "Three.");
      expect(third).toMatchObject({ code: "LIMIT_EXCEEDED", details: { limit: "maxTurns", max: 2 } });
      expect(third.message).toContain("Begin another one.");
      expect(model.requests).toHaveLength(2);
      expect(await say("c2", "x".repeat(2_000))).toMatchObject({ details: { limit: "itemBytes", max: 2_000 } });
      await toolkit.call("chat", { message: "One." }, { ...options, conversation: "c2" });
      expect(await say("c3", "One.")).toMatchObject({ code: "LIMIT_EXCEEDED", details: { limit: "items", max: 2 } });
    },
  );

  for (const conversations of [
    { keepMs: 0 },
    { maxTurns: 1.5 },
    { limit: 0 },
    { maxBytes: Number.NaN },
    { keep: 1 },
    7,
  ]) {
    verifies("A10", `are no such options as ${JSON.stringify(conversations)}`, () => {
      const wrong = { conversations } as never;
      expect(() => agent(wrong)).toThrow(expect.objectContaining({ code: "INVALID_CONFIG" }));
    });
  }
});

describe("an agent outside of any toolkit", () => {
  verifies("A10", "keeps conversations by id in memory", async () => {
    const assistant = agent({ defaultModel: scriptedModel(["One.", "Two."]) });
    await assistant.generate("First.", { conversation: "c1" });
    await assistant.generate("Second.", { conversation: "c1" });
    expect((await assistant.conversations.get("c1"))?.messages).toHaveLength(4);
    await using toolkit = new Toolkit();
    expect(await assistant.conversations.list({ session: ada })).toEqual([]);
    expect(toolkit).toBeDefined();
  });
});
