// The servers of docs/chat.md: Hono, Fastify, and a route handler of Next behind node:http.
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { serve } from "@hono/node-server";
import Fastify from "fastify";
import { Hono } from "hono";
import { type ChatRequest, type ChatService, sessionOf } from "./service.ts";

/** A server that listens. */
export interface Listening {
  readonly port: number;
  close(): Promise<void>;
}

export async function honoServer({ answer }: ChatService): Promise<Listening> {
  // #region hono
  const app = new Hono();
  app.post("/api/chat", async (c) => answer(await c.req.json<ChatRequest>(), sessionOf(c.req.raw.headers)));
  // #endregion hono
  return new Promise((resolve) => {
    const server = serve(
      { fetch: app.fetch, port: 0, hostname: "127.0.0.1", overrideGlobalObjects: false },
      ({ port }) => resolve({ port, close: () => new Promise((closed) => server.close(() => closed())) }),
    );
  });
}

export async function fastifyServer({ answer }: ChatService): Promise<Listening> {
  // #region fastify
  const app = Fastify();
  app.post<{ Body: ChatRequest }>("/api/chat", async ({ body, headers }, reply) =>
    reply.send(await answer(body, sessionOf(new Headers(headers as Record<string, string>)))),
  );
  // #endregion fastify
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  const close = () => {
    // On Node 22.13 a connection whose client went away in the middle of a stream holds up close().
    app.server.closeAllConnections();
    return app.close();
  };
  return { port: Number(new URL(url).port), close };
}

/** The file `app/api/chat/route.ts` of Next exports such a function. */
export function nextRoute({ answer }: ChatService) {
  // #region next
  async function POST(request: Request): Promise<Response> {
    return answer((await request.json()) as ChatRequest, sessionOf(request.headers));
  }
  // #endregion next
  return POST;
}

/** A route handler behind node:http: what a framework does around it. */
export async function nodeServer(handler: (request: Request) => Promise<Response>): Promise<Listening> {
  // #region node
  const server = createServer(async (incoming, outgoing) => {
    try {
      const body = await text(incoming);
      const headers = new Headers(incoming.headers as Record<string, string>);
      const response = await handler(new Request("http://localhost/api/chat", { method: "POST", headers, body }));
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      if (response.body !== null) await pipeline(Readable.fromWeb(response.body as never), outgoing);
    } catch {
      outgoing.destroy();
    }
  });
  // #endregion node
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { port, close: () => new Promise((closed) => server.close(() => closed())) };
}
