import { randomUUID } from "node:crypto";
import { link, open, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

const retryMs = 25;
/** The owner of a lock touches it so often. */
const touchMs = 2_000;
/** The owner of a lock that was not touched for so long has ended without releasing it. */
const deadMs = 15_000;
const patienceMs = 60_000;

/**
 * Runs while no other process on this machine does so under the same lock, a file that is there as long.
 *
 * @throws whatever `run` throws; Error where the lock cannot be had within a minute, or the file not be made
 */
export async function withFileLock<T>(path: string, run: () => Promise<T>): Promise<T> {
  const owner = `${process.pid} ${randomUUID()}`;
  await acquire(path, owner);
  const touching = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => {});
  }, touchMs);
  touching.unref();
  try {
    return await run();
  } finally {
    clearInterval(touching);
    if ((await read(path)) === owner) await rm(path, { force: true });
  }
}

/** Writes a file: the old one or the new one is there, never a part of one. */
export async function replaceFile(path: string, text: string, mode: number): Promise<void> {
  const temporary = `${path}.${randomUUID()}.new`;
  try {
    const file = await open(temporary, "wx", mode);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function acquire(path: string, owner: string): Promise<void> {
  const end = Date.now() + patienceMs;
  while (!(await create(path, owner))) {
    if (Date.now() > end) throw new Error(`${path} is held by another process. If there is none, remove it.`);
    await breakDead(path);
    await delay(retryMs + Math.random() * retryMs);
  }
}

async function create(path: string, owner: string): Promise<boolean> {
  try {
    const file = await open(path, "wx", 0o600);
    await file.writeFile(owner).finally(() => file.close());
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Takes away the lock of a process that has ended. Of several who try it at once only one moves it. */
async function breakDead(path: string): Promise<void> {
  const owner = await read(path);
  const touched = await stat(path).catch(() => undefined);
  if (owner === undefined || touched === undefined || Date.now() - touched.mtimeMs < deadMs) return;
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
    // Another process was quicker, and this is the lock of its successor: it goes back.
    if ((await read(aside)) !== owner) await link(aside, path);
  } catch {
    // It is gone, or there is a new one: either way it is not dead any more.
  } finally {
    await rm(aside, { force: true });
  }
}

async function read(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch(() => undefined);
}
