import { describe, expect, test } from "vitest";
import { ConcurrencyLimit, ConcurrencyQueue } from "../../src/lib/concurrency-queue.ts";

const waitIn = (lane: ConcurrencyQueue, owner: string, log: string[], name = owner) => {
  const ticket = { owner, granted: () => void log.push(name), refused: () => void log.push(`${name} refused`) };
  return { ticket, entered: lane.enter(ticket) };
};

describe("a lane", () => {
  test("takes a place of each bound or none", () => {
    const [narrow, wide] = [new ConcurrencyLimit(1, 0), new ConcurrencyLimit(2, 1)];
    const both = new ConcurrencyQueue([narrow, wide], 10);
    const one = new ConcurrencyQueue([wide], 10);
    expect([both.take(), both.take(), one.take(), one.take()]).toEqual([true, false, true, false]);
    expect([narrow.taken, wide.taken]).toEqual([1, 2]);
    one.give();
    expect(both.take()).toBe(false);
    expect([narrow.taken, wide.taken]).toEqual([1, 1]);
  });

  test("lets in whoever is next where a place is given back; nobody goes before those who wait", () => {
    const lane = new ConcurrencyQueue([new ConcurrencyLimit(1, 0)], 10);
    const log: string[] = [];
    lane.take();
    waitIn(lane, "a", log, "a1");
    waitIn(lane, "a", log, "a2");
    waitIn(lane, "b", log, "b1");
    lane.give();
    expect(log).toEqual(["a1"]);
    expect(lane.take()).toBe(false);
    lane.give();
    lane.give();
    expect(log).toEqual(["a1", "b1", "a2"]);
    lane.give();
    expect(lane.take()).toBe(true);
  });

  test("lanes that share a bound have their turns", () => {
    const shared = new ConcurrencyLimit(1, 0);
    const [left, right] = [
      new ConcurrencyQueue([shared, new ConcurrencyLimit(9, 1)], 10),
      new ConcurrencyQueue([shared], 10),
    ];
    const log: string[] = [];
    left.take();
    for (const name of ["l1", "l2", "l3"]) waitIn(left, "x", log, name);
    for (const name of ["r1", "r2"]) waitIn(right, "x", log, name);
    for (const lane of [left, left, right, left, right]) lane.give();
    expect(log).toEqual(["l1", "r1", "l2", "r2", "l3"]);
  });

  test("a bound that is full holds up nobody who does not need it", () => {
    const [wide, narrow] = [new ConcurrencyLimit(2, 0), new ConcurrencyLimit(1, 1)];
    const [both, one] = [new ConcurrencyQueue([wide, narrow], 10), new ConcurrencyQueue([wide], 10)];
    const log: string[] = [];
    both.take();
    one.take();
    waitIn(both, "x", log, "both");
    waitIn(one, "x", log, "one");
    one.give();
    expect(log).toEqual(["one"]);
    both.give();
    expect(log).toEqual(["one", "both"]);
  });

  test("who leaves is not let in, and a lane nobody waits in is forgotten", () => {
    const bound = new ConcurrencyLimit(1, 0);
    const lane = new ConcurrencyQueue([bound], 10);
    const log: string[] = [];
    lane.take();
    const { ticket } = waitIn(lane, "a", log);
    expect(bound.queues.size).toBe(1);
    lane.leave(ticket);
    lane.leave(ticket);
    expect(bound.queues.size).toBe(0);
    lane.give();
    expect([log, bound.taken]).toEqual([[], 0]);
  });

  test("when too many wait, whoever has most gives way; who has most himself is refused", () => {
    const lane = new ConcurrencyQueue([new ConcurrencyLimit(1, 0)], 2);
    const log: string[] = [];
    lane.take();
    const entered = ["a1", "a2", "a3", "b1", "b2"].map((name) => waitIn(lane, name.charAt(0), log, name).entered);
    expect(entered).toEqual([true, true, false, true, false]);
    lane.give();
    lane.give();
    expect(log).toEqual(["a2 refused", "a1", "b1"]);
  });
});
