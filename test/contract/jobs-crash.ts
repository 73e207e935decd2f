import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect } from "vitest";
import type { Store } from "../../src/core/store.ts";
import { type Crash, Worker, type WorkerTask } from "../support/job-worker.ts";
import { makeStore, type StoreMaker } from "../support/store-maker.ts";
import type { TaskJob } from "../support/task-jobs.ts";
import { verifies } from "../support/verifies.ts";
import { fuzzJobs } from "./jobs-fuzz.ts";

/** A store that other processes can open too. */
export interface SharedJobs {
  /** The module and options by which every process makes it. */
  readonly shared: StoreMaker;
  /** From now on nobody can write, until the function it resolves to is called. */
  outage(): Promise<() => Promise<void>>;
  dispose(): Promise<void>;
}

const leaseMs = 2_000;
const patience = { timeout: 15_000 };

/** The promises of jobs whose processes are killed, or whose store is away, whenever that is. */
export function jobsCrashContract(name: string, setUp: () => Promise<SharedJobs>): void {
  describe(`jobs in ${name} whose processes are killed`, () => {
    let side: SharedJobs;
    let folder: string;
    let store: Store;
    let workers: Worker[];

    const start = async (more: Partial<WorkerTask> = {}) => {
      const worker = new Worker({ ...side.shared, journal: join(folder, "journal"), leaseMs, ...more });
      workers.push(worker);
      return worker.ready();
    };
    const journal = async () => (await readFile(join(folder, "journal"), "utf8").catch(() => "")).split("\n");
    const times = async (what: string) => (await journal()).filter((line) => line === what).length;
    const statusOf = async (id: string) =>
      ((await store.get({ collection: "run", owner: "", key: id }))?.value as TaskJob | undefined)?.status;

    beforeEach(async () => {
      workers = [];
      side = await setUp();
      folder = await mkdtemp(join(tmpdir(), "toolweave-jobs-crash-"));
      store = await makeStore(side.shared);
    });
    afterEach(async () => {
      await Promise.all(workers.map((worker) => worker.kill()));
      await store.close();
      await side.dispose();
      await rm(folder, { recursive: true, force: true });
    });

    // The end of a job whose holder was killed then, and the number of times it was begun: where it may not be repeated, and where it may.
    const phases: readonly (readonly [Crash, once: readonly [string, number], again: readonly [string, number]])[] = [
      [{ when: "before", what: "claim" }, ["waiting", 0], ["waiting", 0]],
      [{ when: "after", what: "claim" }, ["lost", 0], ["done", 1]],
      [{ when: "before", what: "extend" }, ["lost", 1], ["done", 2]],
      [{ when: "after", what: "extend" }, ["lost", 1], ["done", 2]],
      [{ when: "before", what: "end" }, ["lost", 1], ["done", 2]],
      [{ when: "after", what: "end" }, ["done", 1], ["done", 1]],
    ];
    verifies(
      "J1",
      "end as they must, in whichever phase that is: nothing is lost, and nothing is repeated that may not be",
      async () => {
        const observer = await start();
        for (const [number, [crash]] of phases.entries()) {
          await observer.does(`create once-${number}`);
          await observer.does(`create again-${number} repeatable`);
          const dying = await start({ crash });
          const work = crash.what === "extend" ? "hang" : "0";
          for (const id of ["once", "again"]) void dying.does(`work ${id}-${number} ${work}`).catch(() => undefined);
          await dying.ended();
        }
        for (const [number, [, once, again]] of phases.entries()) {
          for (const [kind, [status, begun]] of [
            ["once", once],
            ["again", again],
          ] as const) {
            const id = `${kind}-${number}`;
            await expect.poll(() => statusOf(id), patience).toBe(status);
            expect([id, await times(`began ${id}`)]).toEqual([id, begun]);
            if (status === "waiting") expect(await observer.does(`work ${id}`)).toBe("done");
          }
        }
        const late = await start();
        for (const [number, [, [once]]] of phases.entries())
          expect(await late.does(`until once-${number}`)).toBe(once === "waiting" ? "done" : once);
      },
      120_000,
    );

    verifies(
      "J1",
      "are claimed by exactly one of two processes that race for them, again and again",
      async () => {
        const racers = await Promise.all([start(), start()]);
        for (let number = 0; number < 50; number++) {
          await racers[number % 2]?.does(`create race-${number}`);
          const answers = await Promise.all(racers.map((racer) => racer.does(`work race-${number}`)));
          expect(answers.sort()).toEqual(["done", "none"]);
          expect(await times(`began race-${number}`)).toBe(1);
        }
      },
      60_000,
    );

    verifies(
      "J1",
      "stay with a holder that lives where the clocks of others are an hour ahead and behind, and do not where it is killed",
      async () => {
        // Longer than a busy machine may keep the holder from extending it.
        const lease = { leaseMs: 3 * leaseMs };
        const hours = [0, 3_600_000, -3_600_000];
        const [holder, ...others] = await Promise.all(hours.map((aheadMs) => start({ aheadMs, ...lease })));
        for (const id of ["long", "dead"]) {
          await holder?.does(`create ${id}`);
          // Seen before it is claimed: of one that is claimed when it is seen first, a clock an hour ahead alone says that its lease is over.
          for (const other of others) expect(await other.does(`status ${id}`)).toBe("waiting");
        }
        const working = holder?.does(`work long ${lease.leaseMs * 1.5}`);
        const waiting = others.map((other) => other.does("until long"));
        expect(await working).toBe("done");
        expect([await Promise.all(waiting), await times("cut long")]).toEqual([["done", "done"], 0]);
        void holder?.does("work dead hang").catch(() => undefined);
        await expect.poll(() => times("began dead"), patience).toBe(1);
        await holder?.kill();
        expect(await Promise.all(others.map((other) => other.does("until dead")))).toEqual(["lost", "lost"]);
      },
      60_000,
    );

    verifies(
      "J1",
      "that end while the store of their process fails end when it is there again; too late they are lost, and cut",
      async () => {
        const [holder, other] = await Promise.all([start(), start()]);
        for (const id of ["short", "long"]) await other.does(`create ${id}`);
        const short = holder.does("work short 300");
        await expect.poll(() => times("began short"), patience).toBe(1);
        await holder.does("down");
        expect(await short).toBe("STORE_FAILED");
        expect(await other.does("status short")).toBe("running");
        await holder.does("up");
        expect(await other.does("until short")).toBe("done");
        void holder.does("work long hang").catch(() => undefined);
        await expect.poll(() => times("began long"), patience).toBe(1);
        await holder.does("down");
        expect(await other.does("until long")).toBe("lost");
        await expect.poll(() => times("cut long"), patience).toBe(1);
        await holder.does("up");
        expect(await holder.does("status long")).toBe("lost");
      },
      60_000,
    );

    verifies(
      "J1",
      "and whose store nobody could write to for a while go on or end afterwards, each begun once",
      async () => {
        const [holder, other] = await Promise.all([start(), start()]);
        const ids = ["quick", "slow", "gone"];
        for (const id of ids) await other.does(`create ${id}`);
        const quick = holder.does("work quick 400");
        const slow = holder.does(`work slow ${leaseMs}`);
        void other.does("work gone hang").catch(() => undefined);
        await expect
          .poll(async () => (await Promise.all(ids.map((id) => times(`began ${id}`)))).join(), patience)
          .toBe("1,1,1");
        const end = await side.outage();
        await other.kill();
        expect(await quick).toBe("STORE_FAILED");
        await end();
        await slow;
        const third = await start();
        expect(await third.does("until quick")).toBe("done");
        expect(["done", "lost"]).toContain(await third.does("until slow"));
        expect(await third.does("until gone")).toBe("lost");
        expect(await Promise.all(ids.map((id) => times(`began ${id}`)))).toEqual([1, 1, 1]);
      },
      60_000,
    );

    verifies(
      "J1",
      "have one holder at a time and come to an end, whatever three processes do whose clocks are apart and that are killed at random",
      () => fuzzJobs({ store, journal: join(folder, "journal"), start: (aheadMs) => start({ aheadMs, leaseMs: 800 }) }),
      600_000,
    );
  });
}
