import { type ChildProcessByStdio, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { verifies } from "../../support/verifies.ts";
import { type Case, casesOf, type Kind, type Way } from "./rig/cases.ts";
import type { Report } from "./rig/report.ts";

const rig = fileURLToPath(new URL("rig/main.ts", import.meta.url));
/** As long as all cases of one way may take on a slow machine. */
const limitMs = 240_000;
/** The promise, where the machine gives the process its turn; and the surplus that is allowed where it does not. */
const noticedMs = 5_000;
const slackMs = 3_000;
const lateMs = 100;

const title = "no call is lost or repeated, nobody else harmed, nothing left behind";
const lossTitle = `is noticed and heals; ${title}`;

/**
 * Puts the faults that can happen on a way to a toolkit in a process of its own, which prints what came of them: those that every run of
 * the tests puts over it, or the others.
 */
export function matrix(way: Way, { isUsual = true } = {}): void {
  const cases = casesOf(way).filter(({ usual }) => (usual === way) === isUsual);
  describe(`under load, over ${way}`, () => {
    let child: ChildProcessByStdio<null, Readable, Readable>;
    let errors: Promise<string>;
    let exit: Promise<number | null>;
    const reports = new Map(cases.map(({ fault }) => [fault as string, Promise.withResolvers<Report>()]));

    // Each is waited for in its turn.
    for (const { promise } of reports.values()) promise.catch(() => undefined);

    beforeAll(() => {
      child = spawn(process.execPath, ["--expose-gc", rig, way, ...reports.keys()], {
        stdio: ["ignore", "pipe", "pipe"],
      });
      errors = text(child.stderr);
      createInterface(child.stdout).on("line", (line) => {
        const report = JSON.parse(line) as Report & { readonly error?: string };
        const { resolve, reject } = reports.get(report.fault) ?? {};
        if (report.error === undefined) resolve?.(report);
        else reject?.(new Error(report.error));
      });
      exit = new Promise((resolve) => {
        child.once("close", async (code) => {
          const why = new Error(`The process ended with ${code} before it came to this: ${await errors}`);
          for (const { reject } of reports.values()) reject(why);
          resolve(code);
        });
      });
    });
    afterAll(() => child.kill("SIGKILL"));

    const prove = (one: Case) => async () => judge(one, await reports.get(one.fault)?.promise);
    const of = (kind: Kind) => cases.filter((one) => one.kind === kind);
    for (const one of of("loss")) verifies(["M5", "M7", "C8"], `${one.fault}: ${lossTitle}`, prove(one), limitMs);
    for (const one of of("refusal")) verifies(["M7", "C8"], `${one.fault}: ${title}`, prove(one), limitMs);
    for (const one of of("delay")) verifies("C7", `${one.fault}: ${title}`, prove(one), limitMs);
    for (const one of of("noise")) verifies(["M6", "M7"], `${one.fault}: ${title}`, prove(one), limitMs);
    for (const one of of("excess")) verifies(["M12", "E3"], `${one.fault}: ${title}`, prove(one), limitMs);
    for (const one of of("list")) verifies(["L4", "M6"], `${one.fault}: ${title}`, prove(one), limitMs);
    for (const one of of("process")) verifies("M8", `${one.fault}: ${title}`, prove(one), limitMs);

    test("the process ends by itself, and says nothing", async () => {
      expect([await exit, await errors]).toEqual([0, ""]);
    }, 60_000);
  });
}

function judge({ codes = [], loses = false, changes = 0, shifts = false }: Case, report: Report | undefined): void {
  if (report === undefined) throw new Error("Nobody waits for its report.");
  const seen = JSON.stringify(report);
  const { ok = 0, ...failed } = report.codes;
  expect(ok, seen).toBeGreaterThan(50);
  expect(
    Object.keys(failed).filter((code) => !codes.includes(code)),
    seen,
  ).toEqual([]);
  expect(report.happened > 0 || report.fault === "down", seen).toBe(true);
  if (!shifts) expect(report.changes, seen).toBe(changes);
  expect(report).toMatchObject({ unanswered: 0, twice: [], invented: [], denied: [] });
  expect(report).toMatchObject({ catalogue: [], left: [], handles: [], unhandled: [] });
  // One for the toolkit, however many calls there were.
  expect(report.listeners, seen).toBeLessThanOrEqual(1);
  const withinMs = noticedMs + (report.worstBuiltinMs > lateMs ? slackMs : 0);
  if (loses) expect(report.noticedMs, seen).toBeLessThan(withinMs);
  else expect(report.noticedMs, seen).toBeUndefined();
  expect(report.healedMs, seen).toBeLessThan(withinMs + slackMs);
  expect(report.closeMs, seen).toBeLessThan(5_000);
  expect(report.heapGrownMb, seen).toBeLessThan(5);
  expect(report.worstBuiltinMs, seen).toBeLessThan(2_000);
}
