import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import type { Store } from "../../src/core/store.ts";
import { chance as chanceOf } from "../soak/chance.ts";
import type { Worker } from "../support/job-worker.ts";
import type { TaskJob } from "../support/task-jobs.ts";

/** Three processes, and what they share. */
export interface FuzzSetup {
  readonly store: Store;
  readonly journal: string;
  start(aheadMs: number): Promise<Worker>;
}

/** So many things are done, the same in each run; `JOBS_FUZZ` names another number, and `FC_SEED` another seed. */
const steps = Number(process.env.JOBS_FUZZ ?? 80);
/** An hour ahead, an hour behind, and neither. */
const clocks = [0, 3_600_000, -3_600_000];
const verbs = [
  { verb: "create", weight: 20 },
  { verb: "work", weight: 40 },
  { verb: "cancel", weight: 3 },
  { verb: "until", weight: 5 },
  { verb: "down", weight: 3 },
  { verb: "vague", weight: 2 },
  { verb: "up", weight: 9 },
  { verb: "wait", weight: 20 },
  { verb: "kill", weight: 3 },
] as const;

/**
 * Has three processes whose clocks are apart create, work on, cancel and wait for jobs, lose their store and be killed, at random; then
 * lets them come to rest. However that went, no job was begun twice that may not be repeated, none is lost, each has ended, and what a
 * process was told of an end is how it ended.
 */
export async function fuzzJobs({ store, journal, start }: FuzzSetup): Promise<void> {
  const workers = await Promise.all(clocks.map(start));
  const ids: string[] = [];
  const created = new Set<string>();
  const told = new Map<string, string>();
  const asked: Promise<unknown>[] = [];
  const ask = (worker: Worker, command: string, isTold: (answer: string) => void = () => undefined) =>
    // A process that is killed answers nothing.
    void asked.push(worker.does(command).then(isTold, () => undefined));

  const chance = chanceOf(process.env.FC_SEED ?? "jobs");
  for (let step = 0; step < steps; step++) {
    const slot = chance.between(0, workers.length - 1);
    const worker = workers[slot];
    // One of the latest, so that much happens to each.
    const id = ids.at(-1 - chance.between(0, Math.min(7, ids.length))) ?? "job-0";
    const { verb } = chance.weighted(verbs);
    if (worker === undefined) throw new Error("There is always one.");
    if (verb === "create") {
      const fresh = `job-${ids.length}`;
      ids.push(fresh);
      const words = chance.pick(["", "", " repeatable", " repeatable", " 1500"]);
      ask(worker, `create ${fresh}${words}`, (answer) => answer === "waiting" && created.add(fresh));
    } else if (verb === "work") {
      const work = chance.pick(["0", "fail", "40", "400", "1200", "3000", "hang"]);
      const wanted = work === "fail" ? "failed" : "done";
      ask(worker, `work ${id} ${work}`, (answer) => answer === wanted && told.set(id, answer));
    } else if (verb === "kill") {
      await worker.kill();
      workers[slot] = await start(clocks[slot] ?? 0);
    } else if (verb === "wait") await delay(chance.between(0, 400));
    else ask(worker, `${verb} ${id}`, (answer) => answer === "cancelled" && told.set(id, answer));
  }
  await Promise.all(workers.map((worker) => worker.kill()));
  await Promise.all(asked);
  // Whatever they left, one that starts now brings to an end.
  const last = await start(0);
  for (const id of ids) if ((await last.does(`status ${id}`)) === "waiting") await last.does(`work ${id}`);
  await Promise.all(ids.map((id) => last.does(`until ${id}`)));

  const lines = (await readFile(journal, "utf8")).split("\n");
  const { records, failures } = await store.list({ collection: "run", owner: "" });
  expect(failures).toEqual([]);
  const jobs = new Map(records.map(({ key, value }) => [key, value as TaskJob]));
  expect([...created].filter((id) => !jobs.has(id))).toEqual([]);
  const begun = (id: string) => lines.filter((line) => line === `began ${id}`).length;
  const wrong = [...jobs].filter(([id, { status, settledAt, isRepeatable }]) => {
    const isDone = status !== "done" || lines.includes(`ended ${id}`);
    return (
      settledAt === undefined || !isDone || (told.get(id) ?? status) !== status || (!isRepeatable && begun(id) > 1)
    );
  });
  expect(wrong).toEqual([]);
}
