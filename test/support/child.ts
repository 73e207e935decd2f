import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A process that runs a file and says what it does, line by line. */
export class Child {
  readonly lines: string[] = [];
  readonly #process: ChildProcess;
  readonly #exit: Promise<unknown>;
  readonly #waiting = new Set<() => void>();
  #isOver = false;

  constructor(file: URL, ...args: readonly string[]) {
    this.#process = spawn(process.execPath, [fileURLToPath(file), ...args], { stdio: ["pipe", "pipe", "inherit"] });
    // Closed, and not merely ended: what it said is read to the end by then.
    this.#exit = once(this.#process, "close").then(() => {
      this.#isOver = true;
      this.#wake();
    });
    if (this.#process.stdout === null) throw new Error("It has no output.");
    createInterface(this.#process.stdout).on("line", (line) => {
      this.lines.push(line);
      this.#wake();
    });
  }

  /** Resolves to the first line that begins so, now or later. */
  async said(start: string): Promise<string> {
    await this.#until(() => this.lines.some((line) => line.startsWith(start)));
    return this.lines.find((line) => line.startsWith(start)) ?? "";
  }

  /** Resolves when it has said so many lines. */
  saidSo(many: number): Promise<void> {
    return this.#until(() => this.lines.length >= many);
  }

  /** Resolves when it has ended. */
  async ended(): Promise<void> {
    await this.#exit;
  }

  tell(line: string): void {
    this.#process.stdin?.write(`${line}\n`);
  }

  /** Ends it as a power cut would, in whatever it is doing. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#exit;
  }

  async #until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      if (this.#isOver) throw new Error(`It ended before, after ${this.lines.length} lines: ${this.lines.at(-1)}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
