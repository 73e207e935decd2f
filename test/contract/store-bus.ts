import { afterEach, beforeEach, describe, expect } from "vitest";
import type { BusEvent, MessageBus } from "../../src/core/message-bus.ts";
import type { Store } from "../../src/core/store.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { hostileTexts, type StoreSetup } from "./store.ts";

/** The messages of a channel, and a wait for so many of them. */
interface Inbox {
  readonly messages: unknown[];
  saidSo(many: number): Promise<void>;
}

export function inbox(): Inbox & { readonly listener: (event: BusEvent) => void } {
  const messages: unknown[] = [];
  const waits = new Set<() => void>();
  return {
    messages,
    listener: (event) => {
      messages.push(event.type === "message" ? event.message : event.type);
      for (const wait of [...waits]) wait();
    },
    async saidSo(many) {
      while (messages.length < many) await new Promise<void>((resolve) => waits.add(resolve));
    },
  };
}

/** The promises of every bus of a store. */
export function busContract(name: string, setUp: () => Promise<StoreSetup>): void {
  describe(`${name} keeps the contract of a bus`, () => {
    let side: StoreSetup;
    let store: Store;
    let other: Store;
    const busOf = ({ bus }: Store): MessageBus => {
      if (bus === undefined) throw new Error("It has no bus.");
      return bus;
    };

    beforeEach(async () => {
      side = await setUp();
      store = side.store;
      // One process alone has it: then both ends are in it.
      other = (await side.another?.()) ?? store;
    });
    afterEach(async () => {
      await Promise.all([store.close(), other.close()]);
      await side.dispose();
    });

    verifies("V6", "a message reaches every subscriber of its channel once, in order, and no other", async () => {
      const [near, far, strange] = [inbox(), inbox(), inbox()];
      await busOf(store).subscribe("a", near.listener).ready;
      await busOf(other).subscribe("a", far.listener).ready;
      await busOf(other).subscribe("b", strange.listener).ready;
      const numbers = Array.from({ length: 300 }, (_, number) => number);
      const sent = await Promise.all(numbers.map((number) => busOf(store).publish("a", number)));
      await Promise.all([near.saidSo(300), far.saidSo(300)]);
      expect(await busOf(store).publish("b", "last")).toBe(true);
      await strange.saidSo(1);
      expect(new Set(sent)).toEqual(new Set([true]));
      expect([near.messages, far.messages, strange.messages]).toEqual([numbers, numbers, ["last"]]);
    });

    verifies(
      "V6",
      "without a subscriber nothing is sent, and an ended subscription receives nothing more",
      async () => {
        const [first, second] = [inbox(), inbox()];
        expect(await busOf(store).publish("a", 1)).toBe(false);
        const one = busOf(other).subscribe("a", first.listener);
        const two = busOf(other).subscribe("a", second.listener);
        await Promise.all([one.ready, two.ready]);
        one.end();
        one.end();
        expect(await busOf(store).publish("a", 2)).toBe(true);
        await second.saidSo(1);
        two.end();
        // The lock of a channel is given back behind this.
        const again = busOf(other).subscribe("c", first.listener);
        await again.ready;
        expect(await busOf(store).publish("a", 3)).toBe(false);
        expect([first.messages, second.messages]).toEqual([[], [2]]);
      },
    );

    verifies(
      "V6",
      "texts of any kind and messages of megabytes arrive as they were sent, to each its own copy",
      async () => {
        const large = { text: "ä".repeat(3_000_000), list: [null, { deep: true }] };
        const [one, two] = [inbox(), inbox()];
        const spoil = (event: BusEvent) => {
          if (event.type === "message" && event.message !== null)
            Object.assign(event.message as object, { spoilt: true });
          throw new Error("A listener that fails.");
        };
        await busOf(other).subscribe("a", spoil).ready;
        await busOf(other).subscribe("a", one.listener).ready;
        await busOf(store).subscribe("a", two.listener).ready;
        await Promise.all([hostileTexts, large, { half: "\ud800" }].map((each) => busOf(store).publish("a", each)));
        await Promise.all([one.saidSo(3), two.saidSo(3)]);
        expect(one.messages).toEqual([hostileTexts, large, { half: "\ud800" }]);
        expect(two.messages).toEqual(one.messages);
      },
    );

    verifies("V6", "what is no channel, no JSON or too large is refused, and nothing after it is lost", async () => {
      const received = inbox();
      await busOf(other).subscribe("a", received.listener).ready;
      for (const channel of ["", "a b", "x".repeat(121), "'; --", "ä"]) {
        expect((await failure(busOf(store).publish(channel, 1))).code).toBe("INVALID_INPUT");
        expect(() => busOf(store).subscribe(channel, () => undefined)).toThrow(/channel/);
      }
      for (const message of [undefined, 1n, () => undefined])
        expect((await failure(busOf(store).publish("a", message))).code).toBe("INVALID_INPUT");
      const tooLarge = await failure(busOf(store).publish("a", "x".repeat(33 * 2 ** 20)));
      expect(tooLarge).toMatchObject({ code: "LIMIT_EXCEEDED", details: { max: 32 * 2 ** 20 } });
      expect(await busOf(store).publish("a", "fine")).toBe(true);
      await received.saidSo(1);
      expect(received.messages).toEqual(["fine"]);
    });

    verifies("V6", "a closed store sends and receives nothing", async () => {
      const received = inbox();
      await busOf(store).subscribe("a", received.listener).ready;
      await store.close();
      expect((await failure(busOf(store).publish("a", 1))).code).toBe("CLOSED");
      expect(() => busOf(store).subscribe("a", received.listener)).toThrow(/closed/);
      if (other !== store) expect(await busOf(other).publish("a", 1)).toBe(false);
      expect(received.messages).toEqual([]);
    });
  });
}
