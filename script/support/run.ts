import { spawn } from "node:child_process";
import { performance } from "node:perf_hooks";

/** The end of a child process. */
export interface RunResult {
  /** The text of stdout and stderr, in the order it came. */
  readonly output: string;
  /** Only what it wrote to stdout. */
  readonly stdout: string;
  /** Why it failed, for a sentence: an exit code, a signal, a time limit. Absent when it succeeded. */
  readonly failure?: string;
  readonly durationMs: number;
}

/** Where and how long a child process runs. */
export interface RunOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** After this it is killed, and what it started with it. */
  readonly timeoutMs?: number;
}

/** Runs a program to its end without a shell. A failure is told in the result, not thrown. */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const started = performance.now();
  const { timeoutMs = 120_000 } = options;
  return new Promise((resolve) => {
    // A group of its own, so that the time limit ends what the child started too. Windows has no groups.
    const detached = process.platform !== "win32";
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.env ?? process.env,
      detached,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    let stdout = "";
    let tooLong = false;
    const timer = setTimeout(() => {
      tooLong = true;
      kill();
    }, timeoutMs);
    const kill = (): void => {
      try {
        if (detached && child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
        else child.kill("SIGKILL");
      } catch {
        // It ended in between.
      }
    };
    process.once("exit", kill);
    const finish = (failure: string | undefined): void => {
      clearTimeout(timer);
      process.removeListener("exit", kill);
      const durationMs = performance.now() - started;
      resolve({ output, stdout, durationMs, ...(failure === undefined ? {} : { failure }) });
    };
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    child.once("error", (error) => finish(`could not start ${command}: ${error.message}`));
    child.once("close", (code, signal) => {
      if (tooLong) finish(`took longer than ${timeoutMs / 1000} s`);
      else if (signal !== null) finish(`was ended by ${signal}`);
      else finish(code === 0 ? undefined : `exited with ${code}`);
    });
  });
}

/** Seconds as a person reads them. */
export function seconds(durationMs: number): string {
  return `${(durationMs / 1000).toFixed(1)} s`;
}
