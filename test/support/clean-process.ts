import { afterAll, expect, vi } from "vitest";

// The parts that OpenTelemetry has registered for the process.
const telemetry = Symbol.for("opentelemetry.js.api.1");

/** The state that the test files of a process share, where one may be in the way of the next. */
function shared(): object {
  const listeners = process.eventNames().map((name) => [String(name), process.listenerCount(name)] as const);
  const { version: _, ...registered } = (globalThis as { [telemetry]?: { version?: unknown } })[telemetry] ?? {};
  return {
    env: { ...process.env },
    folder: process.cwd(),
    replaced: globals.filter(([name, value]) => globalOf(name) !== value).map(([name]) => name),
    listeners: Object.fromEntries(listeners),
    telemetry: Object.keys(registered),
  };
}

/** Its value, if it is there already: Node loads some when they are first read. */
const globalOf = (name: string): unknown => Object.getOwnPropertyDescriptor(globalThis, name)?.value;
const names = Object.getOwnPropertyNames(globalThis).filter((name) => globalOf(name) !== undefined);
const globals = names.map((name) => [name, globalOf(name)] as const);
const before = shared();
afterAll(() => {
  // Vitest does so between files; then a function that was faked when it was spied on is faked again.
  vi.restoreAllMocks();
  expect(shared(), "a test file leaves its process as it found it").toEqual(before);
});
