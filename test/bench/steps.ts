import type { CallSettings } from "../../src/core/call-settings.ts";
import type { CallOptions } from "../../src/core/session.ts";
import { defineTool } from "../../src/core/tool.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { type Bench, type Comparison, measure } from "./harness.ts";
import { message, messageSchema } from "./server/tools.ts";

const much = { calls: 1_000_000, perMs: 1 };

/** The cost that each step adds to a builtin call: the difference to the same call without it. */
const steps: Readonly<Record<string, readonly [settings: CallSettings, options?: CallOptions]>> = {
  "all of them, idle": [{ coerce: false, cache: false, retry: false, rateLimit: false, maxConcurrent: false }],
  "coerce, input that fits": [{}, { coerce: true }],
  "cache, a kept answer": [{ cache: { ttlMs: 3_600_000 } }],
  "cache, a new answer": [{ cache: { ttlMs: 3_600_000 } }, { bypassCache: true }],
  "cache, a run to share": [{ cache: { ttlMs: 1e-9 } }],
  retry: [{ retry: { attempts: 3 } }],
  rateLimit: [{ rateLimit: much }],
  maxConcurrent: [{ maxConcurrent: 1_000 }],
  "all but the cache": [{ retry: { attempts: 3 }, rateLimit: much, maxConcurrent: 1_000 }, { coerce: true }],
};

/** Each step of a call alone, against the same call without it. */
export const bench: Bench = {
  name: "steps",
  targets: { idle: { of: "ratio", reach: 1.02 } },
  async run() {
    const comparisons: Comparison[] = [];
    for (const [name, [settings, options]] of Object.entries(steps)) {
      for (const kind of ["sync", "async"] as const) {
        const { ours, without } = await compare(kind, settings, options);
        const target = name.endsWith("idle") ? { target: "idle" } : {};
        comparisons.push({ name: `${name}, ${kind}`, ...target, ours, peer: { name: "without", timing: without } });
      }
    }
    return comparisons;
  },
};

async function compare(kind: "sync" | "async", settings: CallSettings, options: CallOptions | undefined) {
  const run = { sync: (input: object) => input, async: async (input: object) => input }[kind];
  const items = [defineTool({ name: "echo", input: messageSchema, output: messageSchema, run })];
  await using plain = new Toolkit({ items });
  await using governed = new Toolkit({ items, settings: { "*": settings } });
  return await measure(
    {
      without: () => plain.call("builtin.echo", message),
      ours: () => governed.call("builtin.echo", message, options),
    },
    { rounds: 10 },
  );
}
