import { DefaultChatTransport, readUIMessageStream, type UIMessage } from "ai";
import { describe, expect } from "vitest";
import { fastifyServer, honoServer, type Listening, nextRoute, nodeServer } from "../../example/chat/servers.ts";
import { type ChatService, chatService } from "../../example/chat/service.ts";
import { memoryStore } from "../../src/index.ts";
import { type Script, scriptedModel } from "../../src/testing/index.ts";
import { endlessText } from "../support/endless-text.ts";
import { verifies } from "../support/verifies.ts";

const servers: Readonly<Record<string, (service: ChatService) => Promise<Listening>>> = {
  Hono: honoServer,
  Fastify: fastifyServer,
  "a route handler of Next, behind node:http": (service) => nodeServer(nextRoute(service)),
};

async function start(listen: (service: ChatService) => Promise<Listening>, script: Script) {
  const model = scriptedModel(script);
  const service = chatService(model, memoryStore());
  const { port, close } = await listen(service);
  const transport = (user: string) =>
    new DefaultChatTransport<UIMessage<{ run?: string }>>({
      api: `http://127.0.0.1:${port}/api/chat`,
      headers: { "x-user": user },
    });
  const send = async (messages: UIMessage<{ run?: string }>[], user = "ada", signal?: AbortSignal) =>
    transport(user).sendMessages({
      chatId: "c1",
      messages,
      trigger: "submit-message",
      messageId: undefined,
      abortSignal: signal,
    });
  const end = async () => {
    await close();
    await service.toolkit.close();
  };
  return { model, service, send, [Symbol.asyncDispose]: end };
}

const asked = (text: string): UIMessage<{ run?: string }> => ({
  id: text,
  role: "user",
  parts: [{ type: "text", text }],
});

async function shown(
  stream: Awaited<ReturnType<Awaited<ReturnType<typeof start>>["send"]>>,
  message?: UIMessage<{ run?: string }>,
) {
  let last = message;
  const start = message === undefined ? {} : { message: structuredClone(message) };
  for await (const each of readUIMessageStream<UIMessage<{ run?: string }>>({
    stream,
    ...start,
    terminateOnError: true,
  }))
    last = each;
  if (last === undefined) throw new Error("There is no message.");
  return last;
}

for (const [name, listen] of Object.entries(servers)) {
  describe(`a chat behind ${name}`, () => {
    verifies(["A9", "A10"], "goes on over several turns, with tools and an approval", async () => {
      const pay = { toolCalls: [{ name: "pay", input: { cents: 5 } }] };
      await using chat = await start(listen, ["Hello.", pay, "It is paid.", "You are welcome."]);
      expect((await shown(await chat.send([asked("Hi.")]))).parts.at(-1)).toMatchObject({ text: "Hello." });
      const waiting = await shown(await chat.send([asked("Pay.")]));
      const parts = waiting.parts.map((part) =>
        part.type === "dynamic-tool" && part.state === "approval-requested"
          ? { ...part, state: "approval-responded" as const, approval: { ...part.approval, approved: true } }
          : part,
      );
      const decided = { ...waiting, parts } as typeof waiting;
      await expect(chat.send([decided], "bob")).rejects.toThrow();
      const done = await shown(await chat.send([decided]), decided);
      expect(done.parts.find(({ type }) => type === "dynamic-tool")).toMatchObject({ output: "paid 5" });
      expect(done.parts.at(-1)).toMatchObject({ text: "It is paid." });
      await shown(await chat.send([asked("Thanks.")]));
      expect(chat.model.requests.at(-1)?.prompt.filter(({ role }) => role !== "system")).toHaveLength(7);
    });

    verifies("A9", "ends the run where the client goes away", async () => {
      const text = endlessText();
      await using chat = await start(listen, [{ text: text.pieces }]);
      const leaving = new AbortController();
      const reader = (await chat.send([asked("Hi.")], "ada", leaving.signal)).getReader();
      for (let read = 0; read < 5; read++) await reader.read();
      leaving.abort();
      await expect.poll(() => text.isEnded).toBe(true);
    });
  });
}
