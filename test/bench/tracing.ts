import { AlwaysOffSampler, TracerProvider } from "@opentelemetry/sdk-trace";
import { defineTool } from "../../src/core/tool.ts";
import type { ToolkitOptions } from "../../src/core/toolkit-options.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { type Bench, type Comparison, measure } from "./harness.ts";
import { message, messageSchema } from "./server/tools.ts";

const tools = (["sync", "async"] as const).map((name) =>
  defineTool({
    name,
    input: messageSchema,
    output: messageSchema,
    run: name === "sync" ? (input) => input : async (input) => input,
  }),
);

/** The cost of tracing: a call without the step, with it and nobody who looks, sampled out, and recorded. */
export const bench: Bench = {
  name: "tracing",
  targets: { "no SDK": { of: "ratio", must: 1.05 } },
  async run() {
    return [...(await compare("sync")), ...(await compare("async"))];
  },
};

async function compare(name: "sync" | "async"): Promise<readonly Comparison[]> {
  const withOptions = (options: ToolkitOptions) => new Toolkit({ items: tools, ...options });
  await using none = withOptions({ tracer: false, meter: false });
  await using idle = withOptions({});
  await using sampledOut = withOptions({ tracer: tracerOf({ sampler: new AlwaysOffSampler() }) });
  await using recording = withOptions({ tracer: tracerOf({}) });
  const call = (toolkit: Toolkit) => () => toolkit.call(`builtin.${name}`, message);
  const timings = await measure({
    none: call(none),
    idle: call(idle),
    sampledOut: call(sampledOut),
    recording: call(recording),
  });
  const peer = { name: "without the step", timing: timings.none };
  return [
    { name: `${name}, no SDK`, target: "no SDK", ours: timings.idle, peer },
    { name: `${name}, sampled out`, ours: timings.sampledOut, peer },
    { name: `${name}, recorded`, ours: timings.recording, peer },
  ];
}

function tracerOf(options: ConstructorParameters<typeof TracerProvider>[0]) {
  return new TracerProvider(options).getTracer("bench");
}
