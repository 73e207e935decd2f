import { expectTypeOf, test } from "vitest";
import { type CallOptions, type CallSettings, defineTool, type ToolkitOptions } from "../../src/index.ts";

const run = () => "done";

test("[C2] a tool and the toolkit take the same settings", () => {
  const options: CallSettings = {
    timeoutMs: 1,
    coerce: true,
    cache: { ttlMs: 1, key: (input) => JSON.stringify(input) },
    retry: { attempts: 2 },
    rateLimit: { calls: 1, perMs: 1 },
    maxConcurrent: 1,
  };
  defineTool({ name: "t", options, run });
  expectTypeOf<{ "weather.*": CallSettings }>().toExtend<NonNullable<ToolkitOptions["settings"]>>();
  const off: CallSettings = { cache: false, retry: false, rateLimit: false, maxConcurrent: false };
  defineTool({ name: "t", options: { ...off, version: "1" }, run });
});

test("[C8 C9 C10] what is none is refused", () => {
  // @ts-expect-error an answer is good for some time
  defineTool({ name: "t", options: { cache: {} }, run });
  // @ts-expect-error there is no default for how long
  defineTool({ name: "t", options: { cache: true }, run });
  // @ts-expect-error so many in how long?
  defineTool({ name: "t", options: { rateLimit: { calls: 1 } }, run });
  // @ts-expect-error retries are counted with the first attempt
  defineTool({ name: "t", options: { retry: { retries: 1 } }, run });
  // @ts-expect-error there is no way to allow everything by true
  defineTool({ name: "t", options: { maxConcurrent: true }, run });
});

test("[C5 C9] a call says whether it is mended, and whether it may be answered from what is kept", () => {
  expectTypeOf<{ coerce: boolean; bypassCache: boolean }>().toExtend<CallOptions>();
  expectTypeOf<{ coerce: "yes" }>().not.toExtend<CallOptions>();
});
