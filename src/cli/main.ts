#!/usr/bin/env node
import { lstatSync, mkdirSync } from "node:fs";
import nodeModule from "node:module";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import process from "node:process";
import { exitCodes } from "./exit-code.ts";
import { runCommand } from "./program.ts";
import { Terminal } from "./terminal.ts";

// Node 22 warns of its SQLite on stderr, once a command: that is no news for the reader of a command.
const { emitWarning } = process;
process.emitWarning = (...args: readonly unknown[]) => {
  if (!String(args[0]).startsWith("SQLite is an experimental")) Reflect.apply(emitWarning, process, args);
};

const stop = new AbortController();
/** The first one lets the command end what it started; the second one ends the process. */
const interrupt = () => {
  if (stop.signal.aborted) process.exit(exitCodes.interrupted);
  stop.abort(new Error("Stopped."));
};
process.on("SIGINT", interrupt);
process.on("SIGTERM", interrupt);
// The reader of a pipe, such as `head`, may have had enough.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  stop.abort(new Error("Nothing reads the output."));
});

const { stdin, stdout, stderr, env } = process;
keepCompiled(env);
const terminal = new Terminal({ stdin, stdout, stderr, env, cwd: process.cwd() });
process.exitCode = await runCommand(process.argv.slice(2), terminal, stop.signal);

/**
 * Has Node keep what it compiles of the package, which is a quarter of the time that a command takes to load. The folder must be one that no other
 * user may write to, since what is kept in it is executed; without one each command compiles anew. `NODE_COMPILE_CACHE` and
 * `NODE_DISABLE_COMPILE_CACHE` go before it.
 */
function keepCompiled({ XDG_CACHE_HOME = "" }: NodeJS.ProcessEnv): void {
  // Sources change too often to be kept.
  if (!import.meta.filename.endsWith(".js")) return;
  try {
    const folder = join(isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(homedir(), ".cache"), "toolweave");
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const found = lstatSync(folder);
    const isOurs = found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
    // A folder of a user of Windows has no modes, and is closed to other users.
    if (isOurs || process.platform === "win32") nodeModule.enableCompileCache(join(folder, "compiled"));
  } catch {
    // There is no home, or it cannot be written to.
  }
}
