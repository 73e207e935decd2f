import { afterEach, expect } from "vitest";
import type { CallReport } from "../../src/core/session.ts";
import { type FaultyServer, faultyServer } from "../../src/testing/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { verifies } from "../support/verifies.ts";

let toolkit: Toolkit;
let server: FaultyServer;
afterEach(async () => {
  await toolkit.close();
  await server[Symbol.asyncDispose]();
});

verifies("C9", "a cached result of 10,000 empty parts counts what its parts take", async () => {
  const empty = Array.from({ length: 10_000 }, () => ({ type: "text", text: "" }));
  server = faultyServer({ tools: { empty: { run: () => ({ content: empty }) }, small: { run: () => "ok" } } });
  toolkit = new Toolkit({ settings: { "far.*": { cache: { ttlMs: 60_000 } } }, cache: { maxBytes: 4_000_000 } });
  await toolkit.addConnector(server.connector(), { namespace: "far" }).ready();
  const isCached = async (name: string) => {
    const report: CallReport = {};
    await toolkit.call(name);
    await toolkit.call(name, {}, { report });
    return report.cached === true;
  };
  expect([await isCached("far.empty"), await isCached("far.small")]).toEqual([false, true]);
});
