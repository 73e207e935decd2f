import { type ChildProcess, spawn as spawnChild } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";

import { OrphanGuard } from "./orphan-guard.ts";

const windows = process.platform === "win32";

// Between the end of stdin and TERM; most servers leave by themselves.
const leaveMs = 500;
const termMs = 2_000;
const pollMs = 20;

/** The groups that are running. If this process exits, they end with it. */
const running = new Set<number>();

/** If this process is killed, they end soon after it. */
const guard = new OrphanGuard();

function killAll(): void {
  for (const pid of running) signalGroup(pid, "SIGKILL");
  guard.kill();
}

/**
 * Starts a child that leads its own process group, and remembers it, so that it does not outlive this process. The guard starts first:
 * in the milliseconds of its start, after that of the child, a kill of this process would leave the child behind.
 */
export function startGroup<C extends ChildProcess>(spawnLeader: () => C): C {
  guard.start(running);
  try {
    const child = spawnLeader();
    if (child.pid !== undefined) adopt(child.pid);
    return child;
  } finally {
    if (running.size === 0) guard.stop();
  }
}

function adopt(pid: number): void {
  if (running.size === 0) process.on("exit", killAll);
  guard.add(pid);
  running.add(pid);
}

function release(pid: number): void {
  running.delete(pid);
  guard.remove(pid);
  if (running.size > 0) return;
  process.off("exit", killAll);
  guard.stop();
}

/**
 * Ends a child and every process of its group: waits shortly for it to leave, since its stdin has ended, then TERM, and KILL two
 * seconds later. Resolves when nothing of the group is left, or nothing more can be done.
 */
export async function endGroup(child: ChildProcess): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return;
  await exited(child, leaveMs);
  if (await gone(pid, child, 0)) return release(pid);
  signalGroup(pid, "SIGTERM");
  if (!(await gone(pid, child, termMs))) {
    signalGroup(pid, "SIGKILL");
    await gone(pid, child, 500);
  }
  release(pid);
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function exited(child: ChildProcess, timeoutMs: number): Promise<void> {
  if (hasExited(child)) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      child.off("exit", done);
      resolve();
    };
    const timer = setTimeout(done, timeoutMs);
    child.on("exit", done);
  });
}

async function gone(pid: number, child: ChildProcess, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!(hasExited(child) && !groupExists(pid))) {
    if (performance.now() >= deadline) return false;
    await delay(pollMs);
  }
  return true;
}

function groupExists(pid: number): boolean {
  if (windows) return false;
  try {
    process.kill(-pid, 0);
    return true;
  } catch (error) {
    // EPERM: it exists and is not ours to signal.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function signalGroup(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  if (windows) {
    // Windows has no groups: taskkill walks the tree. /F, for console programs hear nothing else.
    spawnChild("taskkill", ["/PID", String(pid), "/T", "/F"], { stdio: "ignore", windowsHide: true }).on(
      "error",
      () => {},
    );
    return;
  }
  try {
    process.kill(-pid, signal);
  } catch {
    // It is gone already.
  }
}
