// What docs/chat.md shows: one chat behind three servers, read by the transport of `useChat`, with a scripted model.
import assert from "node:assert/strict";
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from "ai";
import { memoryStore } from "toolweave";
import { scriptedModel } from "toolweave/testing";
import { fastifyServer, honoServer, nextRoute, nodeServer } from "./servers.ts";
import { chatService } from "./service.ts";

const model = scriptedModel(({ prompt }) =>
  prompt.at(-1)?.role === "tool" ? "It is warm." : { toolCalls: [{ name: "forecast", input: { city: "Bern" } }] },
);
const service = chatService(model, memoryStore());
const servers = [await honoServer(service), await fastifyServer(service), await nodeServer(nextRoute(service))];

for (const [index, { port, close }] of servers.entries()) {
  // #region client
  const transport = new DefaultChatTransport({
    api: `http://localhost:${port}/api/chat`,
    headers: { "x-user": "ada" },
  });
  // #endregion client
  const question: UIMessage = { id: "1", role: "user", parts: [{ type: "text", text: "How is Bern?" }] };
  const request = { chatId: `chat-${index}`, messageId: undefined, abortSignal: undefined };
  const stream = await transport.sendMessages({ ...request, messages: [question], trigger: "submit-message" });
  let shown: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream })) shown = message;
  console.log(shown?.parts.map((part) => (part.type === "text" ? part.text : part.type)));
  assert.partialDeepStrictEqual(shown?.parts.at(-1), { type: "text", text: "It is warm." });
  await close();
}

// #region events
const stream = service.assistant.stream({ prompt: "chat", input: { message: "How is Bern?" } });
const response = stream.toResponse({ events: ["textDelta", "toolCall"], headers: { "x-request": "7" } });
// #endregion events
const text = await response.text();
assert.match(text, /event: toolCall\n.*\n\nevent: textDelta/s);
assert.match(text, /event: answer\n/);

const reopened = await service.messages("chat-0", { id: "request-0", principal: "ada" });
assert.deepEqual(
  reopened.map(({ role }) => role),
  ["user", "assistant"],
);
assert.partialDeepStrictEqual(reopened[1]?.parts.at(-1), { type: "text", text: "It is warm." });

// #region conversations
const session = { id: "request-1", principal: "ada" };
const list = await service.assistant.conversations.list({ session }); // [{ id: "chat-2", updatedAt, size }, ...]
const conversation = await service.assistant.conversations.get("chat-0", { session });
await service.assistant.conversations.delete("chat-0", { session });
// #endregion conversations
assert.equal(list.length, 3);
assert.equal(conversation?.messages.length, 4);
await service.toolkit.close();
