import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ToolkitError } from "../../src/core/error.ts";
import type { RecordKey, Store } from "../../src/core/store.ts";
import type { Claim } from "../../src/jobs/claim.ts";
import { Jobs, type JobsOptions } from "../../src/jobs/jobs.ts";
import { type VirtualClock, virtualClock } from "../../src/testing/virtual-clock.ts";
import { FailingStore } from "../support/failing-store.ts";
import { failure, rejection } from "../support/failure.ts";
import { keepMs, type TaskJob, task, taskType } from "../support/task-jobs.ts";
import { verifies } from "../support/verifies.ts";

/** One of several processes that share the jobs: its store may fail, and its clock is its own. */
interface Process {
  readonly jobs: Jobs<TaskJob, string, string>;
  readonly clock: VirtualClock;
  readonly store: FailingStore;
  readonly logged: string[];
  /** Its toolkit closes. */
  close(): void;
  /** The part of that which it holds open. */
  readonly held: Promise<unknown>[];
}

/** Where the jobs of a test are. */
export interface JobsSetup {
  readonly store: Store;
  /** The store as another process has it. */
  another(): Promise<Store>;
  /** Ends what the setup started, after the stores were closed. */
  dispose(): Promise<void>;
}

const leaseMs = 30_000;
const minute = 60_000;
const keyOf = (key: string): RecordKey => ({ collection: "run", owner: "", key });

/** The claim on it. */
async function claimed({ jobs }: Process, id: string): Promise<Claim<TaskJob, string>> {
  const job = await jobs.get(id);
  const claim = job && (await jobs.claim(job, { status: "running" }));
  if (claim === undefined) throw new Error(`${id} cannot be claimed.`);
  return claim;
}

/** The promises of durable work, whatever store it is in. */
export function jobsContract(name: string, setUp: () => Promise<JobsSetup>): void {
  describe(`jobs in ${name}`, () => {
    let side: JobsSetup;
    let processes: Process[];
    let stores: Store[];

    const process = async (options: Partial<JobsOptions<TaskJob>> & { readonly now?: number } = {}) => {
      const { now, ...more } = options;
      const inner = processes.length === 0 ? side.store : await side.another();
      stores.push(inner);
      const store = new FailingStore(inner);
      const clock = virtualClock(now);
      const closing = new AbortController();
      const logged: string[] = [];
      const held: Promise<unknown>[] = [];
      const note = (message: string) => void logged.push(message);
      const logger = { debug: note, info: note, warn: note, error: note };
      const hold = (work: Promise<unknown>) => void held.push(work);
      const given = { store: store.store, clock, logger, closing: closing.signal, hold, limit: 100, leaseMs, ...more };
      const jobs = new Jobs<TaskJob, string, string>(taskType, given);
      const made = { jobs, clock, store, logged, held, close: () => closing.abort() };
      processes.push(made);
      return made;
    };
    const two = async (): Promise<[Process, Process]> => [await process(), await process()];
    const stored = async (id: string) => (await side.store.get(keyOf(id)))?.value as TaskJob | undefined;
    const versionOf = async (id: string) => (await side.store.get(keyOf(id)))?.version ?? 0;
    const becomes = (id: string, status: string | undefined) =>
      expect.poll(async () => (await stored(id))?.status, { timeout: 5_000 }).toBe(status);
    /** Lets time pass in small steps, in which the store can answer, while the claim of the first process on the job is extended. */
    const extended = async (id: string, ms: number, ...those: readonly Process[]) => {
      for (let past = 0; past < ms; past += leaseMs / 3) {
        const before = await versionOf(id);
        for (let step = 0; step < 10; step++) {
          for (const { clock } of those) await clock.advance(leaseMs / 30);
          await versionOf(id);
        }
        await expect.poll(() => those[0]?.jobs.claimOf(id)?.job.version).toBeGreaterThan(before);
      }
    };

    beforeEach(async () => {
      processes = [];
      stores = [];
      side = await setUp();
    });
    afterEach(async () => {
      for (const { close } of processes) close();
      await Promise.all(processes.flatMap(({ held }) => held));
      await Promise.all([side.store, ...stores].map((store) => store.close()));
      await side.dispose();
    });

    verifies("J1", "are created once, and are in every process as they were", async () => {
      const [one, other] = await two();
      const session = { id: "1", principal: "ada" };
      const created = await one.jobs.create(task("a", { note: "x", session }), "local");
      expect(created).toMatchObject({ id: "a", version: 1, note: "x" });
      expect(await failure(other.jobs.create(task("a"), ""))).toMatchObject({
        code: "CONFLICT",
        details: { key: "a" },
      });
      expect(await other.jobs.get("a")).toEqual({ ...created });
      expect((await other.jobs.list()).map(({ id }) => id)).toEqual(["a"]);
      expect([one.jobs.localOf("a"), other.jobs.localOf("a")]).toEqual(["local", undefined]);
      expect(await one.jobs.get("b")).toBeUndefined();
    });

    verifies(
      "J1",
      "are no more than the limit: the oldest that ended go first, and where none has it is refused",
      async () => {
        const one = await process({ limit: 2 });
        const [first] = [await one.jobs.create(task("a"), ""), await one.jobs.create(task("b"), "")];
        const full = await failure(one.jobs.create(task("c"), ""));
        expect(full).toMatchObject({ code: "LIMIT_EXCEEDED", details: { limit: "tasks", max: 2 } });
        expect(full.message).toBe("2 tasks are there already.");
        await one.jobs.complete(first, "done");
        await one.jobs.create(task("c"), "");
        expect((await one.jobs.list()).map(({ id }) => id)).toEqual(["b", "c"]);
      },
    );

    verifies("J1", "are claimed by one of many, and by nobody else until that one has ended them", async () => {
      const [one, other] = await two();
      await one.jobs.create(task("a"), "");
      const found = await Promise.all([one, other, one, other].map(({ jobs }) => jobs.get("a")));
      const claims = await Promise.all(
        found.map((job, index) => job && [one, other][index % 2]?.jobs.claim(job, { status: "running" })),
      );
      const [claim, ...none] = claims.filter((each) => each !== undefined);
      expect(none).toEqual([]);
      expect(await stored("a")).toMatchObject({ status: "running", lease: { lastsMs: leaseMs } });
      for (const { jobs } of [one, other]) {
        const job = await jobs.get("a");
        expect(job && (await jobs.claim(job, { status: "running" }))).toBeUndefined();
      }
      expect(await claim?.complete("paid")).toMatchObject({ status: "done", result: "paid" });
      const ended = await other.jobs.get("a");
      expect(ended).toMatchObject({ status: "done", result: "paid", settledAt: expect.any(Number) });
      expect(ended?.lease).toBeUndefined();
      expect(ended && (await other.jobs.claim(ended, {}))).toBeUndefined();
    });

    verifies("J1", "end completed, failed or cancelled; are known for a while after, or deleted at once", async () => {
      const one = await process();
      const { jobs, clock } = one;
      const make = (id: string, fields = {}) => jobs.create(task(id, fields), "local");
      await jobs.complete(await make("a"), "paid");
      await jobs.fail(await make("b"), new Error("no funds"));
      await jobs.cancel(await make("c"), { status: "cancelled", note: "never mind" });
      await make("d");
      await (await claimed(one, "d")).fail(new Error("worse"));
      expect(await jobs.list()).toMatchObject([
        { status: "done", result: "paid" },
        { status: "failed", result: "no funds" },
        { status: "cancelled", note: "never mind" },
        { status: "failed", result: "worse" },
      ]);
      expect(jobs.localOf("a")).toBeUndefined();
      expect(await jobs.complete(await make("e", { isFleeting: true }), "gone")).toMatchObject({ result: "gone" });
      expect(await jobs.get("e")).toBeUndefined();
      await clock.advance(keepMs);
      await expect.poll(() => jobs.list()).toEqual([]);
      expect(clock.timers).toBe(0);
    });

    verifies(
      ["J1", "H2"],
      "keep their lease, which is extended well before it ends, for as long as they are held",
      async () => {
        const one = await process();
        const { clock } = one;
        await one.jobs.create(task("a"), "");
        const claim = await claimed(one, "a");
        const first = claim.job.lease?.until ?? 0;
        expect(first).toBe(clock.now() + leaseMs);
        for (let count = 1; count <= 10; count++) {
          await clock.advance(leaseMs / 3);
          await expect.poll(() => claim.job.lease?.until).toBe(first + count * 10_000);
          expect((await stored("a"))?.lease).toEqual(claim.job.lease);
        }
        await expect.poll(() => claim.job.version).toBe(await versionOf("a"));
        const ended = await claim.complete("done");
        await clock.advance(100_000);
        expect([await versionOf("a"), claim.lost.aborted]).toEqual([ended?.version, false]);
        one.close();
        expect(clock.timers).toBe(0);
      },
    );

    verifies(["J1", "H2"], "are lost to their holder at once where another has changed the record", async () => {
      const [one, other] = await two();
      await one.jobs.create(task("a"), "");
      const claim = await claimed(one, "a");
      const record = await stored("a");
      await side.store.put({ ...keyOf("a"), value: { ...record, lease: { ...record?.lease, holder: "another" } } });
      await expect.poll(() => claim.lost.aborted).toBe(true);
      expect(claim.lost.reason).toMatchObject({
        code: "CONFLICT",
        message: expect.stringContaining("another holder has it"),
      });
      const version = await versionOf("a");
      expect(await Promise.all([claim.complete("paid"), claim.fail("x"), claim.release()])).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
      await one.clock.advance(leaseMs / 3);
      expect(await versionOf("a")).toBe(version);
      expect((await other.jobs.get("a"))?.lease?.holder).toBe("another");
    });

    verifies(["J1", "H2"], "are lost when the lease is over while the store fails, and not before", async () => {
      const one = await process();
      await one.jobs.create(task("a"), "");
      const claim = await claimed(one, "a");
      one.store.fail();
      await one.clock.advance(20_000);
      expect(claim.lost.aborted).toBe(false);
      await one.clock.advance(10_000);
      expect(claim.lost.aborted).toBe(true);
      one.store.recover();
      await one.jobs.create(task("b"), "");
      const second = await claimed(one, "b");
      one.store.fail();
      await one.clock.advance(20_000);
      one.store.recover();
      await extended("b", 60_000, one);
      expect(second.lost.aborted).toBe(false);
      expect(await second.complete("done")).toMatchObject({ status: "done" });
    });

    verifies("J1", "are lost when the lease is over while the store does not answer", async () => {
      const one = await process();
      await one.jobs.create(task("a"), "");
      const claim = await claimed(one, "a");
      const answered = Promise.withResolvers<void>();
      const { put } = one.store.store;
      one.store.store.put = async (draft, options) => {
        await answered.promise;
        return put(draft, options);
      };
      await one.clock.advance(leaseMs - 1);
      expect(claim.lost.aborted).toBe(false);
      await one.clock.advance(1);
      expect(claim.lost.aborted).toBe(true);
      answered.resolve();
      expect(await claim.complete("late")).toBeUndefined();
    });

    verifies("J1", "end after what is being written of their lease", async () => {
      const one = await process();
      await one.jobs.create(task("a"), "");
      const claim = await claimed(one, "a");
      const writing = Promise.withResolvers<void>();
      const { put } = one.store.store;
      const order: string[] = [];
      one.store.store.put = async (draft, options) => {
        order.push((draft.value as TaskJob).status);
        if (order.length === 1) await writing.promise;
        return put(draft, options);
      };
      await one.clock.advance(leaseMs / 3);
      const ending = claim.complete("done");
      await one.clock.advance(0);
      expect(order).toEqual(["running"]);
      writing.resolve();
      expect(await ending).toMatchObject({ status: "done" });
      expect(order).toEqual(["running", "done"]);
      one.close();
      expect(one.clock.timers).toBe(0);
    });

    verifies("J1", "stay with their holder where something else of them is changed meanwhile", async () => {
      const [one, other] = await two();
      await one.jobs.create(task("a"), "");
      const claim = await claimed(one, "a");
      const job = await other.jobs.get("a");
      expect(job && (await other.jobs.update(job, { note: "awaited" }))).toMatchObject({ note: "awaited" });
      await extended("a", 10_000, one);
      expect(await claim.complete("done")).toMatchObject({ status: "done", note: "awaited" });
    });

    verifies("J1", "are not lost to a holder that stood still, and from which nobody took them", async () => {
      const one = await process();
      await one.jobs.create(task("a"), "");
      const claim = await claimed(one, "a");
      one.clock.stall(2 * leaseMs);
      expect((await one.jobs.get("a"))?.status).toBe("running");
      await extended("a", leaseMs, one);
      expect([claim.lost.aborted, (await claim.complete("done"))?.status]).toEqual([false, "done"]);
    });

    verifies(
      "J1",
      "of a holder that is gone are lost when no sign of life was seen for the time of a lease",
      async () => {
        const [one, other] = await two();
        await one.jobs.create(task("a"), "");
        const gone = await claimed(one, "a");
        expect((await other.jobs.get("a"))?.status).toBe("running");
        await other.clock.advance(leaseMs - 1);
        expect((await other.jobs.get("a"))?.status).toBe("running");
        await other.clock.advance(1);
        await becomes("a", "lost");
        await expect.poll(() => gone.lost.aborted).toBe(true);
        expect(await gone.complete("late")).toBeUndefined();
        expect(await stored("a")).toMatchObject({ status: "lost" });
      },
    );

    verifies(
      "J1",
      "that may be repeated are done again by one of those that can, and lost once they have expired",
      async () => {
        const repeated: string[] = [];
        const expiresAt = 1_000_000 + 10 * minute;
        const one = await process();
        const idle = await process();
        const again = await process({
          repeat: async (job) => {
            const claim = await again.jobs.claim(job, { note: "again" });
            if (claim !== undefined) repeated.push(job.id);
            return true;
          },
        });
        const known = async (id: string) => {
          for (const { jobs } of [idle, again]) await jobs.get(id);
        };
        for (const id of ["a", "b"]) {
          await one.jobs.create(task(id, { isRepeatable: true, expiresAt }), "");
          await known(id);
          await claimed(one, id);
          await known(id);
        }
        await idle.clock.advance(2 * leaseMs);
        expect((await idle.jobs.get("a"))?.status).toBe("running");
        await again.clock.advance(leaseMs);
        await expect.poll(() => repeated.sort()).toEqual(["a", "b"]);
        expect(await stored("a")).toMatchObject({ status: "running", note: "again" });
        // The second holder is gone as well, and nobody who can do it is there.
        again.close();
        await expect.poll(async () => (await idle.jobs.get("a"))?.note).toBe("again");
        await idle.clock.advance(10 * minute);
        await becomes("a", "lost");
        expect(repeated).toEqual(["a", "b"]);
      },
    );

    verifies(
      "J1",
      "that a process finds claimed as it starts are lost to it by the clock only once that is beyond doubt",
      async () => {
        const one = await process();
        await one.jobs.create(task("a"), "");
        await claimed(one, "a");
        const soon = await process({ now: one.clock.now() + 2 * leaseMs });
        expect((await soon.jobs.get("a"))?.status).toBe("running");
        const late = await process({ now: one.clock.now() + 11 * leaseMs });
        expect((await late.jobs.get("a"))?.status).toBe("lost");
        await one.jobs.create(task("b"), "");
        await claimed(one, "b");
        await soon.jobs.get("b");
        await soon.clock.advance(leaseMs);
        await becomes("b", "lost");
      },
    );

    for (const [what, apart] of [
      ["ahead", 3_600_000],
      ["behind", -3_600_000],
    ] as const) {
      verifies(
        "J1",
        `are not taken from a holder that lives by a process whose clock is an hour ${what}, and are from one that does not`,
        async () => {
          const one = await process({ now: 10_000_000 });
          const other = await process({ now: 10_000_000 + apart });
          await one.jobs.create(task("a"), "");
          await other.jobs.get("a");
          const claim = await claimed(one, "a");
          for (let count = 0; count < 4; count++) {
            await extended("a", leaseMs / 3, one);
            await other.jobs.get("a");
            await other.clock.advance(leaseMs / 3);
            expect((await other.jobs.get("a"))?.status).toBe("running");
          }
          expect(claim.lost.aborted).toBe(false);
          await other.clock.advance(2 * leaseMs);
          await becomes("a", "lost");
        },
      );
    }

    verifies("J1", "are not taken from a holder before it could reach a store again that had been away", async () => {
      const [one, other] = await two();
      await one.jobs.create(task("a"), "");
      await claimed(one, "a");
      await other.jobs.get("a");
      other.store.fail();
      await other.clock.advance(2 * leaseMs);
      other.store.recover();
      expect((await other.jobs.get("a"))?.status).toBe("running");
      await other.clock.advance(leaseMs);
      await becomes("a", "lost");
    });

    verifies("J1", "are claimed at once after their holder let go, and wait again after it released them", async () => {
      const [one, other] = await two();
      await one.jobs.create(task("a"), "");
      await (await claimed(one, "a")).release({ status: "waiting", note: "later" });
      expect(await stored("a")).toMatchObject({ status: "waiting", note: "later" });
      expect((await stored("a"))?.lease).toBeUndefined();
      const second = await claimed(other, "a");
      await second.release();
      expect(await stored("a")).toMatchObject({ status: "running", note: "later" });
      const job = { ...(await stored("a")), ...task("a"), version: await versionOf("a") };
      expect(await one.jobs.claim({ ...job, lease: (await stored("a"))?.lease }, {})).toBeDefined();
    });

    verifies(
      "J1",
      "expire where nobody claims them in time, whoever looks, and are known or deleted then",
      async () => {
        const [one, other] = await two();
        const expiresAt = one.clock.now() + minute;
        await one.jobs.create(task("a", { expiresAt }), "");
        await one.jobs.create(task("b", { expiresAt, isFleeting: true }), "");
        const waiting = one.jobs.until("a", ({ settledAt }) => settledAt !== undefined, undefined);
        await expect.poll(() => one.clock.keptAlive).toBe(1);
        await one.clock.advance(minute);
        expect(await waiting).toMatchObject({ status: "expired" });
        expect(one.clock.keptAlive).toBe(0);
        await becomes("b", undefined);
        await one.jobs.create(task("c", { expiresAt: expiresAt + minute }), "");
        other.clock.stall(2 * minute);
        const late = await other.jobs.get("c");
        expect(late).toMatchObject({ status: "expired" });
        expect(late && (await other.jobs.claim(late, {}))).toBeUndefined();
      },
    );

    verifies("J1", "that others left behind expire when a process looks through all of them", async () => {
      const one = await process();
      await one.jobs.create(task("a", { expiresAt: one.clock.now() + minute }), "");
      const late = await process({ now: one.clock.now() + 2 * minute });
      await late.jobs.expire();
      expect(await stored("a")).toMatchObject({ status: "expired" });
    });

    verifies("J1", "are waited for until it is so, in whichever process that was done", async () => {
      const [one, other] = await two();
      const job = await one.jobs.create(task("a"), "");
      const isEnded = ({ settledAt }: TaskJob) => settledAt !== undefined;
      const waiting = [one, other].map(({ jobs }) => jobs.until("a", isEnded, undefined));
      const controller = new AbortController();
      const away = rejection(other.jobs.until("a", isEnded, controller.signal));
      controller.abort("enough");
      expect(await away).toBe("enough");
      await one.jobs.update(job, { note: "on its way" });
      await (await claimed(one, "a")).complete("paid");
      const ended = await Promise.all(waiting);
      expect(ended.map((each) => each?.result)).toEqual(["paid", "paid"]);
      expect(await other.jobs.until("x", isEnded, undefined)).toBeUndefined();
      await one.jobs.create(task("b"), "");
      const closed = failure(other.jobs.until("b", isEnded, undefined));
      await other.jobs.get("b");
      other.close();
      expect((await closed).code).toBe("CLOSED");
      expect((await failure(other.jobs.until("b", isEnded, undefined))).code).toBe("CLOSED");
      expect(other.clock.timers).toBe(0);
    });

    verifies(["J1", "S3"], "that cannot be read say what is wrong, hide no other, and can be deleted", async () => {
      const one = await process();
      for (const id of ["a", "b"]) await one.jobs.create(task(id), "");
      for (const [value, why] of [
        [{ ...(await stored("a")), status: "asleep" }, "its status"],
        [{ ...(await stored("a")), lease: { until: "soon" } }, "its lease"],
        [{ ...(await stored("a")), session: {} }, "its session"],
        ["torn", "no object"],
      ] as const) {
        await side.store.put({ ...keyOf("a"), value });
        const error = await failure(one.jobs.get("a"));
        expect(error).toMatchObject({ code: "STORE_FAILED", details: { operation: "get" } });
        expect(error.message).toMatch(new RegExp(`a task "a" that cannot be read: .*${why}.* Delete a.`));
      }
      expect((await one.jobs.list()).map(({ id }) => id)).toEqual(["b"]);
      expect(one.logged.join()).toContain('a task "a" that cannot be read');
      expect(await one.jobs.deleteUnreadable("b")).toBe(false);
      expect(await one.jobs.deleteUnreadable("a")).toBe(true);
      expect([await stored("a"), (await stored("b"))?.status]).toEqual([undefined, "waiting"]);
    });

    verifies("J1", "that end while the store fails end when it is there again", async () => {
      const [one, other] = await two();
      await one.jobs.create(task("a"), "");
      const claim = await claimed(one, "a");
      one.store.fail();
      expect(await failure(claim.complete("paid"))).toMatchObject({ code: "STORE_FAILED" });
      await one.clock.advance(10_000);
      expect((await other.jobs.get("a"))?.status).toBe("running");
      one.store.recoverSilently();
      await one.clock.advance(1_000);
      await becomes("a", "done");
      expect(await other.jobs.get("a")).toMatchObject({ result: "paid" });
      await expect.poll(() => one.logged.join()).toContain("is in the store now");
    });

    verifies(
      "J1",
      "that end while the store fails, and are lost to others by then, stay as those made them",
      async () => {
        const [one, other] = await two();
        await one.jobs.create(task("a"), "");
        const claim = await claimed(one, "a");
        await other.jobs.get("a");
        one.store.fail();
        await failure(claim.complete("paid"));
        await other.clock.advance(leaseMs);
        await becomes("a", "lost");
        one.store.recoverSilently();
        await one.clock.advance(leaseMs);
        await Promise.all(one.held);
        expect(await stored("a")).toMatchObject({ status: "lost" });
      },
    );

    verifies("J1", "that end while the store fails hold up no toolkit that closes", async () => {
      const one = await process();
      await one.jobs.create(task("a"), "");
      const claim = await claimed(one, "a");
      one.store.fail();
      await failure(claim.complete("paid"));
      one.close();
      await Promise.all(one.held);
      expect(one.clock.timers).toBe(0);
    });

    verifies("J1", "whose write was done though the store said that it failed stay with their holder", async () => {
      const one = await process();
      await one.jobs.create(task("a"), "");
      const claim = await claimed(one, "a");
      const { put } = one.store.store;
      let isAmbiguous = true;
      one.store.store.put = async (draft, options) => {
        const done = await put(draft, options);
        if (isAmbiguous) throw new ToolkitError("STORE_FAILED", "No answer.", { operation: "put" });
        return done;
      };
      await one.clock.advance(leaseMs / 3);
      isAmbiguous = false;
      await extended("a", leaseMs, one);
      expect(claim.lost.aborted).toBe(false);
      expect(await claim.complete("done")).toMatchObject({ status: "done" });
    });

    test("that are due while the store fails are looked at again a minute later", async () => {
      const one = await process();
      await one.jobs.create(task("a", { expiresAt: one.clock.now() + minute }), "");
      one.store.fail();
      await one.clock.advance(minute);
      expect(one.logged.join()).toContain("The store of tasks failed");
      one.store.recoverSilently();
      await one.clock.advance(minute);
      await becomes("a", "expired");
    });
  });
}
