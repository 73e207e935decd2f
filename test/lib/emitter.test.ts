import { expect, test } from "vitest";
import { Emitter } from "../../src/lib/emitter.ts";
import { settle } from "../../src/testing/virtual-clock.ts";
import { verifies } from "../support/verifies.ts";

type Event = { readonly type: "a" | "b"; readonly n: number };

function emitter() {
  const failures: unknown[] = [];
  return { failures, events: new Emitter<Event>((error) => failures.push(error)) };
}

verifies("E2", "events are told in order, after the code that emitted them, and to all", async () => {
  const { events } = emitter();
  const heard: string[] = [];
  events.on("*", ({ type, n }) => {
    heard.push(`all ${type}${n}`);
    if (n === 1) events.emit({ type: "b", n: 3 });
  });
  events.on("a", ({ n }) => heard.push(`a ${n}`));
  events.emit({ type: "a", n: 1 });
  events.emit({ type: "a", n: 2 });
  expect(heard).toEqual([]);
  await settle();
  expect(heard).toEqual(["all a1", "a 1", "all a2", "a 2", "all b3"]);
});

test("a listener hears nothing from before it came", async () => {
  const { events } = emitter();
  const early: number[] = [];
  const late: number[] = [];
  events.on("a", ({ n }) => early.push(n));
  events.emit({ type: "a", n: 1 });
  events.on("a", ({ n }) => late.push(n));
  events.emit({ type: "a", n: 2 });
  await settle();
  expect(early).toEqual([1, 2]);
  expect(late).toEqual([2]);
});

test("a listener hears nothing once it is off, though another took it off in the same event", async () => {
  const { events } = emitter();
  const heard: number[] = [];
  let off = () => {};
  events.on("a", () => off());
  off = events.on("a", ({ n }) => heard.push(n));
  events.emit({ type: "a", n: 1 });
  await settle();
  expect(heard).toEqual([]);
});

test("a function that listens twice is two listeners, each with its own end, which may be called again", async () => {
  const { events } = emitter();
  let heard = 0;
  const listener = () => {
    heard += 1;
  };
  const off = events.on("a", listener);
  events.on("a", listener);
  events.emit({ type: "a", n: 1 });
  await settle();
  expect(heard).toBe(2);
  off();
  off();
  events.emit({ type: "a", n: 2 });
  await settle();
  expect(heard).toBe(3);
});

verifies("C12", "what a listener throws or rejects with is told, and harms no other listener", async () => {
  const { events, failures } = emitter();
  const heard: number[] = [];
  events.on("a", () => {
    throw new Error("thrown");
  });
  events.on("a", () => Promise.reject(new Error("rejected")));
  events.on("a", () => ({
    // biome-ignore lint/suspicious/noThenProperty: a promise of another library
    then(_resolve: unknown, reject: (error: Error) => void) {
      reject(new Error("foreign"));
    },
  }));
  events.on("a", ({ n }) => heard.push(n));
  events.emit({ type: "a", n: 1 });
  await settle();
  expect(heard).toEqual([1]);
  expect(failures.map((error) => (error as Error).message)).toEqual(["thrown", "rejected", "foreign"]);
});

test("an event nobody hears is not kept for who comes later", async () => {
  const { events } = emitter();
  expect(events.hasListeners("a")).toBe(false);
  events.emit({ type: "a", n: 1 });
  const heard: number[] = [];
  const off = events.on("a", ({ n }) => heard.push(n));
  expect(events.hasListeners("a")).toBe(true);
  expect(events.hasListeners("b")).toBe(false);
  await settle();
  off();
  expect(heard).toEqual([]);
  expect(events.hasListeners("a")).toBe(false);
});
