import { afterEach, beforeEach, describe, expect } from "vitest";
import type { Connection } from "../../src/core/connection.ts";
import { settle } from "../../src/testing/virtual-clock.ts";
import { failure } from "../support/failure.ts";
import { FakeConnector, tools } from "../support/fake-connector.ts";
import { verifies } from "../support/verifies.ts";
import { Bench } from "./support.ts";

const never = new Promise<never>(() => undefined);

describe("the health of a connection", () => {
  let bench: Bench;
  let far: FakeConnector;
  let connection: Connection;

  const start = async (healthCheckMs?: number) => {
    connection = bench.toolkit.addConnector(far, { namespace: "weather", healthCheckMs });
    await bench.start();
  };
  beforeEach(() => {
    bench = new Bench();
    far = new FakeConnector({ lists: { tool: tools("forecast") } });
  });
  afterEach(async () => {
    const closing = bench.toolkit.close();
    await bench.clock.advance(5_000);
    await closing;
    expect(bench.errors()).toEqual([]);
    expect(bench.clock.timers).toBeLessThanOrEqual(1);
  });

  verifies(
    "M7",
    "one that is silent and answers no ping is lost within 5 s, its calls with it, and heals",
    async () => {
      await start();
      far.answer = () => never;
      far.pinged = () => never;
      const call = failure(bench.toolkit.call("weather.forecast"));
      bench.take();
      const lostAt = bench.clock.now();
      while (connection.state === "connected" && far.sessions.length === 1) await bench.clock.advance(100);
      expect(bench.clock.now() - lostAt).toBeLessThan(5_000);
      expect(await call).toMatchObject({
        code: "OUTCOME_UNKNOWN",
        message: expect.stringContaining("answers no ping"),
      });
      far.pinged = async () => undefined;
      await settle();
      expect(connection).toMatchObject({ state: "connected", callsInFlight: 0 });
      expect(far.open).toBe(1);
      expect(bench.take()).toEqual(expect.arrayContaining(["connectorDisconnected", "connectorConnected"]));
      expect(connection.lastError?.message).toContain("answers no ping");
    },
  );

  verifies("M7", "wherever its last word falls between two looks, its silence is noticed within 5 s", async () => {
    await start();
    for (let saidAt = 50; saidAt < 4_000; saidAt += 250) {
      far.pinged = async () => undefined;
      connection.reconnect();
      await connection.ready();
      await bench.clock.advance(saidAt);
      far.pinged = () => never;
      far.session.said += 1;
      const sessions = far.sessions.length;
      const silentSince = bench.clock.now();
      while (far.sessions.length === sessions) await bench.clock.advance(50);
      expect(bench.clock.now() - silentSince, `silent from ${saidAt} ms on`).toBeLessThan(5_000);
    }
  });

  verifies("M7", "while it says anything nothing is asked", async () => {
    await start();
    for (let at = 0; at < 60; at++) {
      far.session.said += 1;
      await bench.clock.advance(1_000);
    }
    expect(far.pings).toBe(0);
    expect(connection.state).toBe("connected");
    await bench.clock.advance(10_000);
    expect(far.pings).toBeGreaterThan(0);
  });

  verifies(
    "M7",
    "any answer to a ping is a sign of life, even an error, and so is whatever else it says meanwhile",
    async () => {
      await start();
      far.pinged = async () => Promise.reject(new Error("Method not found"));
      await bench.clock.advance(20_000);
      expect(far.sessions).toHaveLength(1);
      far.pinged = () => never;
      for (let at = 0; at < 20; at++) {
        await bench.clock.advance(1_900);
        far.session.said += 1;
      }
      expect(far.sessions).toHaveLength(1);
    },
  );

  verifies("M13", "a ping that is answered gives the latency", async () => {
    await start();
    far.pinged = () => new Promise((resolve) => void bench.clock.setTimer(resolve, 42));
    await bench.clock.advance(3_000);
    expect(connection.latencyMs).toBe(42);
  });

  verifies("M7", "the limit is the session's where none is given, and can be switched off", async () => {
    await start(Number.POSITIVE_INFINITY);
    far.pinged = () => never;
    await bench.clock.advance(3_600_000);
    expect(far.pings).toBe(0);
    expect(connection.state).toBe("connected");
    await bench.toolkit.removeConnector(connection);
    await start(60_000);
    const before = far.sessions.length;
    await bench.clock.advance(40_000);
    expect(far.sessions).toHaveLength(before);
    await bench.clock.advance(10_000);
    expect(far.sessions).toHaveLength(before + 1);
  });

  verifies("M7", "a process that stood still itself gives the other side another chance", async () => {
    await start();
    const answer = Promise.withResolvers<void>();
    far.pinged = () => answer.promise;
    await bench.clock.advance(2_000);
    expect(far.pings).toBe(1);
    bench.clock.stall(60_000);
    await bench.clock.advance(0);
    expect(far.sessions).toHaveLength(1);
    answer.resolve();
    await bench.clock.advance(1_000);
    expect(far.sessions).toHaveLength(1);
  });
});
