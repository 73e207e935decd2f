import type { Bench } from "../harness.ts";
import { manyRunsAtOnce } from "./load.ts";
import { loopBesideModel } from "./loop.ts";

/**
 * The cost of the run of an agent: many at once, beside AI SDK's `streamText` doing the same, and with BENCH_PEERS=1 beside LangChain.
 * And what a step adds to the call of the model. Builds the package first.
 */
export const bench: Bench = {
  name: "agent",
  targets: {
    peakBytes: { of: "ratio", must: 0.6 },
    cpu: { of: "ratio", must: 0.6 },
    "348 MB": { of: "bytes", reach: 348e6 },
  },
  async run() {
    return [...(await loopBesideModel()), ...(await manyRunsAtOnce())];
  },
};
