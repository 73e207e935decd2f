import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";

const everyMs = 20;
/** A timer is so late on a quiet machine too. */
const usualMs = 5;
/** Nothing that is judged began longer ago. */
const rememberedMs = 60_000;

/** The sums up to a time. */
interface Mark {
  readonly at: number;
  readonly lateMs: number;
  readonly stalledMs: number;
}

/**
 * The delay of this process's loop, and the part of it in which the machine stalled it: time in which its thread was due and did not
 * have the processor. What the program itself computes is no stall, and no excuse.
 */
export class Stalls implements Disposable {
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: everyMs });
  readonly #timer: NodeJS.Timeout;
  readonly #marks: Mark[] = [{ at: Number.NEGATIVE_INFINITY, lateMs: 0, stalledMs: 0 }];
  #at = performance.now();
  #usedMs = usedMs();
  #lateMs = 0;
  #stalledMs = 0;
  #worstMs = 0;
  /** Time limits that were extended, and passed only so. */
  stretched = 0;
  /** A measurement that does not count, since the machine stalled meanwhile. */
  voided = 0;

  constructor() {
    this.#delay.enable();
    this.#timer = setInterval(() => this.#look(), everyMs).unref();
  }

  /** Its delay since a time of `performance.now()`. */
  lateSince(at: number): number {
    this.#look();
    return this.#lateMs - (this.#before(at)?.lateMs ?? 0);
  }

  /** The time for which the machine stalled it since then. */
  stalledSince(at: number): number {
    this.#look();
    return this.#stalledMs - (this.#before(at)?.stalledMs ?? 0);
  }

  /** By how much a limit is extended that began then: this process was late, and the processes of servers were stalled as long as it was. */
  extensionSince(at: number): number {
    return this.lateSince(at) + this.stalledSince(at);
  }

  /** A sentence about it. */
  get summary(): string {
    const delayMs = (this.#delay.percentile(99) / 1e6 - everyMs).toFixed(0);
    return (
      `the machine stalled it for ${(this.#stalledMs / 1_000).toFixed(1)} s (${Math.round(this.#worstMs)} ms at once, ` +
      `delay of the loop p99 ${delayMs} ms): ${this.stretched} limits stretched, ${this.voided} measurements void`
    );
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#delay.disable();
  }

  #look(): void {
    const now = performance.now();
    const elapsedMs = now - this.#at;
    const lateMs = elapsedMs - everyMs;
    if (lateMs < 0) return;
    const used = usedMs();
    if (lateMs > usualMs) {
      const stalledMs = Math.max(0, Math.min(lateMs, elapsedMs - (used - this.#usedMs)));
      this.#lateMs += lateMs;
      this.#stalledMs += stalledMs;
      this.#worstMs = Math.max(this.#worstMs, stalledMs);
      // One older one stays, to reckon from.
      const old = this.#marks.findLastIndex((mark) => mark.at < now - rememberedMs);
      if (old > 0) this.#marks.splice(0, old);
      this.#marks.push({ at: now, lateMs: this.#lateMs, stalledMs: this.#stalledMs });
    }
    this.#at = now;
    this.#usedMs = used;
  }

  /** The sums at that time; those of the oldest mark where it is longer ago. */
  #before(at: number): Mark | undefined {
    return this.#marks.findLast((mark) => mark.at <= at) ?? this.#marks[0];
  }
}

/** Processor time of this thread, in milliseconds; of the whole process before Node 23.9, which does not tell them apart. */
function usedMs(): number {
  const { threadCpuUsage = process.cpuUsage }: Partial<Pick<NodeJS.Process, "threadCpuUsage">> = process;
  const { user, system } = threadCpuUsage();
  return (user + system) / 1_000;
}
