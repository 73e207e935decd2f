/** Checks and runs prompts: the command of prompt authors. */

import { messageOf, ToolkitError } from "../src/core/error.ts";
import { parseCommand, UsageError, usage } from "./prompt/command.ts";
import { lint } from "./prompt/lint.ts";
import { run } from "./prompt/run.ts";

const stop = new AbortController();
process.once("SIGINT", () => stop.abort(new Error("Stopped.")));

try {
  const command = parseCommand(process.argv.slice(2));
  if (command.name === "help") process.stdout.write(usage);
  else if (command.name === "lint") process.exitCode = await lint(command, stop.signal);
  else process.exitCode = await run(command, stop.signal);
} catch (error) {
  const isNoFile = ToolkitError.is(error, "NOT_FOUND") && process.argv.includes(error.details.key);
  const advice = error instanceof UsageError ? "\nSee `npm run prompt -- --help`." : "";
  process.stderr.write(`${messageOf(error)}${advice}\n`);
  process.exitCode = error instanceof UsageError || isNoFile ? 2 : 1;
}
