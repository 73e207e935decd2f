import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { verifies } from "../../support/verifies.ts";

/** The output of a program of the rig after so many rounds, when it has ended by itself. */
async function outcomeOf(program: string, rounds: number): Promise<Record<string, unknown>> {
  const file = fileURLToPath(new URL(`rig/${program}.ts`, import.meta.url));
  const child = spawn(process.execPath, ["--expose-gc", file, `${rounds}`], { stdio: ["ignore", "pipe", "pipe"] });
  const [said, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  expect([code, errors]).toEqual([0, ""]);
  return JSON.parse(said) as Record<string, unknown>;
}

const nothingLeft = { handles: [], unhandled: [] };

/** Takes real servers down as often as it is asked to, under load. */
export function breakdown({ kills, restarts }: { readonly kills: number; readonly restarts: number }): void {
  verifies(
    ["M7", "M8", "C8"],
    `a real server that is killed in the middle of a hundred calls that are safe to repeat (${kills} x): the next child answers each`,
    async () => {
      const outcome = await outcomeOf("kills", kills);
      expect(outcome).toMatchObject({ codes: { ok: kills * 100 }, waited: 100, children: kills + 1, alive: [] });
      expect(outcome).toMatchObject(nothingLeft);
      expect(outcome.healedMs).toBeLessThan(10_000);
      expect(outcome.heapGrownMb).toBeLessThan(5);
    },
    120_000,
  );

  verifies(
    ["M5", "M7", "C8"],
    `an HTTP server that is stopped and started under load (${restarts} x): no call is lost or repeated`,
    async () => {
      const outcome = await outcomeOf("restarts", restarts);
      expect(outcome).toMatchObject({ unanswered: 0, twice: [], invented: [], denied: [], left: [], same: true });
      expect(outcome).toMatchObject(nothingLeft);
      const { ok, ...failed } = outcome.codes as Record<string, number>;
      expect(ok).toBeGreaterThan(restarts * 20);
      expect(Object.keys(failed).filter((code) => code !== "OUTCOME_UNKNOWN")).toEqual([]);
      expect(outcome.listeners).toBeLessThanOrEqual(1);
      expect(outcome.noticedMs).toBeLessThan(5_000);
      expect(outcome.healedMs).toBeLessThan(5_000);
      expect(outcome.heapGrownMb).toBeLessThan(5);
    },
    120_000,
  );
}
