/**
 * A process that works on jobs which others share. Each line of its input is a number, a verb and its words; each answer is the number and
 * what became of it. What it does it writes down in a journal: `began ID`, `ended ID`, `cut ID`. On its command line it has a JSON.
 */
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { ToolkitError } from "../../src/core/error.ts";
import type { PutOptions, RecordDraft, Store } from "../../src/core/store.ts";
import type { Claim } from "../../src/jobs/claim.ts";
import { Jobs } from "../../src/jobs/jobs.ts";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { Child } from "./child.ts";
import { FailingStore } from "./failing-store.ts";
import { makeStore, type StoreMaker } from "./store-maker.ts";
import { type TaskJob, task, taskType } from "./task-jobs.ts";

/** When it ends, as a power cut would end it: as it writes so of two jobs, before the store has that or after. */
export interface Crash {
  readonly when: "before" | "after";
  readonly what: "claim" | "extend" | "end";
}

/** The options of one. */
export interface WorkerTask extends StoreMaker {
  readonly journal: string;
  readonly leaseMs: number;
  /** By so much its clock goes ahead of the machine's. */
  readonly aheadMs?: number | undefined;
  readonly crash?: Crash | undefined;
}

/** One, in the hands of a test. */
export class Worker implements AsyncDisposable {
  readonly #child: Child;
  #asked = 0;

  constructor(given: WorkerTask) {
    this.#child = new Child(new URL("job-worker.ts", import.meta.url), JSON.stringify(given));
  }

  /**
   * - `create ID [repeatable] [MS]`: it expires after so long
   * - `work ID [MS]`: claims it, works for so long, and completes it; `hang` never ends, `fail` fails it
   * - `until ID`: waits until it has ended; `status ID`; `cancel ID`
   * - `down`: its store fails; `vague`: it does what it is asked, and says that it failed; `up`: it works again
   */
  async does(command: string): Promise<string> {
    this.#asked += 1;
    const prefix = `${this.#asked} `;
    this.#child.tell(`${prefix}${command}`);
    return (await this.#child.said(prefix)).slice(prefix.length);
  }

  /** Resolves when it is ready. */
  async ready(): Promise<this> {
    await this.#child.said("ready");
    return this;
  }

  /** Resolves when it has ended. */
  ended(): Promise<void> {
    return this.#child.ended();
  }

  kill(): Promise<void> {
    return this.#child.kill();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}

/** The store of a process that ends when two jobs have come to a point: the first stays there, and is not answered. */
function crashing(store: Store, crash: Crash | undefined): Store {
  if (crash === undefined) return store;
  const holders = new Set<string>();
  let isFirst = true;
  const stop = () => {
    if (!isFirst) process.kill(process.pid, "SIGKILL");
    isFirst = false;
    return new Promise<never>(() => undefined);
  };
  const kindOf = ({ value }: RecordDraft): string | undefined => {
    const { lease, settledAt } = value as TaskJob;
    if (settledAt !== undefined) return "end";
    if (lease === undefined) return undefined;
    const kind = holders.has(lease.holder) ? "extend" : "claim";
    holders.add(lease.holder);
    return kind;
  };
  const put = async (draft: RecordDraft, options?: PutOptions) => {
    const isThere = kindOf(draft) === crash.what;
    if (isThere && crash.when === "before") return stop();
    const stored = await store.put(draft, options);
    return isThere ? stop() : stored;
  };
  return Object.assign(Object.create(store), {
    put,
    get: store.get.bind(store),
    list: store.list.bind(store),
    delete: store.delete.bind(store),
    watch: store.watch.bind(store),
    close: store.close.bind(store),
  });
}

async function serve({ journal, leaseMs, aheadMs = 0, crash, ...maker }: WorkerTask): Promise<void> {
  const note = (what: string, id: string) => appendFileSync(journal, `${what} ${id}\n`);
  const store = new FailingStore(crashing(await makeStore(maker), crash));
  const { put } = store.store;
  let isVague = false;
  store.store.put = async (draft, given) => {
    const stored = await put(draft, given);
    if (isVague) throw new ToolkitError("STORE_FAILED", "No answer came.", { operation: "put" });
    return stored;
  };
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
  const quiet = () => undefined;
  const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  const closing = new AbortController().signal;
  const options = { store: store.store, clock, logger, closing, leaseMs, limit: 10_000, hold: quiet };
  const worked = async (claim: Claim<TaskJob, string>, work: string): Promise<string> => {
    const { id } = claim.job;
    note("began", id);
    claim.lost.addEventListener("abort", () => note("cut", id));
    if (work === "hang") await new Promise(() => undefined);
    const isFailing = work === "fail";
    await delay(isFailing ? 0 : Number(work));
    note("ended", id);
    const ended = await (isFailing ? claim.fail(new Error("failed")) : claim.complete(`by ${process.pid}`));
    return ended?.status ?? "lost";
  };
  const jobs: Jobs<TaskJob, string, undefined> = new Jobs(taskType, {
    ...options,
    repeat: async (job) => {
      const claim = await jobs.claim(job, {});
      if (claim !== undefined) void worked(claim, "0").catch(quiet);
      return claim !== undefined;
    },
  });
  const verbs: Readonly<Record<string, (id: string, ...words: string[]) => Promise<string | undefined>>> = {
    create: async (id, ...words) => {
      const isRepeatable = words.includes("repeatable") ? { isRepeatable: true as const } : {};
      const ttl = words.map(Number).find((ms) => ms > 0);
      const expiry = ttl === undefined ? {} : { expiresAt: clock.now() + ttl };
      return (await jobs.create(task(id, { ...isRepeatable, ...expiry }), undefined)).status;
    },
    work: async (id, work = "0") => {
      const job = await jobs.get(id);
      const claim = job?.status === "waiting" ? await jobs.claim(job, { status: "running" }) : undefined;
      return claim === undefined ? "none" : worked(claim, work);
    },
    cancel: async (id) => {
      const job = await jobs.get(id);
      const cancelled = job?.status === "waiting" ? await jobs.cancel(job, { status: "cancelled" }) : undefined;
      return cancelled?.status ?? "none";
    },
    until: async (id) => (await jobs.until(id, ({ settledAt }) => settledAt !== undefined, undefined))?.status,
    status: async (id) => (await jobs.get(id))?.status,
    down: async () => store.fail() as undefined,
    vague: async () => {
      isVague = true;
      return undefined;
    },
    up: async () => {
      isVague = false;
      store.recover();
      return undefined;
    },
  };
  await jobs.expire();
  process.stdout.write("ready\n");
  for await (const line of createInterface(process.stdin)) {
    const [number = "", verb = "", id = "", ...words] = line.split(" ");
    verbs[verb]?.(id, ...words).then(
      (answer) => process.stdout.write(`${number} ${answer}\n`),
      (error) => process.stdout.write(`${number} ${ToolkitError.is(error) ? error.code : error}\n`),
    );
  }
}

if (process.argv[1] === import.meta.filename) await serve(JSON.parse(process.argv[2] ?? ""));
