/**
 * `npm run soak -- [minutes] [--seed N] [--only SERVER] [--brief]`: twenty connectors under random trouble, called all the time. It exits with 1 where a
 * promise was broken, and says which, when and by which seed.
 */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { Breaches } from "./breaches.ts";
import { reportOf, summaryOf } from "./report.ts";
import { soak } from "./soak.ts";

const exitMs = 5_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: "string" }, only: { type: "string" }, brief: { type: "boolean" } },
});
const minutes = Number(positionals[0] ?? 2);
if (!(minutes > 0) || positionals.length > 1) {
  console.error("Usage: npm run soak -- [minutes] [--seed N] [--only SERVER] [--brief]");
  process.exit(2);
}
const seed = values.seed ?? String(randomInt(1_000_000));
const breaches = new Breaches(seed);
breaches.watchProcess();
const result = await soak({ seed, durationMs: minutes * 60_000, only: values.only, breaches });
if (values.brief !== true) console.log(`${reportOf(result)}\n`);
console.log(summaryOf(seed, result, breaches.all));
process.exitCode = breaches.all.length === 0 ? 0 : 1;
// Fires only where something else keeps the process alive.
setTimeout(() => {
  breaches.add(undefined, `the process did not end by itself: ${process.getActiveResourcesInfo().join(", ")}`);
  process.exit(1);
}, exitMs).unref();
