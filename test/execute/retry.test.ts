import { afterEach, beforeEach, describe, expect } from "vitest";
import { ToolkitError } from "../../src/core/error.ts";
import type { ErrorCode } from "../../src/core/error-catalog.ts";
import { resource } from "../../src/resource/resource.ts";
import { settle } from "../../src/testing/virtual-clock.ts";
import { Bench } from "../source/support.ts";
import { failure, rejection } from "../support/failure.ts";
import { FakeConnector } from "../support/fake-connector.ts";
import { verifies } from "../support/verifies.ts";

const lost = (code: "UNAVAILABLE" | "OUTCOME_UNKNOWN", retryInMs?: number) =>
  new ToolkitError(code as ErrorCode, "the connection failed", { namespace: "far", retryInMs } as never);

describe("an attempt that failed with its connection", () => {
  let bench: Bench;
  let far: FakeConnector;
  /** What the attempts come to, in order; then each succeeds. */
  let outcomes: unknown[];
  let attempts: number;

  const fail = async <T>(value: T): Promise<T> => {
    attempts += 1;
    const outcome = outcomes.shift();
    if (outcome !== undefined) throw outcome;
    return value;
  };
  beforeEach(async () => {
    bench = new Bench();
    outcomes = [];
    attempts = 0;
    const annotated = (name: string, annotations: object) => ({ name, input: { type: "object" }, annotations });
    far = new FakeConnector({
      lists: {
        tool: [
          annotated("write", { destructiveHint: true }),
          annotated("put", { idempotentHint: true }),
          annotated("look", { readOnlyHint: true }),
        ],
        prompt: [{ name: "brief" }],
        resource: [{ name: "map", uri: "memo://map" }],
      },
    });
    far.answer = async (name) => fail(resource.text("answer", name));
    await bench.start({ far });
    far.session.read = (uri) => fail(resource.text("read", uri));
    far.session.render = () => fail({ messages: [] });
  });
  afterEach(async () => {
    await bench.toolkit.close();
    expect(bench.errors()).toEqual([]);
    expect(bench.clock.keptAlive).toBe(0);
  });

  verifies("C8", "is made again where it was surely not sent, whatever the tool", async () => {
    outcomes = [lost("UNAVAILABLE"), lost("UNAVAILABLE")];
    const call = bench.toolkit.call("far.write");
    await bench.clock.advance(1_000);
    expect(await (await call).text()).toBe("write");
    expect(attempts).toBe(3);
  });

  verifies("C8", "is not made again where it was sent and the tool is not safe to repeat", async () => {
    outcomes = [lost("OUTCOME_UNKNOWN")];
    expect((await failure(bench.toolkit.call("far.write"))).code).toBe("OUTCOME_UNKNOWN");
    await bench.clock.advance(60_000);
    expect(attempts).toBe(1);
  });

  for (const name of ["put", "look"]) {
    verifies("C8", `is made again though it was sent, where the tool says that it is safe: ${name}`, async () => {
      outcomes = [lost("OUTCOME_UNKNOWN")];
      const call = bench.toolkit.call(`far.${name}`);
      await bench.clock.advance(1_000);
      expect(await (await call).text()).toBe(name);
      expect(attempts).toBe(2);
    });
  }

  verifies(["C8", "K3"], "is made again for a read and a render", async () => {
    outcomes = [lost("UNAVAILABLE"), lost("UNAVAILABLE")];
    const read = bench.toolkit.read("memo://map");
    await bench.clock.advance(5_000);
    expect(await (await read).text()).toBe("memo://map");
    expect(attempts).toBe(3);
    // The first one loads the validator, in real time.
    await bench.toolkit.render("far.brief");
    outcomes = [lost("UNAVAILABLE")];
    const render = bench.toolkit.render("far.brief");
    await bench.clock.advance(5_000);
    expect(await render).toEqual({ messages: [] });
  });

  verifies("C8", "is given up after three more, with backoff in between", async () => {
    outcomes = Array.from({ length: 9 }, () => lost("UNAVAILABLE"));
    const began = bench.clock.now();
    const call = failure(bench.toolkit.call("far.put"));
    const made: number[] = [];
    while (bench.clock.now() - began < 5_000) {
      const before = attempts;
      await bench.clock.advance(10);
      if (attempts > before) made.push(bench.clock.now() - began);
    }
    expect((await call).code).toBe("UNAVAILABLE");
    // Full jitter with a chance of 1 waits as long as it may: 100, 200, 400 ms, each with the time a lost session needs to be known.
    expect(made).toEqual([200, 500, 1_000]);
    expect(attempts).toBe(4);
  });

  verifies("C8", "one that may have run stays the news, whatever became of those after it", async () => {
    outcomes = [lost("OUTCOME_UNKNOWN"), lost("UNAVAILABLE"), lost("UNAVAILABLE"), lost("UNAVAILABLE")];
    const call = failure(bench.toolkit.call("far.put"));
    await bench.clock.advance(10_000);
    expect((await call).code).toBe("OUTCOME_UNKNOWN");
  });

  verifies("C8", "waits as the server says, and not at all where the caller has less time", async () => {
    outcomes = [lost("UNAVAILABLE", 7_000)];
    const call = bench.toolkit.call("far.write");
    await bench.clock.advance(6_900);
    expect(attempts).toBe(1);
    await bench.clock.advance(200);
    await call;
    expect(attempts).toBe(2);
    outcomes = [lost("UNAVAILABLE", 7_000)];
    expect((await failure(bench.toolkit.call("far.write", {}, { timeoutMs: 5_000 }))).code).toBe("UNAVAILABLE");
    expect(attempts).toBe(3);
  });

  verifies(["C6", "C8"], "an abort ends the wait for the next one", async () => {
    outcomes = [lost("UNAVAILABLE", 5_000)];
    const controller = new AbortController();
    const call = rejection(bench.toolkit.call("far.write", {}, { signal: controller.signal }));
    await settle();
    controller.abort("enough");
    expect(await call).toBe("enough");
    await bench.clock.advance(60_000);
    expect(attempts).toBe(1);
  });

  verifies(["C7", "C8"], "the caller's own limit binds all attempts together", async () => {
    outcomes = Array.from({ length: 9 }, () => lost("UNAVAILABLE", 900));
    const call = failure(bench.toolkit.call("far.put", {}, { timeoutMs: 1_000 }));
    await bench.clock.advance(1_100);
    expect(await call).toMatchObject({ code: "TIMEOUT", details: { limit: "call" } });
    await bench.clock.advance(60_000);
    expect(attempts).toBe(2);
  });

  verifies(["C8", "K1"], "the next one waits for the connection, in the time its caller has", async () => {
    far.answer = async (name) => {
      attempts += 1;
      if (attempts > 1) return resource.text("answer", name);
      far.outcomes = [new Error("down"), new Error("down")];
      far.session.lose();
      throw lost("OUTCOME_UNKNOWN");
    };
    const call = bench.toolkit.call("far.put");
    await bench.clock.advance(1_000);
    expect(bench.toolkit.connections[0]?.state).toBe("waiting");
    await bench.clock.advance(20_000);
    expect(await (await call).text()).toBe("put");
    expect([attempts, far.attempts]).toEqual([2, 4]);
  });

  verifies("C8", "waited for in vain it is not made again: the caller has waited once", async () => {
    far.outcomes = Array.from({ length: 20 }, () => new Error("down"));
    far.session.lose();
    await settle();
    const began = bench.clock.now();
    const call = failure(bench.toolkit.call("far.put"));
    await bench.clock.advance(60_000);
    expect(await call).toMatchObject({ code: "UNAVAILABLE", phase: "connect" });
    expect(bench.clock.now() - began).toBe(60_000);
  });

  verifies("C8", "closing ends the wait for the next one", async () => {
    outcomes = [lost("UNAVAILABLE", 5_000)];
    const call = failure(bench.toolkit.call("far.write"));
    await settle();
    await bench.toolkit.close();
    expect((await call).code).toBe("CLOSED");
  });
});
