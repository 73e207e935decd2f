import { describe, expect, test } from "vitest";
import { FairQueue } from "../../src/lib/concurrency-queue.ts";

const drain = (queue: FairQueue<string>): string[] => {
  const all: string[] = [];
  for (let item = queue.shift(); item !== undefined; item = queue.shift()) all.push(item);
  return all;
};

describe("a fair queue", () => {
  test("gives each owner a turn, and keeps the order of each", () => {
    const queue = new FairQueue<string>();
    for (const item of ["a1", "a2", "a3", "a4", "b1", "b2", "c1"]) queue.push(item.charAt(0), item);
    expect(drain(queue)).toEqual(["a1", "b1", "c1", "a2", "b2", "a3", "a4"]);
    expect([queue.size, queue.shift()]).toEqual([0, undefined]);
  });

  test("an owner who comes back waits behind those who are there", () => {
    const queue = new FairQueue<string>();
    for (const item of ["a1", "b1", "b2"]) queue.push(item.charAt(0), item);
    expect(queue.shift()).toBe("a1");
    queue.push("a", "a2");
    expect(drain(queue)).toEqual(["b1", "a2", "b2"]);
  });

  test("what waits no longer leaves no gap", () => {
    const queue = new FairQueue<string>();
    for (const item of ["a1", "a2", "b1"]) queue.push(item.charAt(0), item);
    expect([queue.remove("a", "a1"), queue.remove("a", "a1"), queue.remove("x", "a2")]).toEqual([true, false, false]);
    expect(queue.size).toBe(2);
    expect(drain(queue)).toEqual(["a2", "b1"]);
  });

  test("when it is full, whoever has most gives way to one that has less, and to no other", () => {
    const queue = new FairQueue<string>();
    for (const item of ["a1", "a2", "a3", "b1"]) queue.push(item.charAt(0), item);
    expect(queue.evict("a")).toBeUndefined();
    expect(queue.evict("b")).toBe("a3");
    expect(queue.evict("b")).toBeUndefined();
    expect(queue.evict("c")).toBe("a2");
    expect(drain(queue)).toEqual(["a1", "b1"]);
  });
});
