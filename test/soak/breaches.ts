/** One promise that was broken. */
export interface Breach {
  /** From the start. */
  readonly atMs: number;
  /** Which connector; undefined where it is none. */
  readonly connector: string | undefined;
  readonly what: string;
}

/** A promise that was broken, when and where. It is said at once, so that a soak that hangs has said it. */
export class Breaches {
  readonly #seed: string;
  readonly #startedAt = performance.now();
  readonly #all: Breach[] = [];

  constructor(seed: string) {
    this.#seed = seed;
  }

  get all(): readonly Breach[] {
    return this.#all;
  }

  add(connector: string | undefined, what: string): void {
    const atMs = performance.now() - this.#startedAt;
    this.#all.push({ atMs, connector, what });
    const where = connector === undefined ? "" : `, ${connector}`;
    console.error(`BROKEN (seed ${this.#seed}, second ${(atMs / 1_000).toFixed(1)}${where}): ${what}`);
  }

  /** From now on, what this process itself says is broken is noted. */
  watchProcess(): void {
    process.on("unhandledRejection", (error) => this.add(undefined, `unhandled rejection: ${described(error)}`));
    process.on("uncaughtException", (error) => this.add(undefined, `uncaught exception: ${described(error)}`));
    process.on("warning", (warning) => this.add(undefined, `the process warns: ${described(warning)}`));
  }
}

function described(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
