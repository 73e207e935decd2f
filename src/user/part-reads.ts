import type { HeadRequest, PersonalHead } from "../catalog/deferred-items.ts";
import { refOf } from "../core/entry.ts";
import { userNamespace } from "../core/identifier.ts";
import type { Named } from "../core/rule-names.ts";
import type { StoredRecord } from "../core/store.ts";
import type { Clock } from "../lib/clock.ts";
import { FirstAttempt } from "../lib/first-attempt.ts";
import { changeOf, type ItemChange } from "./item-changes.ts";
import { type ItemKey, idOf, isPartialKey, type UserCollection } from "./item-key.ts";
import { resourceValue } from "./stored-item.ts";
import type { UserItems } from "./user-items.ts";
import type { UserRecords } from "./user-records.ts";

/** A page that ends later reads all items, and so does one after so many: those of an owner who is read so often are worth their memory. */
const farthest = 1_000;
const mostPages = 20;

/** The keys of partials begin with `_`: all that are between these two. */
const partials = { after: "^\u{10ffff}", before: "`" } as const;
const lastPartial = "_\u{10ffff}";

/** The parts that reads of an owner work with. */
export interface PartReadsHost {
  readonly records: UserRecords;
  readonly items: UserItems;
  readonly clock: Clock;
  readonly startTimeoutMs: number;
  readonly signal: AbortSignal;
  /** Keeps the owner in memory until the returned function is called. */
  pin(): () => void;
  /** Watches the store: what is read afterwards misses no change. */
  watch(): void;
  /** Called once the items that were read are in memory. */
  read(): void;
  /** No answer came in time. */
  miss(error: Error): void;
  /** All items are read, since a part could not be: a list distinguishes a record that cannot be read from a store that fails. */
  load(): Promise<void>;
  /** A read has ended, whatever became of it. */
  ended(): void;
}

/** An item of a page, of which nothing is in memory yet. */
interface HeadItem extends Named {
  readonly record: StoredRecord;
}

/** Reads of a part of the items of an owner: of one that is looked up, or of those on a page. */
export class PartReads {
  readonly #host: PartReadsHost;
  /** By id. */
  readonly #running = new Map<string, Promise<void>>();
  #pages = 0;

  constructor(host: PartReadsHost) {
    this.#host = host;
  }

  get isRunning(): boolean {
    return this.#running.size > 0;
  }

  /** Reads one item, and the partials that it uses. It never rejects. */
  item(item: ItemKey): Promise<void> {
    return this.#run(idOf(item), async () => this.#show([await this.#host.records.read({ ...item, version: 0 })]));
  }

  /** Reads the first items by ref, and makes those that are chosen. False where all items are needed instead. It never rejects. */
  async head({ kinds, end, choose }: HeadRequest): Promise<boolean> {
    if (end > farthest || this.#pages >= mostPages || !this.#host.records.areCounted) return false;
    this.#pages += 1;
    let isRead = false;
    await this.#run(`page ${this.#pages}`, async () => {
      const prompts = kinds.includes("prompt") ? await this.#prompts(end) : { count: 0, items: [] };
      const resources = kinds.includes("resource") ? await this.#resources() : { count: 0, items: [] };
      if (prompts === undefined || resources === undefined) return;
      const records = new Map([...prompts.items, ...resources.items].map((item) => [item.ref, item.record]));
      const chosen = choose({ prompt: prompts, resource: resources }).map(({ ref }) => records.get(ref));
      await this.#show(chosen.filter((record) => record !== undefined).map(changeOf));
      isRead = true;
    });
    return isRead;
  }

  /** The first prompts; undefined where a record cannot be read, which is a failure of a whole list. */
  async #prompts(end: number): Promise<PersonalHead<HeadItem> | undefined> {
    const { records } = this.#host;
    const all = await records.count("prompt");
    const count = all === 0 ? 0 : all - (await records.count("prompt", partials));
    const items: HeadItem[] = [];
    for (let after: string | undefined; items.length < Math.min(end, count); ) {
      const limit = end - items.length;
      const list = await records.list("prompt", { after, limit });
      if (list.failures.length > 0) return undefined;
      items.push(...list.records.filter(({ key }) => !isPartialKey(key)).map((record) => headItem("prompt", record)));
      const last = list.records.at(-1)?.key;
      if (last === undefined || list.records.length < limit) break;
      after = isPartialKey(last) ? lastPartial : last;
    }
    return { count, items };
  }

  /** All resources, whose order by ref is not that of their keys; undefined where they are too many. */
  async #resources(): Promise<PersonalHead<HeadItem> | undefined> {
    const { records } = this.#host;
    const count = await records.count("resource");
    if (count === 0) return { count, items: [] };
    if (count > farthest) return undefined;
    const list = await records.list("resource");
    if (list.failures.length > 0) return undefined;
    return { count: list.records.length, items: list.records.map((record) => headItem("resource", record)) };
  }

  async #show(found: readonly ItemChange[]): Promise<void> {
    const { records, items, signal } = this.#host;
    const changes = [...found, ...(await records.partialsOf(found, items))];
    if (signal.aborted) return;
    items.preview(changes);
    this.#host.read();
  }

  #run(id: string, read: () => Promise<void>): Promise<void> {
    const running = this.#running.get(id);
    if (running !== undefined) return running;
    const { clock, startTimeoutMs, signal } = this.#host;
    const attempt = new FirstAttempt();
    attempt.limit(clock, startTimeoutMs, () => this.#host.miss(new Error(`no answer within ${startTimeoutMs} ms`)));
    const unpin = this.#host.pin();
    const reading = attempt.pending ?? Promise.resolve();
    this.#running.set(id, reading);
    const work = async () => {
      try {
        this.#host.watch();
        await read();
      } catch {
        if (!signal.aborted) await this.#host.load();
      }
    };
    void work().finally(() => {
      attempt.settle();
      this.#running.delete(id);
      this.#host.ended();
      setImmediate(unpin);
    });
    return reading;
  }
}

function headItem(kind: UserCollection, record: StoredRecord): HeadItem {
  const name = kind === "prompt" ? record.key : resourceValue(record).name;
  return { kind, namespace: userNamespace, name, ref: refOf(kind, userNamespace, record.key), record };
}
