import type { UIMessage } from "ai";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { describe, expect } from "vitest";
import { z } from "zod";
import type { AgentStream, StreamResponseOptions } from "../../src/agent/index.ts";
import { defineTool, parsePrompt, type ToolkitError } from "../../src/index.ts";
import { virtualClock } from "../../src/testing/index.ts";
import { endlessText } from "../support/endless-text.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { broken, Chat, forecast, listen, partsOf, pay } from "./chat-support.ts";
import { type Served, serve } from "./support.ts";

interface Sent {
  readonly event: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
}

async function eventsIn(response: Response): Promise<readonly Sent[]> {
  const events: Sent[] = [];
  if (response.body === null) throw new Error("The response has no body.");
  const texts = response.body.pipeThrough(new TextDecoderStream() as never) as ReadableStream<string>;
  const parsed = texts.pipeThrough(new EventSourceParserStream() as never) as ReadableStream<{
    event?: string;
    data: string;
  }>;
  for await (const { event, data } of parsed) events.push({ event, data: JSON.parse(data) });
  return events;
}

const post = (url: string, body = "Go.") => fetch(url, { method: "POST", body });

/** A server whose handler streams what an assistant does with the text. */
const chatServer = (served: Served, options?: StreamResponseOptions, tools = ["*"]) =>
  listen(async (request) => served.assistant.stream(await request.text(), { tools }).toResponse(options));

describe("a stream as a response of Server-Sent Events", () => {
  verifies("A9", "has each event under its type, results with their content, and the answer last", async () => {
    await using served = serve(
      [
        { text: "One moment.", toolCalls: [{ name: "forecast", input: { city: "Bern" } }] },
        { text: ["It is ", "warm."] },
      ],
      [forecast],
    );
    await using server = await chatServer(served);
    const response = await post(server.url);
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(response.headers.get("cache-control")).toContain("no-cache");
    const events = await eventsIn(response);
    expect(events.map(({ event }) => event).filter((event) => event !== "usage")).toEqual([
      "textDelta",
      "step",
      "toolCall",
      "toolResult",
      "textDelta",
      "textDelta",
      "step",
      "finish",
      "answer",
    ]);
    expect(events.find(({ event }) => event === "toolResult")?.data).toMatchObject({
      type: "toolResult",
      tool: "builtin.forecast",
      status: "ok",
      content: { city: "Bern", degrees: 21 },
    });
    expect(events.at(-1)?.data).toMatchObject({ type: "answer", finishReason: "stop", content: "It is warm." });
  });

  verifies("A9", "tells errors without what their messages hold, unless the service words them", async () => {
    const script = [{ toolCalls: [{ name: "broken" }] }, { error: new Error("key sk-12345 refused") }];
    await using served = serve(script, [broken]);
    await using server = await chatServer(served);
    const events = await eventsIn(await post(server.url));
    expect(JSON.stringify(events)).not.toMatch(/hunter2|sk-12345/);
    expect(events.find(({ event }) => event === "toolResult")?.data.error).toEqual({
      code: "TOOL_FAILED",
      message: "The tool ran and failed.",
    });
    expect(events.at(-1)).toMatchObject({ event: "error", data: { code: "MODEL_FAILED" } });
    await using again = serve([{ error: new Error("no") }]);
    const errorText = ({ code }: ToolkitError) => `Sorry: ${code}`;
    await using own = await chatServer(again, { errorText });
    expect((await eventsIn(await post(own.url))).at(-1)?.data.message).toBe("Sorry: MODEL_FAILED");
  });

  verifies("A9", "sends only the events that are wanted", async () => {
    await using served = serve([{ reasoning: "Hm.", text: "Yes." }]);
    await using server = await chatServer(served, { events: ["textDelta"] });
    expect((await eventsIn(await post(server.url))).map(({ event }) => event)).toEqual(["textDelta", "answer"]);
  });

  verifies("A9", "ends the run where the client goes away", async () => {
    let aborted = false;
    const endless = defineTool({
      name: "endless",
      run: (_input, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => {
            aborted = true;
            reject(signal.reason);
          }),
        ),
    });
    await using served = serve([{ toolCalls: [{ name: "endless" }] }], [endless]);
    await using server = await chatServer(served);
    const leaving = new AbortController();
    const response = await fetch(server.url, { method: "POST", body: "Go.", signal: leaving.signal });
    const reader = response.body?.getReader();
    await reader?.read();
    leaving.abort();
    await expect.poll(() => aborted).toBe(true);
  });

  verifies("A9", "reads the model no faster than the client reads", async () => {
    let taken = 0;
    async function* pieces() {
      for (; taken < 10_000; taken++) yield `${taken} `.repeat(100);
    }
    await using served = serve([{ text: pieces() }]);
    const response = served.assistant.stream("Go.").toResponse();
    const reader = response.body?.getReader();
    for (let read = 0; read < 5; read++) await reader?.read();
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(taken).toBeLessThan(12);
    await reader?.cancel();
  });

  verifies("A9", "keeps a silent connection open with comments, and no timer after its end", async () => {
    const clock = virtualClock();
    const gate = Promise.withResolvers<void>();
    await using served = serve([{ text: "Done.", gate: gate.promise }], [], { agent: { clock } });
    const stream: AgentStream = served.assistant.stream("Go.");
    const reader = stream.toResponse({ keepAliveMs: 1_000 }).body?.getReader();
    const first = reader?.read();
    await clock.advance(1_000);
    expect(new TextDecoder().decode((await first)?.value)).toBe(": keep-alive\n\n");
    gate.resolve();
    let rest = "";
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read())
      rest += new TextDecoder().decode(next.value);
    expect(rest).toContain("event: answer");
  });

  verifies("A9", "refuses options that it does not know", async () => {
    await using served = serve(["One.", "Two.", "Three."]);
    const { assistant } = served;
    const respond = (options: object) => failure((async () => assistant.stream("Go.").toResponse(options))());
    expect(await respond({ format: "xml" })).toMatchObject({ code: "INVALID_CONFIG", details: { path: "format" } });
    expect(await respond({ keepAlive: 5 })).toMatchObject({ code: "INVALID_CONFIG" });
    expect(await respond({ keepAliveMs: 0 })).toMatchObject({ code: "INVALID_CONFIG" });
  });
});

describe("a stream as the UI message stream of the AI SDK", () => {
  verifies("A9", "is what a chat of the AI SDK shows: steps, texts, reasoning, calls and results", async () => {
    await using served = serve(
      [
        { reasoning: "Look it up.", text: "One moment.", toolCalls: [{ name: "forecast", input: { city: "Bern" } }] },
        { toolCalls: [{ name: "broken" }] },
        {
          text: ["It is ", "warm."],
          content: [
            { type: "source", sourceType: "url", id: "s1", url: "https://weather.example/bern", title: "Bern" },
          ],
        },
      ],
      [forecast, broken],
    );
    await using server = await chatServer(served, { format: "ai-sdk" });
    const chat = new Chat(server.url);
    await chat.sendMessage({ text: "How is Bern?" });
    expect(chat.error).toBeUndefined();
    expect(partsOf(chat)).toMatchObject([
      { type: "step-start" },
      { type: "reasoning", text: "Look it up.", state: "done" },
      { type: "text", text: "One moment.", state: "done" },
      {
        type: "dynamic-tool",
        toolName: "forecast",
        state: "output-available",
        input: { city: "Bern" },
        output: { city: "Bern", degrees: 21 },
      },
      { type: "step-start" },
      { type: "dynamic-tool", toolName: "broken", state: "output-error", errorText: "The tool ran and failed." },
      { type: "step-start" },
      { type: "text", text: "It is warm.", state: "done" },
      { type: "source-url", url: "https://weather.example/bern" },
    ]);
    expect(chat.lastMessage?.metadata).toMatchObject({ steps: 3, usage: { inputTokens: 30 } });
    expect(server.problems).toEqual([]);
  });

  verifies("A9", "has a structured answer as data, without the text of an answer that did not fit", async () => {
    const call = (input: unknown) => ({ toolCalls: [{ name: "submit_output", input }] });
    await using served = serve([{ text: "Wait.", ...call({ degrees: "warm" }) }, call({ degrees: 21 })], [forecast]);
    const output = z.object({ degrees: z.number() });
    await using server = await listen(() =>
      served.assistant.stream("Go.", { tools: ["forecast"], output }).toResponse({ format: "ai-sdk" }),
    );
    const chat = new Chat(server.url);
    await chat.sendMessage({ text: "How is Bern?" });
    expect(partsOf(chat).filter(({ type }) => type === "text")).toEqual([]);
    expect(partsOf(chat).at(-1)).toMatchObject({ type: "data-answer", data: { degrees: 21 } });
  });

  /** A chat server in which a person decides on what waits, and the run goes on. */
  const approvingServer = ({ assistant, toolkit }: Served, tools: string[]) =>
    listen(async (request) => {
      const { messages } = (await request.json()) as { messages: UIMessage[] };
      const last = messages.at(-1);
      if (last?.role === "user") return assistant.stream("Pay.", { tools }).toResponse({ format: "ai-sdk" });
      for (const part of last?.parts ?? []) {
        if (part.type !== "dynamic-tool" || part.state !== "approval-responded") continue;
        const { id, approved } = part.approval;
        await toolkit.approvals.resolve(id, { approved, by: "Ada" });
      }
      const { run } = z.object({ run: z.string() }).parse(last?.metadata);
      return assistant.stream({ resume: run }).toResponse({ format: "ai-sdk" });
    });
  const toolsOf = (chat: Chat) => partsOf(chat).filter((part) => part.type === "dynamic-tool");

  verifies("A9", "asks a person for an approval, and goes on in the same message", async () => {
    await using served = serve(
      [{ text: "I pay.", toolCalls: [{ name: "pay", input: { cents: 500 } }] }, "It is paid."],
      [pay],
    );
    await using server = await approvingServer(served, ["pay"]);
    const chat = new Chat(server.url);
    await chat.sendMessage({ text: "Pay." });
    const asked = partsOf(chat).find(({ type }) => type === "dynamic-tool");
    expect(asked).toMatchObject({ state: "approval-requested", toolName: "pay", input: { cents: 500 } });
    const approval = asked?.type === "dynamic-tool" && asked.state === "approval-requested" ? asked.approval.id : "";
    await chat.addToolApprovalResponse({ id: approval, approved: true });
    await expect
      .poll(() => chat.status === "ready" && chat.messages.length === 2 && partsOf(chat).length)
      .toBeGreaterThan(4);
    expect(chat.error).toBeUndefined();
    expect(partsOf(chat).filter(({ type }) => type !== "step-start")).toMatchObject([
      { type: "text", text: "I pay." },
      { type: "dynamic-tool", state: "output-available", output: "paid 500" },
      { type: "data-pending" },
      { type: "text", text: "It is paid." },
    ]);
  });

  verifies("A9", "tells a failure as an error of the chat, without what its message holds", async () => {
    await using served = serve([{ text: "Hm", error: new Error("key sk-12345 refused") }]);
    await using server = await chatServer(served, { format: "ai-sdk" });
    const chat = new Chat(server.url);
    await chat.sendMessage({ text: "Go." });
    expect(chat.status).toBe("error");
    expect(chat.error?.message).toMatch(/model/i);
    expect(chat.error?.message).not.toContain("sk-12345");
  });

  verifies("A9", "is stopped by the chat, and so is the run", async () => {
    const text = endlessText();
    await using served = serve([{ text: text.pieces }]);
    await using server = await chatServer(served, { format: "ai-sdk" });
    const chat = new Chat(server.url);
    const sent = chat.sendMessage({ text: "Go." });
    await expect.poll(() => partsOf(chat).some(({ type }) => type === "text")).toBe(true);
    await chat.stop();
    await sent;
    await expect.poll(() => text.isEnded).toBe(true);
  });

  verifies("A9", "shows a sub-agent as the call that it is", async () => {
    const sub = parsePrompt("---\nname: sub\ndescription: Asks further.\n---\nGo on.");
    await using served = serve([{ toolCalls: [{ name: "sub" }] }, "Inner.", "Outer."], [sub]);
    await using server = await chatServer(served, { format: "ai-sdk" });
    const chat = new Chat(server.url);
    await chat.sendMessage({ text: "Go." });
    expect(partsOf(chat).filter(({ type }) => type !== "step-start")).toMatchObject([
      { type: "dynamic-tool", toolName: "sub", output: "Inner." },
      { type: "text", text: "Outer." },
    ]);
  });

  verifies(
    "A9",
    "asks for the approvals of a sub-agent, each with its input, and goes on once all are decided",
    async () => {
      const sub = parsePrompt(
        "---\nname: sub\ndescription: Asks further.\ntools: [pay, forecast, deeper]\n---\nGo on.",
      );
      const deeper = parsePrompt("---\nname: deeper\ndescription: Asks further.\ntools: [pay]\n---\nGo deep.");
      const paying = (...cents: number[]) => cents.map((each) => ({ name: "pay", input: { cents: each } }));
      const script = [
        { toolCalls: [{ name: "sub" }, ...paying(1)] },
        { toolCalls: [{ name: "forecast", input: { city: "Bern" } }, ...paying(2, 3), { name: "deeper" }] },
        { toolCalls: paying(4) },
        "Deep.",
        "Inner.",
        "Outer.",
      ];
      await using served = serve(script, [sub, deeper, pay, forecast]);
      await using server = await approvingServer(served, ["sub", "pay"]);
      const chat = new Chat(server.url);
      await chat.sendMessage({ text: "Go." });
      const asked = toolsOf(chat).filter(({ state }) => state === "approval-requested");
      expect(asked.map(({ input }) => (input as { cents: number }).cents).toSorted()).toEqual([1, 2, 3, 4]);
      expect(toolsOf(chat).map(({ toolName }) => toolName)).not.toContain("forecast");
      for (const part of asked) {
        const approved = (part.input as { cents: number }).cents !== 3;
        await chat.addToolApprovalResponse({ id: part.approval?.id ?? "", approved });
      }
      await expect.poll(() => chat.status === "ready" && partsOf(chat).at(-1)).toMatchObject({ text: "Outer." });
      expect(chat.error).toBeUndefined();
      const paid = toolsOf(chat).filter(({ toolName }) => toolName === "pay");
      expect(paid.map(({ state, output, input }) => [state, output ?? input]).toSorted()).toEqual([
        ["output-available", "paid 1"],
        ["output-available", "paid 2"],
        ["output-available", "paid 4"],
        ["output-denied", { cents: 3 }],
      ]);
      const rest = toolsOf(chat).filter(({ toolName }) => toolName !== "pay");
      expect(rest.map(({ toolName, output }) => [toolName, output])).toEqual([
        ["sub", "Inner."],
        ["deeper", "Deep."],
      ]);
    },
  );

  verifies("A9", "shows nothing of a sub-agent that is resumed first but its call", async () => {
    const sub = parsePrompt("---\nname: sub\ndescription: Asks further.\ntools: [pay]\n---\nGo on.");
    const script = [
      { toolCalls: [{ name: "sub" }] },
      { toolCalls: [{ name: "pay", input: { cents: 5 } }] },
      "Inner.",
      "Outer.",
    ];
    await using served = serve(script, [sub, pay]);
    const { assistant, toolkit } = served;
    const waiting = await failure(assistant.generate("Go.", { tools: ["sub"] }));
    const [approval] = await toolkit.approvals.list({ status: "pending" });
    await toolkit.approvals.resolve(approval?.id ?? "", { approved: true });
    const [run] = await assistant.suspended();
    expect(waiting.code).toBe("PENDING");
    const text = await assistant
      .stream({ resume: run?.id ?? "" })
      .toResponse({ format: "ai-sdk" })
      .text();
    expect(text).not.toContain('"delta":"Inner."');
    expect(text).toContain('"delta":"Outer."');
    expect(text).toContain('"output":"Inner."');
  });
});
