import { generateKeyPairSync } from "node:crypto";
import { AgentCard, canonicalizeAgentCard, generateAgentCardSignature } from "@a2a-js/sdk";
import { expect, test } from "vitest";
import { type A2aOptions, a2a, type CardKey } from "../../src/a2a/index.ts";
import type { AddConnectorOptions } from "../../src/connection/connect-options.ts";
import type { Connection } from "../../src/core/connection.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure } from "../support/failure.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";
import { agents } from "./support.ts";

const { agent, open } = agents();

async function added(
  target: string,
  options: A2aOptions = {},
  more: AddConnectorOptions = {},
): Promise<{ readonly toolkit: Toolkit; readonly connection: Connection }> {
  const toolkit = new Toolkit();
  open.push(() => toolkit.close());
  const connection = toolkit.addConnector(a2a(target, options), { namespace: "travel", ...more });
  await toolkit.start();
  return { toolkit, connection };
}

/** The connection has failed for a reason. */
async function refused(connection: Connection): Promise<Error & { readonly code?: string }> {
  await until(() => connection.lastError !== undefined);
  return connection.lastError as Error;
}

async function skills(toolkit: Toolkit): Promise<readonly string[]> {
  return (await toolkit.list({ kind: "tool", namespace: "travel" })).entries.map(({ name }) => name);
}

verifies(
  "W4",
  "the interface is the first of the card that is spoken, and the current version goes before the old",
  async () => {
    const rest = await agent({ bindings: ["GRPC", "HTTP+JSON", "JSONRPC"] });
    expect((await added(rest.card)).connection).toMatchObject({ state: "connected", transport: "a2a-http+json" });
    const both = await agent({
      tamper: (card) => {
        const interfaces = card.supportedInterfaces as Record<string, unknown>[];
        return { ...card, supportedInterfaces: [{ ...interfaces[0], protocolVersion: "0.3" }, interfaces[1]] };
      },
    });
    const { connection } = await added(both.card);
    expect(connection).toMatchObject({ transport: "a2a-http+json", server: { protocolVersion: "1.0" } });
  },
);

verifies("W4", "an agent that speaks gRPC alone is refused in words", async () => {
  const { card } = await agent({ bindings: ["GRPC"] });
  const error = await refused((await added(card)).connection);
  expect(error.code).toBe("UNSUPPORTED_PROTOCOL");
  expect(error.message).toContain("GRPC 1.0: JSONRPC and HTTP+JSON of A2A 1.0 and 0.3 are spoken here");
});

verifies("W4", "the extended card is used where there are credentials for it", async () => {
  const { card } = await agent({ extended: true, token: "secret-token-1" });
  const headers = { Authorization: "Bearer secret-token-1" };
  const known = await added(card, { headers });
  expect(await skills(known.toolkit)).toEqual(["book", "plan"]);
  const unknown = await added(card);
  expect(await skills(unknown.toolkit)).toEqual(["plan"]);
  const error = await failure(unknown.toolkit.call("travel.plan", { message: "echo Bern" }));
  expect(error.code).toBe("UNAUTHORIZED");
});

verifies("W4", "a function gives the headers of each caller", async () => {
  const served = await agent({ token: "of-ada-12345" });
  const { toolkit } = await added(served.card, {
    headers: ({ session }) => (session?.principal === "ada" ? { Authorization: "Bearer of-ada-12345" } : {}),
  });
  const session = { id: "1", principal: "ada" };
  expect((await toolkit.call("travel.plan", { message: "echo Bern" }, { session })).mediaType).toBe("multipart/mixed");
  const other = toolkit.call("travel.plan", { message: "echo Bern" }, { session: { id: "2", principal: "bob" } });
  expect((await failure(other)).code).toBe("UNAUTHORIZED");
});

verifies("W4", "a task belongs to the principal that began it", async () => {
  const { card } = await agent();
  const { toolkit } = await added(card);
  const ada = { session: { id: "1", principal: "ada" } };
  const question = await toolkit.call("travel.plan", { message: "ask" }, ada);
  const { taskId, contextId } = (question.meta?.a2a ?? {}) as { taskId: string; contextId: string };
  for (const ids of [{ taskId }, { contextId }]) {
    const call = toolkit.call("travel.plan", { message: "Thun", ...ids }, { session: { id: "2", principal: "bob" } });
    expect((await failure(call)).code).toBe("NOT_FOUND");
  }
  const read = toolkit.read(`a2a://task/${taskId}/artifact/answer`, { session: { id: "2", principal: "bob" } });
  expect((await failure(read)).code).toBe("NOT_FOUND");
  const answer = await toolkit.call("travel.plan", { message: "Thun", taskId }, ada);
  expect(await answer.parts?.[0]?.text()).toBe("You said Thun");
});

verifies("W4", "a card that has changed changes the tools", async () => {
  const served = await agent();
  const { toolkit } = await added(served.card, {}, { healthCheckMs: 300 });
  expect(await skills(toolkit)).toEqual(["plan"]);
  served.addSkill("book trains");
  await until(async () => (await skills(toolkit)).length === 2);
  expect(await skills(toolkit)).toEqual(["book-trains", "plan"]);
  const result = await toolkit.call("travel.book-trains", { message: "echo Bern" });
  expect(await result.parts?.[0]?.text()).toBe("Bern");
  expect(served.messages.at(-1)?.metadata).toEqual({ skillId: "book trains" });
});

const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
const key = { ...pair.publicKey.export({ format: "jwk" }), kid: "key-1" } as CardKey;

/** A card with a signature by our key. */
async function signed(card: Record<string, unknown>): Promise<Record<string, unknown>> {
  const sign = generateAgentCardSignature(pair.privateKey, { alg: "ES256", kid: "key-1", typ: "JOSE" });
  return AgentCard.toJSON(await sign(AgentCard.fromJSON(card))) as Record<string, unknown>;
}

verifies("W4", "a signature by a known key lets a card in, and no other card", async () => {
  let card: unknown = {};
  const served = await agent({ tamper: (given) => (card === undefined ? given : card) });
  const url = served.card;
  const plain = (await (await fetch((await agent()).card)).json()) as Record<string, unknown>;
  const own = {
    ...plain,
    supportedInterfaces: [{ url: `${served.origin}/rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
  };
  const good = await signed(own);
  card = good;
  expect((await added(url, { signature: { keys: [key] } })).connection.state).toBe("connected");

  card = { ...good, name: "Another agent" };
  const forged = await refused((await added(url, { signature: { keys: [key] } })).connection);
  expect(forged).toMatchObject({
    code: "UNAUTHORIZED",
    message: expect.stringContaining("was changed after it was signed"),
  });

  card = own;
  const missing = await refused((await added(url, { signature: { keys: [key] } })).connection);
  expect(missing.message).toContain("it has no signature");
  expect((await added(url, { signature: { keys: [key], required: false } })).connection.state).toBe("connected");

  const stranger = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" }) as CardKey;
  card = good;
  const other = await refused((await added(url, { signature: { keys: [stranger], required: false } })).connection);
  expect(other.code).toBe("UNAUTHORIZED");
  // The card is signed as the SDK writes it.
  expect(canonicalizeAgentCard(AgentCard.fromJSON(good))).toBe(canonicalizeAgentCard(AgentCard.fromJSON(own)));
});

verifies("W4", "an agent without skills is one tool", async () => {
  const { card } = await agent({ tamper: (given) => ({ ...given, skills: [] }) });
  const { toolkit } = await added(card);
  expect(await skills(toolkit)).toEqual(["message"]);
  expect((await toolkit.call("travel.message", { message: "reply Hello" })).meta?.a2a).toMatchObject({
    state: "completed",
  });
});

verifies("W4", "input that no agent could read is refused, and nothing is sent", async () => {
  const { card, messages } = await agent();
  const { toolkit } = await added(card);
  expect((await failure(toolkit.call("travel.plan", {}))).code).toBe("INVALID_INPUT");
  expect((await failure(toolkit.call("travel.plan", { message: "echo", taskId: "none" }))).code).toBe("NOT_FOUND");
  expect(messages).toEqual([]);
});

test("an option there is not, and a key that is none, are refused", () => {
  const url = "https://agents.example/card.json";
  expect(() => a2a(url, { retries: 3 } as A2aOptions)).toThrow(/retries/);
  expect(() => a2a(url, { resumeMs: -1 })).toThrow(/resumeMs/);
  expect(() => a2a(url, { maxTaskEvents: 0 })).toThrow(/maxTaskEvents/);
  expect(() => a2a(url, { signature: { keys: [] } })).toThrow(/signature.keys/);
  expect(() => a2a(url, { signature: { keys: [{ kty: "EC" }] } })).toThrow(/signature.keys\[0\]/);
  expect(() => a2a("agents.example")).toThrow(/is no URL/);
  expect(a2a("https://agents.example").label).toBe("https://agents.example/.well-known/agent-card.json");
});
