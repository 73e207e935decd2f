import { afterEach, beforeEach, describe, expect } from "vitest";
import { ToolkitError } from "../../src/core/error.ts";
import type { Source } from "../../src/core/source.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { settle } from "../../src/testing/virtual-clock.ts";
import { failure, rejection } from "../support/failure.ts";
import { FakeConnector } from "../support/fake-connector.ts";
import { verifies } from "../support/verifies.ts";
import { Bench } from "./support.ts";

describe("a subscription", () => {
  let bench: Bench;
  let far: FakeConnector;

  beforeEach(async () => {
    bench = new Bench();
    far = new FakeConnector({
      lists: {
        resource: [{ name: "map", uri: "memo://map" }],
        template: [{ name: "city", uriTemplate: "memo://city/{name}" }],
      },
    });
    far.subscribed = async () => undefined;
    await bench.start({ far });
    bench.take();
  });
  afterEach(async () => {
    await bench.toolkit.close();
    expect(bench.errors()).toEqual([]);
  });
  const updates = () => bench.of("resourceUpdated").map(({ uri }) => uri);
  const subscribed = () => far.sessions.map(({ subscriptions }) => [...subscriptions]);

  verifies("M10", "is requested once for all subscribers, and ended after the last", async () => {
    const [first, second] = await Promise.all([
      bench.toolkit.subscribe("memo://map"),
      bench.toolkit.subscribe("memo://map#far"),
    ]);
    expect(far.session.log).toEqual(["subscribe memo://map"]);
    await first();
    await first();
    expect(subscribed()).toEqual([["memo://map"]]);
    await second();
    expect(subscribed()).toEqual([[]]);
    expect(far.session.log).toEqual(["subscribe memo://map", "unsubscribe memo://map"]);
  });

  verifies("M10", "is made again in each session, and missed updates are emitted", async () => {
    await bench.toolkit.subscribe("memo://map");
    await bench.toolkit.subscribe("memo://city/Bern");
    expect(updates()).toEqual([]);
    far.session.lose();
    await settle();
    expect(subscribed()[1]).toEqual(["memo://map", "memo://city/Bern"]);
    expect(updates()).toEqual(["memo://map", "memo://city/Bern"]);
    expect(bench.events.map(({ type }) => type).indexOf("connectorConnected")).toBeLessThan(
      bench.events.map(({ type }) => type).indexOf("resourceUpdated"),
    );
  });

  verifies(["M6", "M10"], "updates that may be lost within a session are emitted too", async () => {
    await bench.toolkit.subscribe("memo://map");
    far.session.host.changed({ kind: "resource", gap: true });
    await settle();
    expect(updates()).toEqual(["memo://map"]);
    far.session.host.changed({ kind: "resource" });
    await settle();
    expect(updates()).toHaveLength(1);
  });

  verifies("M10", "waits for a connection that is down, as a call does, and is made once", async () => {
    far.outcomes = [new Error("down"), new Error("down")];
    far.session.lose();
    await settle();
    const subscribing = bench.toolkit.subscribe("memo://map");
    await bench.clock.advance(10_000);
    await subscribing;
    expect(far.session.log).toEqual(["subscribe memo://map"]);
  });

  verifies("M10", "ended while the connection is down it is not made again", async () => {
    const end = await bench.toolkit.subscribe("memo://map");
    far.outcomes = [new Error("down")];
    far.session.lose();
    await settle();
    await end();
    await bench.clock.advance(10_000);
    expect(far.session.log).toEqual([]);
  });

  verifies("M10", "is refused clearly by a server that has none, and leaves nothing behind", async () => {
    far.subscribed = undefined;
    far.session.lose();
    await settle();
    expect(await failure(bench.toolkit.subscribe("memo://map"))).toMatchObject({
      code: "REMOTE_ERROR",
      message: expect.stringContaining("no subscriptions"),
    });
    expect((await failure(bench.toolkit.subscribe("memo://nowhere"))).code).toBe("NOT_FOUND");
    far.subscribed = async () => undefined;
    far.session.lose();
    await bench.clock.advance(10_000);
    expect(far.session.log).toEqual([]);
  });

  verifies(["M10", "C6", "C7"], "ends with its caller's signal and limit", async () => {
    far.subscribed = () => new Promise(() => undefined);
    const controller = new AbortController();
    const aborted = rejection(bench.toolkit.subscribe("memo://map", { signal: controller.signal }));
    await settle();
    controller.abort("enough");
    expect(await aborted).toBe("enough");
    const late = failure(bench.toolkit.subscribe("memo://map", { timeoutMs: 100 }));
    await bench.clock.advance(1_000);
    expect((await late).code).toBe("TIMEOUT");
  });

  verifies(["M10", "C6"], "of a caller who gave up takes no other with it, and nothing of it is left", async () => {
    far.outcomes = [new Error("down")];
    far.session.lose();
    await settle();
    const controller = new AbortController();
    const first = rejection(bench.toolkit.subscribe("memo://map", { signal: controller.signal }));
    const second = bench.toolkit.subscribe("memo://map");
    controller.abort("enough");
    expect(await first).toBe("enough");
    await bench.clock.advance(10_000);
    await (await second)();
    expect(far.session.log).toEqual(["subscribe memo://map", "unsubscribe memo://map"]);
  });

  verifies(["M10", "C6"], "given up while it is requested, it is ended", async () => {
    const answered = Promise.withResolvers<void>();
    let asked: AbortSignal | undefined;
    far.subscribed = (_uri, { signal }) => {
      asked = signal;
      return answered.promise;
    };
    const controller = new AbortController();
    const given = rejection(bench.toolkit.subscribe("memo://map", { signal: controller.signal }));
    await settle();
    controller.abort("enough");
    expect(await given).toBe("enough");
    await settle();
    answered.resolve();
    await settle();
    expect([asked?.aborted, far.session.log]).toEqual([true, ["subscribe memo://map", "unsubscribe memo://map"]]);
    far.session.lose();
    await settle();
    expect([far.sessions.length, far.session.log]).toEqual([2, []]);
    expect(bench.toolkit.connections[0]?.callsInFlight).toBe(0);
  });

  verifies("M10", "wanted again while its end is requested, it is requested after that", async () => {
    const ended = Promise.withResolvers<void>();
    far.unsubscribed = () => ended.promise;
    const end = await bench.toolkit.subscribe("memo://map");
    const ending = end();
    const again = bench.toolkit.subscribe("memo://map");
    await settle();
    expect(far.session.log).toEqual(["subscribe memo://map", "unsubscribe memo://map"]);
    ended.resolve();
    await Promise.all([ending, again]);
    expect(subscribed()).toEqual([["memo://map"]]);
  });

  verifies("M10", "a server that never answers the end of it delays no other", async () => {
    const end = await bench.toolkit.subscribe("memo://map");
    const signals: (AbortSignal | undefined)[] = [];
    Object.assign(far.session, {
      unsubscribe: (_uri: string, { signal }: { signal?: AbortSignal }) => {
        signals.push(signal);
        return new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
      },
    });
    // The limit is of the machine's clock: it is there, and what it throws is no failure.
    const ended = end();
    expect(signals[0]).toBeInstanceOf(AbortSignal);
    await ended;
    await bench.toolkit.subscribe("memo://map");
  });

  verifies("M10", "one that fails in a later session is a warning", async () => {
    await bench.toolkit.subscribe("memo://map");
    far.subscribed = async () => {
      throw new ToolkitError("REMOTE_ERROR", "no more", { server: "fake" });
    };
    far.session.lose();
    await settle();
    expect(bench.warnings()).toContainEqual(
      expect.stringContaining("The subscription to memo://map could not be renewed"),
    );
  });

  verifies("M10", "of a source is the source's; of a builtin it needs none", async () => {
    const wanted: string[] = [];
    const source: Source = {
      resource: () => [resource.withUri(resource.text("note", "hi"), "memo://note")],
      subscribe: (uri) => {
        wanted.push(uri);
        return () => void wanted.pop();
      },
    };
    bench.toolkit.addSource("notes", source);
    bench.toolkit.add(resource.text("plain", "hi"));
    await bench.toolkit.start();
    const end = await bench.toolkit.subscribe("memo://note");
    expect(wanted).toEqual(["memo://note"]);
    await end();
    expect(wanted).toEqual([]);
    await (await bench.toolkit.subscribe("text:plain"))();
  });
});
