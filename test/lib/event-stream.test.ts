import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { type EventStreamOptions, eventStream } from "../../src/lib/event-stream.ts";
import { verifies } from "../support/verifies.ts";

function make(options: EventStreamOptions = {}) {
  const listeners = new Set<(event: string) => void>();
  const stream = eventStream<string>(
    {
      subscribe: (listener) => {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
      lost: (count) => `lost ${count}`,
    },
    options,
  );
  const emit = (...events: readonly string[]) => {
    for (const event of events) for (const listener of listeners) listener(event);
  };
  return { stream, emit, listeners };
}

verifies("E4", "gives events in order, those before the first read too", async () => {
  const { stream, emit } = make();
  emit("a", "b");
  expect([await stream.next(), await stream.next()]).toEqual([
    { done: false, value: "a" },
    { done: false, value: "b" },
  ]);
  const next = stream.next();
  emit("c");
  expect(await next).toEqual({ done: false, value: "c" });
});

verifies("E4", "a reader that is too slow loses the oldest, and is told how many in their place", async () => {
  const { stream, emit } = make({ limit: 2 });
  emit("a", "b", "c", "d");
  expect([await stream.next(), await stream.next(), await stream.next()].map(({ value }) => value)).toEqual([
    "lost 2",
    "c",
    "d",
  ]);
});

test("reads that wait side by side are each answered", async () => {
  const { stream, emit } = make();
  const reads = [stream.next(), stream.next(), stream.next()];
  emit("a");
  emit("b");
  await stream.return?.();
  expect(await Promise.all(reads)).toEqual([
    { done: false, value: "a" },
    { done: false, value: "b" },
    { done: true, value: undefined },
  ]);
});

test("ends when it is returned from or its signal aborts, and listens no longer", async () => {
  const one = make();
  one.emit("a", "b");
  for await (const event of one.stream) {
    expect(event).toBe("a");
    break;
  }
  expect(one.listeners.size).toBe(0);
  const controller = new AbortController();
  const two = make({ signal: controller.signal });
  const waiting = two.stream.next();
  controller.abort();
  expect(await waiting).toEqual({ done: true, value: undefined });
  expect([two.listeners.size, getEventListeners(controller.signal, "abort").length]).toEqual([0, 0]);
  const three = make({ signal: controller.signal });
  three.emit("a");
  expect(await three.stream.next()).toEqual({ done: true, value: undefined });
  expect(three.listeners.size).toBe(0);
});
