import { describe, expect, test } from "vitest";
import type { Connection } from "../../src/core/connection.ts";
import { faultyServer } from "../../src/testing/faulty/server.ts";
import { toolweaveMatchers } from "../../src/testing/matchers.ts";

const { toBeConnected, toBeLeftAlone, toRecoverWithin } = toolweaveMatchers;

const connectionWith = (fields: object) =>
  ({ namespace: "weather", state: "connected", since: 1_000, attempts: 0, ...fields }) as unknown as Connection;
const down = connectionWith({
  state: "waiting",
  attempts: 3,
  nextAttemptAt: 60_000,
  lastError: new Error("connect ECONNREFUSED"),
});

describe("toBeConnected", () => {
  test("passes for a connection that is, and describes one that is not", () => {
    expect(toBeConnected(connectionWith({})).pass).toBe(true);
    const { pass, message } = toBeConnected(down);
    expect(pass).toBe(false);
    expect(message()).toBe(
      "`weather` is waiting since 1970-01-01T00:00:01.000Z, after 3 attempts, the next at 1970-01-01T00:01:00.000Z. Its last error: connect ECONNREFUSED",
    );
  });

  test("is for nothing else", () => {
    expect(() => toBeConnected({ state: "connected" })).toThrow("is for a Connection");
  });
});

describe("toRecoverWithin", () => {
  test("waits for it", async () => {
    let looks = 0;
    const coming = connectionWith({});
    Object.defineProperty(coming, "state", { get: () => (looks++ < 3 ? "connecting" : "connected") });
    expect((await toRecoverWithin(coming, 5_000)).pass).toBe(true);
  });

  test("fails with state, attempts and last error", async () => {
    const { pass, message } = await toRecoverWithin(down, 20);
    expect(pass).toBe(false);
    expect(message()).toMatch(/did not recover within 20 ms.*waiting.*3 attempts.*ECONNREFUSED/);
  });

  test("is not content with a connection that has not noticed the fault", async () => {
    const { pass, message } = await toRecoverWithin(connectionWith({ since: 1_000 }), 20, { after: 2_000 });
    expect(pass).toBe(false);
    expect(message()).toContain("has not noticed the fault");
    expect((await toRecoverWithin(connectionWith({ since: 3_000 }), 20, { after: 2_000 })).pass).toBe(true);
  });
});

test("toBeLeftAlone names what is left", async () => {
  await using server = faultyServer();
  expect((await toBeLeftAlone(server)).pass).toBe(true);
  const controller = new AbortController();
  const { url } = await server.listen();
  await server.fault("hang", { method: "initialize" });
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize" });
  await fetch(url, { method: "POST", body, signal: controller.signal });
  const { pass, message } = await toBeLeftAlone(server, 20);
  expect([pass, message()]).toEqual([false, "After 20 ms the server still has: an HTTP POST that is under way."]);
  controller.abort();
  expect((await toBeLeftAlone(server)).pass).toBe(true);
  await expect(toBeLeftAlone({})).rejects.toThrow("faultyServer");
});
