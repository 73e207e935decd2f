import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  AbstractChat,
  type ChatState,
  type ChatStatus,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
} from "ai";
import { z } from "zod";
import { defineTool } from "../../src/index.ts";

type Handler = (request: Request) => Response | Promise<Response>;

/** A route handler behind a real HTTP server. */
export async function listen(handler: Handler) {
  const problems: unknown[] = [];
  const server = createServer((request, response) => {
    const answer = async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const result = await handler(
        new Request(`http://localhost${request.url}`, { method: "POST", body: Buffer.concat(chunks) }),
      );
      response.writeHead(result.status, Object.fromEntries(result.headers));
      if (result.body !== null) await pipeline(Readable.fromWeb(result.body as never), response);
    };
    answer().catch((error: unknown) => problems.push(error));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/chat`;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url, problems, [Symbol.asyncDispose]: close };
}

/** The chat behind `useChat`, with a state that is no component's. */
export class Chat extends AbstractChat<UIMessage> {
  constructor(url: string, messages: UIMessage[] = []) {
    const state: ChatState<UIMessage> = {
      status: "ready" as ChatStatus,
      error: undefined,
      messages,
      pushMessage: (message) => messages.push(message),
      popMessage: () => messages.pop(),
      replaceMessage: (index, message) => messages.splice(index, 1, message),
      snapshot: structuredClone,
    };
    const sendAutomaticallyWhen = lastAssistantMessageIsCompleteWithApprovalResponses;
    super({ state, transport: new DefaultChatTransport({ api: url }), sendAutomaticallyWhen });
  }
}

/** The parts of the answer that a chat shows last. */
export const partsOf = ({ lastMessage }: Chat) => (lastMessage?.role === "assistant" ? lastMessage.parts : []);

/** A tool that answers. */
export const forecast = defineTool({
  name: "forecast",
  input: z.object({ city: z.string() }),
  run: ({ city }) => ({ city, degrees: 21 }),
});
/** A tool whose error holds what nobody outside may see. */
export const broken = defineTool({
  name: "broken",
  run: () => {
    throw new Error("connect postgres://admin:hunter2@10.0.0.7");
  },
});
/** A tool that waits for approval. */
export const pay = defineTool({
  name: "pay",
  options: { needsApproval: true },
  input: z.object({ cents: z.number() }),
  run: ({ cents }) => `paid ${cents}`,
});
