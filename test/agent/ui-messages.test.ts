import type { UIMessage } from "ai";
import { validateUIMessages } from "ai";
import { describe, expect } from "vitest";
import { z } from "zod";
import { toUiMessages } from "../../src/agent/index.ts";
import { defineTool, parsePrompt, resource } from "../../src/index.ts";
import type { Script } from "../../src/testing/index.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { broken, Chat, forecast, listen, partsOf, pay } from "./chat-support.ts";
import { type Served, serve } from "./support.ts";

const deliver = defineTool({
  name: "deliver",
  run: (_input, context) => context.pending({ reason: "delivery", message: "It is on its way." }),
});
const chat = parsePrompt(
  '---\nname: chat\ndescription: Chats.\ntools: ["*"]\ninput:\n  type: object\n  properties: { message: { type: string } }\n---\n{{{message}}}',
);
const sub = parsePrompt("---\nname: sub\ndescription: Asks further.\ntools: [pay]\n---\nGo on.");
const session = { id: "a", principal: "ada" };
const items = [chat, sub, forecast, broken, pay, deliver];

/** A chat in the conversation `c1`, in which a person decides on what waits. */
const chatServer = ({ assistant, toolkit }: Served) =>
  listen(async (request) => {
    const { messages } = (await request.json()) as { messages: UIMessage[] };
    const last = messages.at(-1);
    const format = { format: "ai-sdk" } as const;
    if (last?.role === "user") {
      const message = last.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
      return assistant
        .stream({ prompt: "chat", input: { message } }, { conversation: "c1", session })
        .toResponse(format);
    }
    for (const part of last?.parts ?? []) {
      if (part.type !== "dynamic-tool" || part.state !== "approval-responded") continue;
      const { id, approved } = part.approval;
      await toolkit.approvals.resolve(id, { approved, by: "Ada" });
    }
    const { run } = z.object({ run: z.string() }).parse(last?.metadata);
    return assistant.stream({ resume: run }, { session }).toResponse(format);
  });

/** The part of messages that a person sees: without ids, metadata, and parts that are there while an answer comes. */
const seen = (messages: readonly UIMessage[]) =>
  messages.map(({ role, parts }) => [
    role,
    parts.map((part) => {
      // A chat has members that are undefined.
      const rest: unknown = JSON.parse(JSON.stringify(part));
      return part.type === "text" || part.type === "reasoning" ? { type: part.type, text: part.text } : rest;
    }),
  ]);

/** The messages of the conversation after a reload, which the AI SDK takes for its own. */
async function reloaded({ assistant }: Served): Promise<UIMessage[]> {
  const messages: UIMessage[] = await assistant.conversations.uiMessages("c1", { session });
  if (messages.length > 0) await validateUIMessages({ messages: structuredClone(messages) });
  expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length);
  return JSON.parse(JSON.stringify(messages));
}

describe("a kept conversation that is shown again", () => {
  verifies(["A9", "A10"], "is what the chat has shown: steps, reasoning, calls, results and errors", async () => {
    const script: Script = [
      {
        reasoning: "Two calls.",
        text: "I look.",
        toolCalls: [{ name: "forecast", input: { city: "Bern" } }, { name: "broken" }],
      },
      "Warm in Bern.",
      "You are welcome.",
    ];
    await using served = serve(script, items);
    await using server = await chatServer(served);
    const shown = new Chat(server.url);
    await shown.sendMessage({ text: "How is Bern?" });
    await shown.sendMessage({ text: "Thanks." });
    const messages = await reloaded(served);
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(seen(messages)).toEqual(seen(shown.messages));
    expect(JSON.stringify(messages)).not.toContain("hunter2");
    const again = await reloaded(served);
    expect(again).toEqual(messages);
  });

  verifies(["A9", "A10"], "has the approvals that wait, decides them, and goes on in the same message", async () => {
    const calls = [
      { name: "pay", input: { cents: 500 } },
      { name: "forecast", input: { city: "Bern" } },
      { name: "sub" },
    ];
    const inner = { toolCalls: [{ name: "pay", input: { cents: 7 } }] };
    await using served = serve(["Hello.", { text: "I pay.", toolCalls: calls }, inner, "Inner.", "It is paid."], items);
    await using server = await chatServer(served);
    const shown = new Chat(server.url);
    await shown.sendMessage({ text: "Hi." });
    await shown.sendMessage({ text: "Pay." });
    const messages = await reloaded(served);
    const name = (part: object) => ("toolCallId" in part ? String(part.toolCallId) : "");
    const sorted = (each: readonly UIMessage[]) =>
      each.map((message) => ({
        ...message,
        parts: message.parts.toSorted((one, other) => (name(one) < name(other) ? -1 : 1)),
      }));
    const [mine, theirs] = [messages, shown.messages].map((each) => seen(sorted(each)));
    expect(mine).toEqual(theirs);
    const after = new Chat(server.url, messages);
    const asked = partsOf(after).filter((part) => part.type === "dynamic-tool" && part.state === "approval-requested");
    expect(asked).toHaveLength(2);
    for (const part of asked)
      if (part.type === "dynamic-tool")
        await after.addToolApprovalResponse({ id: part.approval?.id ?? "", approved: true });
    await expect.poll(() => after.status === "ready" && partsOf(after).at(-1)).toMatchObject({ text: "It is paid." });
    expect(after.error).toBeUndefined();
    expect(after.messages).toHaveLength(4);
    const done = await reloaded(served);
    expect(done.at(-1)?.metadata).toBeUndefined();
    const outputs = done.at(-1)?.parts.flatMap((part) => (part.type === "dynamic-tool" ? [part.output] : []));
    expect(outputs).toEqual(["paid 500", { city: "Bern", degrees: 21 }, "Inner."]);
  });

  verifies(
    ["A9", "A10"],
    "shows a decision that was made elsewhere, and a call whose work completes elsewhere",
    async () => {
      await using served = serve([{ toolCalls: [{ name: "pay", input: { cents: 5 } }, { name: "deliver" }] }], items);
      const call = served.toolkit.call("chat", { message: "Pay." }, { conversation: "c1", session });
      expect((await failure(call)).code).toBe("PENDING");
      for (const { id, kind } of await served.toolkit.approvals.list())
        if (kind === "approval") await served.toolkit.approvals.resolve(id, { approved: true });
      const [, answer] = await reloaded(served);
      expect(answer?.parts.slice(1)).toMatchObject([
        { toolName: "pay", state: "approval-responded", approval: { approved: true } },
        { toolName: "deliver", state: "output-available", preliminary: true, output: { message: "It is on its way." } },
        { type: "data-pending", data: { waitsFor: [{}, {}] } },
      ]);
      const [run] = await served.assistant.suspended();
      expect(answer?.metadata).toEqual({ run: run?.id });
      await served.assistant.forget(run?.id ?? "");
      expect(await reloaded(served)).toEqual([]);
    },
  );

  verifies(["A9", "A10"], "has no answer that was repaired, and no request to repair it", async () => {
    const output = z.object({ city: z.string() });
    await using served = serve([{ text: "Bern" }, { text: '{"city":"Bern"}' }], items);
    const answer = await served.assistant.generate("Which?", { output });
    const conversation = served.assistant.conversationOf(answer);
    if (conversation === undefined) throw new Error("There is no conversation.");
    expect(served.model.requests).toHaveLength(2);
    expect(seen(toUiMessages(conversation))).toEqual([
      ["user", [{ type: "text", text: "Which?" }]],
      ["assistant", [{ type: "step-start" }, { type: "text", text: '{"city":"Bern"}' }]],
    ]);
  });

  verifies(["A9", "A10"], "has the files of a question", async () => {
    await using served = serve(["A dot."], items);
    const dot = await resource.data("dot.png", Buffer.from("iVBORw0KGgo=", "base64"), { mediaType: "image/png" });
    await served.toolkit.call("chat", { message: "What is it?" }, { conversation: "c1", session, attachments: [dot] });
    const [question] = await reloaded(served);
    expect(question?.parts).toMatchObject([
      { type: "text", text: "What is it?" },
      { type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw0KGgo=" },
    ]);
  });

  verifies(["A9", "A10"], "is its principal's alone", async () => {
    await using served = serve(["Hello."], items);
    await served.toolkit.call("chat", { message: "Hi." }, { conversation: "c1", session });
    expect(await served.assistant.conversations.uiMessages("c1", { session: { id: "a", principal: "bob" } })).toEqual(
      [],
    );
    expect(await served.assistant.conversations.uiMessages("c1")).toEqual([]);
  });
});
