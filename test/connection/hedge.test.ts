import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Connector, ConnectorHost, ConnectorSession } from "../../src/core/connector.ts";
import { settle } from "../../src/testing/virtual-clock.ts";
import { FakeConnector, tools } from "../support/fake-connector.ts";
import { verifies } from "../support/verifies.ts";
import { Bench } from "./support.ts";

const slow = 20_000;

interface Attempt {
  readonly signal: AbortSignal;
  readonly host: ConnectorHost;
  readonly answer: PromiseWithResolvers<void>;
}

/** A server whose every attempt is answered by the test, through a connector that does not wait for the silent ones. */
class SilentServer implements Connector {
  readonly label = "silent";
  readonly whenSilent: NonNullable<Connector["whenSilent"]>;
  readonly attempts: Attempt[] = [];
  readonly far = new FakeConnector({ lists: { tool: tools("forecast") } });
  running = 0;
  most = 0;
  /** The time after which each further attempt is answered; undefined for never. */
  answersAfterMs: number | undefined = 0;
  readonly #bench: Bench;

  constructor(bench: Bench, whenSilent: SilentServer["whenSilent"]) {
    this.#bench = bench;
    this.whenSilent = whenSilent;
  }

  async connect(options: { readonly signal: AbortSignal; readonly host: ConnectorHost }): Promise<ConnectorSession> {
    const { signal, host } = options;
    const answer = Promise.withResolvers<void>();
    this.attempts.push({ signal, host, answer });
    this.running += 1;
    this.most = Math.max(this.most, this.running);
    signal.addEventListener("abort", () => answer.reject(signal.reason));
    const { answersAfterMs } = this;
    const timer =
      answersAfterMs === undefined ? undefined : this.#bench.clock.setTimer(() => answer.resolve(), answersAfterMs);
    try {
      await answer.promise;
      return await this.far.connect(options);
    } finally {
      timer?.cancel();
      this.running -= 1;
    }
  }
}

describe("a connection whose handshake is not answered", () => {
  let bench: Bench;
  let server: SilentServer;

  beforeEach(() => {
    bench = new Bench();
  });
  afterEach(async () => {
    const closing = bench.toolkit.close();
    await bench.clock.advance(5_000);
    await closing;
    await settle();
    expect(bench.errors()).toEqual([]);
    expect(server.running).toBe(0);
    expect(bench.clock.timers).toBeLessThanOrEqual(1);
    expect(bench.clock.keptAlive).toBe(0);
  });
  const connection = () => {
    const [first] = bench.toolkit.connections;
    if (first === undefined) throw new Error("There is no connection.");
    return first;
  };
  const begin = async (whenSilent: SilentServer["whenSilent"], answersAfterMs?: number) => {
    server = new SilentServer(bench, whenSilent);
    server.answersAfterMs = answersAfterMs;
    bench.toolkit.addConnector(server, { namespace: "weather" });
    void bench.toolkit.start();
    await bench.clock.advance(0);
  };
  /** Connects, and loses the connection. */
  const lose = async (answersAfterMs?: number) => {
    await begin("instead", 0);
    expect(connection().state).toBe("connected");
    server.answersAfterMs = answersAfterMs;
    await bench.clock.advance(6_000);
    server.far.session.lose(new Error("gone"));
    await bench.clock.advance(0);
    expect(server.attempts).toHaveLength(2);
  };

  verifies("M7", "asks again beside the first after four seconds, and uses the first answer", async () => {
    await begin("beside");
    await bench.clock.advance(3_999);
    expect(server.attempts).toHaveLength(1);
    server.answersAfterMs = 100;
    await bench.clock.advance(1);
    expect(server.attempts).toHaveLength(2);
    expect(server.attempts[0]?.signal.aborted).toBe(false);
    await bench.clock.advance(100);
    expect(connection().state).toBe("connected");
    expect(server.attempts[0]?.signal.aborted).toBe(true);
    expect(server.running).toBe(0);
    expect(connection().attempts).toBe(0);
  });

  verifies("M7", "a slow server keeps its first attempt: it has all its time, and is asked a few times", async () => {
    await begin("beside", slow);
    await bench.clock.advance(slow);
    expect(connection().state).toBe("connected");
    expect(server.attempts).toHaveLength(5);
    expect(server.attempts[0]?.signal.aborted).toBe(false);
    expect(server.most).toBe(2);
  });

  test("is asked eight times at most, and fails as the first attempt does", async () => {
    server = new SilentServer(bench, "beside");
    server.answersAfterMs = undefined;
    bench.toolkit.addConnector(server, { namespace: "weather", connectTimeoutMs: 600_000 });
    void bench.toolkit.start();
    await bench.clock.advance(500_000);
    expect([server.attempts.length, server.most]).toEqual([8, 2]);
    server.attempts[0]?.answer.reject(new Error("The first one failed."));
    await bench.clock.advance(2_000);
    expect(connection().lastError?.message).toContain("The first one failed.");
    expect(server.running).toBe(0);
  });

  test("one that is refused beside the first does not end the first", async () => {
    await begin("beside");
    await bench.clock.advance(4_000);
    server.attempts[1]?.answer.reject(new Error("busy"));
    await bench.clock.advance(0);
    expect(connection().state).toBe("connecting");
    server.attempts[0]?.answer.resolve();
    await bench.clock.advance(0);
    expect(connection().state).toBe("connected");
  });

  test("where the first fails, the other one has some time left", async () => {
    await begin("beside");
    await bench.clock.advance(4_000);
    server.attempts[0]?.answer.reject(new Error("reset"));
    await bench.clock.advance(1_999);
    server.attempts[1]?.answer.resolve();
    await bench.clock.advance(0);
    expect(connection().state).toBe("connected");
    expect(server.attempts).toHaveLength(2);
  });

  test("no other one is made while a person has to act", async () => {
    await begin("beside");
    server.attempts[0]?.host.waits(new Error("Open the page."));
    await bench.clock.advance(60_000);
    expect(server.attempts).toHaveLength(1);
    server.attempts[0]?.host.waits(undefined);
    await bench.clock.advance(4_000);
    expect(server.attempts).toHaveLength(2);
  });

  test("a connector that asks a person at once is no mistake", async () => {
    server = new SilentServer(bench, "beside");
    const connect = server.connect.bind(server);
    server.connect = async (options) => {
      options.host.waits(new Error("Open the page."));
      return connect(options);
    };
    server.answersAfterMs = undefined;
    bench.toolkit.addConnector(server, { namespace: "weather" });
    void bench.toolkit.start();
    await bench.clock.advance(60_000);
    expect(server.attempts).toHaveLength(1);
    expect(connection().lastError?.message).toContain("Open the page.");
  });

  test("lists that come slowly are no silence, lists that do not come are", async () => {
    server = new SilentServer(bench, "beside");
    let received = 0;
    const listed = Promise.withResolvers<void>();
    server.far.lists = {
      tool: async () => {
        await listed.promise;
        return { items: tools("forecast"), warnings: [] };
      },
    };
    bench.toolkit.addConnector(server, { namespace: "weather" });
    void bench.toolkit.start();
    await bench.clock.advance(0);
    Object.assign(server.far.session, { received: () => received });
    for (let second = 0; second < 12; second++) {
      received += 1;
      await bench.clock.advance(1_000);
    }
    expect(server.attempts).toHaveLength(1);
    await bench.clock.advance(4_000);
    expect(server.attempts).toHaveLength(2);
    listed.resolve();
    await bench.clock.advance(0);
    expect(connection().state).toBe("connected");
  });

  test("a closed connection ends all of its attempts", async () => {
    await begin("beside");
    await bench.clock.advance(5_000);
    expect(server.running).toBe(2);
    await connection().close();
    expect(server.running).toBe(0);
    await bench.clock.advance(30_000);
    expect(server.attempts).toHaveLength(2);
  });

  verifies(
    "M7",
    "a child that is silent when it is started again is ended and started anew, never beside",
    async () => {
      await lose();
      await bench.clock.advance(3_999);
      expect(server.attempts).toHaveLength(2);
      server.answersAfterMs = 0;
      await bench.clock.advance(1);
      expect(connection().state).toBe("connected");
      expect([server.attempts.length, server.most]).toEqual([3, 1]);
    },
  );

  test("a child that needs long now still gets the time it needs", async () => {
    await lose(slow);
    await bench.clock.advance(8_000 + slow);
    expect(connection().state).toBe("connected");
    expect([server.attempts.length, server.most]).toEqual([4, 1]);
    // And the next time at once.
    server.far.session.lose(new Error("gone"));
    await bench.clock.advance(slow);
    expect([connection().state, server.attempts.length]).toEqual(["connected", 5]);
  });

  test("a child is not started anew where the last one would not have two thirds of the time", async () => {
    server = new SilentServer(bench, "instead");
    bench.toolkit.addConnector(server, { namespace: "weather", connectTimeoutMs: 11_000 });
    void bench.toolkit.start();
    await bench.clock.advance(0);
    server.answersAfterMs = 10_000;
    server.far.session.lose(new Error("gone"));
    await bench.clock.advance(10_000);
    expect([connection().state, server.attempts.length]).toEqual(["connected", 2]);
  });

  test("a child that was never up is waited for", async () => {
    await begin("instead", 29_000);
    await bench.clock.advance(29_000);
    expect(connection().state).toBe("connected");
    expect(server.attempts).toHaveLength(1);
  });
});
