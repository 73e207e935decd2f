import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { Latch } from "../../src/lib/latch.ts";

test("a gate lets through while it is open", async () => {
  const gate = new Latch();
  const order: string[] = [];
  const waiting = gate.wait().then(() => order.push("first"));
  expect(gate.size).toBe(1);
  gate.open();
  await waiting;
  await gate.wait();
  gate.shut();
  const second = gate.wait().then(() => order.push("second"));
  await Promise.resolve();
  expect(order).toEqual(["first"]);
  gate.open();
  await second;
  expect([order, gate.size]).toEqual([["first", "second"], 0]);
});

test("whoever stops waiting leaves nothing behind", async () => {
  const gate = new Latch();
  const [one, two] = [new AbortController(), new AbortController()];
  const waiting = gate.wait(one.signal, undefined, two.signal);
  expect([gate.size, getEventListeners(one.signal, "abort").length]).toEqual([1, 1]);
  two.abort("enough");
  await expect(waiting).rejects.toBe("enough");
  expect(gate.size).toBe(0);
  expect(getEventListeners(one.signal, "abort")).toEqual([]);
  await expect(gate.wait(one.signal, two.signal)).rejects.toBe("enough");
  const through = gate.wait(one.signal);
  gate.open();
  await through;
  expect(getEventListeners(one.signal, "abort")).toEqual([]);
});

test("a gate that breaks rejects those who wait and those who come", async () => {
  const gate = new Latch();
  const waiting = gate.wait();
  const error = new Error("broken");
  gate.break(error);
  await expect(waiting).rejects.toBe(error);
  gate.open();
  await expect(gate.wait()).rejects.toBe(error);
});
