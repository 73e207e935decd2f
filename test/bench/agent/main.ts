import type { Bench } from "../harness.ts";
import { manyRunsAtOnce, promptKitRuns } from "./load.ts";
import { loopBesideModel } from "./loop.ts";

/**
 * The cost of the run of an agent: many at once, beside AI SDK's `streamText` doing the same, and with BENCH_PEERS=1 beside LangChain.
 * And the cost that a step adds to the call of the model. With `--profile promptkit`: the runs that PromptKit measures itself with, 100 to 2,000 at
 * once, beside AI SDK, a client of `node:http` alone, and with BENCH_PROMPTKIT=FOLDER, its checkout, itself. Builds the package first.
 */
export const bench: Bench = {
  name: "agent",
  targets: {
    peakBytes: { of: "ratio", must: 0.6 },
    cpu: { of: "ratio", must: 0.4 },
    "348 MB": { of: "bytes", reach: 348e6 },
  },
  profiles: ["promptkit"],
  async run(profile) {
    if (profile === "promptkit") return promptKitRuns();
    return [...(await loopBesideModel()), ...(await manyRunsAtOnce())];
  },
};
