#!/usr/bin/env node
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
const terminal = new Terminal({ stdin, stdout, stderr, env, cwd: process.cwd() });
process.exitCode = await runCommand(process.argv.slice(2), terminal, stop.signal);
