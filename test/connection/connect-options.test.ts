import { expect, test } from "vitest";
import { readSupervision } from "../../src/connection/connect-options.ts";

const defaults = { startTimeoutMs: 10_000, maxQueuedCalls: 10_000, timeoutMs: 60_000 };

test("a connector that minds its own time is left the time to say why it failed", () => {
  const cases: readonly (readonly [given: number | undefined, own: number | undefined, limit: number])[] = [
    [undefined, undefined, 30_000],
    [5_000, undefined, 5_000],
    [undefined, 30_000, 33_000],
    [5_000, 5_000, 8_000],
    [5_000, 30_000, 5_000],
    [60_000, 30_000, 33_000],
  ];
  for (const [connectTimeoutMs, own, limit] of cases) {
    const read = readSupervision({ connectTimeoutMs }, defaults, { connectTimeoutMs: own });
    expect(read.connectTimeoutMs).toBe(limit);
  }
});
