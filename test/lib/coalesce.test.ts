import { expect, test } from "vitest";
import { Coalescer } from "../../src/lib/coalesce.ts";
import { settle, virtualClock } from "../../src/testing/virtual-clock.ts";

function make(run: (keys: ReadonlySet<string>) => Promise<void>) {
  const clock = virtualClock();
  const errors: unknown[] = [];
  const coalescer = new Coalescer<string>(run, { delayMs: 20, clock, onError: (error) => errors.push(error) });
  return { clock, errors, coalescer };
}

test("a burst is one run for all its keys; what is asked meanwhile is one more, never two at a time", async () => {
  const runs: string[][] = [];
  const done: (() => void)[] = [];
  const { clock, coalescer } = make(async (keys) => {
    runs.push([...keys]);
    await new Promise<void>((resolve) => done.push(resolve));
  });
  for (const key of ["a", "b", "a", "b", "a"]) coalescer.request(key);
  await clock.advance(19);
  expect(runs).toEqual([]);
  await clock.advance(1);
  expect(runs).toEqual([["a", "b"]]);
  for (const key of ["c", "a"]) coalescer.request(key);
  await clock.advance(1_000);
  expect(runs).toHaveLength(1);
  done[0]?.();
  await clock.advance(20);
  expect(runs).toEqual([
    ["a", "b"],
    ["c", "a"],
  ]);
  done[1]?.();
  await clock.advance(1_000);
  expect([runs.length, clock.timers]).toEqual([2, 0]);
});

test("requests without a rest are run at gaps that grow to their limit, the last one too; after a rest it is quick again", async () => {
  const clock = virtualClock();
  const runs: number[] = [];
  let asked = 0;
  let seen = 0;
  const run = async () => {
    runs.push(clock.now());
    seen = asked;
  };
  const coalescer = new Coalescer<string>(run, { delayMs: 20, maxDelayMs: 5_000, clock, onError: () => undefined });
  for (let ms = 0; ms < 60_000; ms += 10) {
    asked += 1;
    coalescer.request("a");
    await clock.advance(10);
  }
  const gaps = runs.slice(1).map((at, index) => at - (runs[index] ?? 0));
  expect(gaps.slice(0, 8)).toEqual([40, 80, 160, 320, 640, 1_280, 2_560, 5_000]);
  expect(Math.max(...gaps)).toBeLessThanOrEqual(5_010);
  expect(runs.length).toBeLessThan(22);
  await clock.advance(5_000);
  expect([seen, asked]).toEqual([6_000, 6_000]);
  const before = runs.length;
  await clock.advance(60_000);
  coalescer.request("a");
  await clock.advance(20);
  expect(runs.length).toBe(before + 1);
});

test("a run that fails is told and hinders none after it", async () => {
  const failing = new Error("failed");
  let runs = 0;
  const { clock, errors, coalescer } = make(async () => {
    runs += 1;
    throw failing;
  });
  coalescer.request("a");
  await clock.advance(20);
  coalescer.request("a");
  await clock.advance(20);
  expect([runs, errors]).toEqual([2, [failing, failing]]);
});

test("stopped, it drops what waits and takes no more", async () => {
  let runs = 0;
  const { clock, coalescer } = make(async () => {
    runs += 1;
  });
  coalescer.request("a");
  coalescer.stop();
  coalescer.request("b");
  await clock.advance(1_000);
  await settle();
  expect([runs, clock.timers]).toEqual([0, 0]);
});
