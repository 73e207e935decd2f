import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect } from "vitest";
import type { ConnectorTarget } from "../../src/core/target.ts";
import { faultyServer } from "../../src/testing/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";
import { freePort, ListeningChild } from "./support.ts";

/**
 * The promise: so long after the network is back, all works. A machine that is busy with other work gets more time, by the time that it took
 * to connect in the first place; without the promise it takes 26 s and more.
 */
const healMs = 6_000;
const timed = async (run: () => Promise<unknown>) => {
  const from = performance.now();
  await run();
  return performance.now() - from;
};
/** Long enough that the attempt to connect again is swallowed too. */
const holeMs = 3_000;
const supervision = { healthCheckMs: 1_000 };

/** A network on the way to a port of this machine, which can drop everything without closing anything. */
class Network implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Nothing passes between these, not even the end of one. */
  readonly #cut = new WeakSet<Socket>();
  readonly #target: number;
  #isHole = false;
  swallowed = 0;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((near) => this.#accept(near));
  }

  static async to(target: number): Promise<Network> {
    const network = new Network(target);
    await once(network.#server.listen(0, "127.0.0.1"), "listening");
    return network;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Nothing passes from now on. What was connected stays cut off. */
  drop(): void {
    this.#isHole = true;
    for (const socket of this.#sockets) {
      this.#cut.add(socket);
      socket.unpipe().pause();
    }
  }

  /** New connections pass. */
  restore(): void {
    this.#isHole = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(near: Socket): void {
    this.#track(near);
    if (this.#isHole) {
      this.swallowed += 1;
      near.resume();
      return;
    }
    const far = this.#track(connect(this.#target, "127.0.0.1"));
    near.pipe(far).pipe(near);
    near.on("close", () => this.#cut.has(far) || far.destroy());
    far.on("close", () => this.#cut.has(near) || near.destroy());
  }

  #track(socket: Socket): Socket {
    this.#sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => this.#sockets.delete(socket));
    return socket;
  }
}

describe("a network that drops everything for some seconds", () => {
  const opened: AsyncDisposable[] = [];
  afterEach(async () => {
    for (const one of opened.splice(0).reverse()) await one[Symbol.asyncDispose]();
  });
  const keep = <T extends AsyncDisposable>(one: T): T => {
    opened.push(one);
    return one;
  };
  const service = async (transport: "streamableHttp" | "sse") => {
    const child = await ListeningChild.everything(transport, await freePort());
    keep({ [Symbol.asyncDispose]: () => child.kill() });
    return child.port;
  };
  /** Each way over the network, with the URL by the port of the network. */
  const ways = {
    json: async () => (await faultyPort("json")).port,
    events: async () => (await faultyPort("sse")).port,
    "streamable HTTP": () => service("streamableHttp"),
    "sse of 2024": () => service("sse"),
  };
  const faultyPort = (answers: "json" | "sse") => keep(faultyServer()).listen({ answers });

  verifies(
    "M7",
    "is over within six seconds once it is back, over every kind of HTTP",
    async () => {
      const toolkit = keep(new Toolkit());
      const trips = await Promise.all(
        Object.entries(ways).map(async ([way, open], at) => {
          const network = keep(await Network.to(await open()));
          const url = `http://127.0.0.1:${network.port}/${way.startsWith("sse") ? "sse" : "mcp"}`;
          const connection = toolkit.addConnector(url, { namespace: `way${at}`, ...supervision });
          return { way, network, connection };
        }),
      );
      const connectMs = await timed(async () => {
        await toolkit.start();
        await Promise.all(trips.map(({ connection }) => connection.ready()));
      });
      const lost = new Set<unknown>();
      toolkit.on("connectorDisconnected", ({ connection }) => void lost.add(connection));
      for (const { network } of trips) network.drop();
      await Promise.all([sleep(holeMs), until(() => trips.every(({ network }) => network.swallowed > 0))]);
      expect(lost.size).toBe(trips.length);
      for (const { network } of trips) network.restore();
      const backMs = await timed(() => Promise.all(trips.map(({ connection }) => connection.ready())));
      expect(backMs).toBeLessThan(healMs + 3 * connectMs);
      const answers = trips.map(({ connection }) =>
        toolkit.call(`${connection.namespace}.echo`, { message: "back" }).then((result) => result.text()),
      );
      expect(await Promise.all(answers)).toEqual(trips.map(() => expect.stringContaining("back")));
    },
    60_000,
  );

  verifies(
    "M7",
    "the fault black-hole: children are started one after the other",
    async () => {
      const toolkit = keep(new Toolkit());
      const server = keep(faultyServer());
      const targets: readonly ConnectorTarget[] = [await server.stdio(), (await server.listen()).url];
      const connections = targets.map((target, at) =>
        toolkit.addConnector(target, { namespace: `way${at}`, ...supervision }),
      );
      const connectMs = await timed(() => toolkit.start());
      {
        await using hole = await server.fault("black-hole");
        await Promise.all([sleep(holeMs), hole.happens(4)]);
        await hole.off();
        const backMs = await timed(() => Promise.all(connections.map((connection) => connection.ready())));
        expect(backMs).toBeLessThan(healMs + 3 * connectMs);
      }
      const [child] = connections;
      expect(await (await toolkit.call(`${child?.namespace}.echo`, { message: "back" })).text()).toBe("Echo: back");
    },
    60_000,
  );
});
