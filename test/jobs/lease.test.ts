import { describe, expect, test } from "vitest";
import { KeptLease, type Lease, newLease } from "../../src/jobs/lease.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { verifies } from "../support/verifies.ts";

describe("a lease", () => {
  const leaseMs = 30_000;
  const kept = (renew: (lease: Lease) => Promise<boolean>) => {
    const clock = virtualClock();
    const lease = newLease("me", { clock, leaseMs });
    let lost = 0;
    const keeping = new KeptLease(lease, { clock, leaseMs, renew, lost: () => (lost += 1) });
    return { clock, lease, keeping, lost: () => lost };
  };

  verifies("H2", "is renewed well before it ends, for as long as it is kept", async () => {
    const renewed: Lease[] = [];
    const { clock, lease, keeping, lost } = kept(async (longer) => renewed.push(longer) > 0);
    await clock.advance(100_000);
    expect(renewed.map(({ until }) => until - lease.until)).toEqual(
      Array.from({ length: 10 }, (_, index) => (index + 1) * 10_000),
    );
    await keeping.stop();
    await clock.advance(100_000);
    expect([renewed.length, lost(), clock.timers]).toEqual([10, 0, 0]);
  });

  verifies("H2", "is lost at once where somebody else has changed the record", async () => {
    const { clock, lost } = kept(async () => false);
    await clock.advance(10_000);
    expect([lost(), clock.timers]).toEqual([1, 0]);
  });

  verifies("H2", "is lost when it ends while the store fails, and not before", async () => {
    let isDown = true;
    const failing = async () => {
      if (isDown) throw new Error("down");
      return true;
    };
    const { clock, lost } = kept(failing);
    await clock.advance(20_000);
    expect(lost()).toBe(0);
    await clock.advance(10_000);
    expect([lost(), clock.timers]).toEqual([1, 0]);
    const second = kept(failing);
    await second.clock.advance(20_000);
    isDown = false;
    await second.clock.advance(60_000);
    expect(second.lost()).toBe(0);
    await second.keeping.stop();
  });

  test("stops after what is being written", async () => {
    const writing = Promise.withResolvers<boolean>();
    const { clock, keeping } = kept(() => writing.promise);
    await clock.advance(10_000);
    let isStopped = false;
    const stopping = keeping.stop().then(() => {
      isStopped = true;
    });
    await clock.advance(0);
    expect(isStopped).toBe(false);
    writing.resolve(true);
    await stopping;
    expect(clock.timers).toBe(0);
  });
});
