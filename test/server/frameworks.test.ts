import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { expect } from "vitest";
import { createMcpHandler } from "../../src/server/index.ts";
import { verifies } from "../support/verifies.ts";
import { call, initialize } from "./fixture/client.ts";
import { servedToolkit } from "./fixture/toolkit.ts";

/** A session by hand: the handshake, and a call. */
async function use(origin: string): Promise<unknown> {
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    fetch(`${origin}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
      body: JSON.stringify(body),
    });
  const begun = await post(initialize());
  await begun.text();
  const answer = await post(call(1, "echo", { text: "hi" }), {
    "mcp-session-id": begun.headers.get("mcp-session-id") ?? "",
  });
  const text = await answer.text();
  return JSON.parse(text.slice(text.lastIndexOf('{"jsonrpc"')));
}

const wanted = { jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: "hi" }] } };

verifies("V1", "a handler is mounted in Express, before and behind a parser of bodies", async () => {
  await using toolkit = servedToolkit();
  await using handler = createMcpHandler(toolkit);
  for (const middleware of [[], [express.json()]]) {
    const app = express();
    for (const each of middleware) app.use(each);
    app.all("/mcp", handler.node);
    const server = createServer(app).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    expect(await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)).toEqual(wanted);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

verifies("V1", "a handler is mounted in Fastify", async () => {
  await using toolkit = servedToolkit();
  await using handler = createMcpHandler(toolkit);
  const app = fastify();
  app.all("/mcp", async (request, reply) => {
    reply.hijack();
    await handler.node(Object.assign(request.raw, { body: request.body }), reply.raw);
  });
  const origin = await app.listen({ port: 0, host: "127.0.0.1" });
  expect(await use(origin)).toEqual(wanted);
  app.server.closeAllConnections();
  await app.close();
});

verifies("V1", "a handler is mounted in Hono", async () => {
  await using toolkit = servedToolkit();
  await using handler = createMcpHandler(toolkit);
  const app = new Hono();
  app.all("/mcp", (context) => handler.fetch(context.req.raw));
  const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1", overrideGlobalObjects: false });
  await new Promise((resolve) => server.once("listening", resolve));
  expect(await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)).toEqual(wanted);
  if ("closeAllConnections" in server) server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
