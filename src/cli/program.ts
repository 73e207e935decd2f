import { Command, CommanderError, Option } from "commander";
import { ToolkitError } from "../core/error.ts";
import { packageVersion } from "../lib/package.ts";
import { visibleLines } from "../lib/visible-text.ts";
import { collect, kindOf, milliseconds, startAhead } from "./command-options.ts";
import { errorText, exitCodeOf, exitCodes } from "./exit-code.ts";
import { addFileCommands, addTypesCommand, addWorkflowsCommand, type CommandAction, type On } from "./more-commands.ts";
import { Terminal } from "./terminal.ts";

/** Runs a command line. @returns the exit code: see `exitCodes`. It never rejects */
export async function runCommand(args: readonly string[], terminal: Terminal, signal: AbortSignal): Promise<number> {
  const state = { code: exitCodes.ok as number };
  const program = programOf(
    terminal,
    (code) => {
      state.code = code;
    },
    signal,
  );
  try {
    await program.parseAsync([...args], { from: "user" });
    return state.code;
  } catch (error) {
    terminal.clearStatus();
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    if (signal.aborted) return exitCodes.interrupted;
    report(error, args, terminal);
    return exitCodeOf(error);
  }
}

/** Says what went wrong: on stderr for people, as JSON where that was asked for. */
function report(error: unknown, args: readonly string[], terminal: Terminal): void {
  if (args.includes("--json") && ToolkitError.is(error)) {
    terminal.streams.stderr.write(`${JSON.stringify({ error })}\n`);
    return;
  }
  terminal.note(visibleLines(errorText(error)), "red");
  if (ToolkitError.is(error, "PENDING")) terminal.note(pendingHint);
}

const pendingHint =
  "Where the configuration has a store, `toolweave approvals` lists what waits, and `toolweave approve ID` runs it. " +
  "Without a store it is forgotten here: call again in a terminal, which asks you.";

/** The command with all of its subcommands. Their code is loaded when they run, so that the help is quick. */
function programOf(terminal: Terminal, end: (code: number) => void, signal: AbortSignal): Command {
  const program = new Command("toolweave")
    .description("Looks at, calls and serves the tools, prompts and resources of MCP servers, folders and files.")
    .version(packageVersion())
    .exitOverride()
    .showHelpAfterError("(run it with --help for its arguments and options)")
    .configureHelp({ showGlobalOptions: true, helpWidth: Number.isFinite(terminal.width) ? terminal.width : 100 })
    .configureOutput({
      writeOut: (text) => terminal.streams.stdout.write(text),
      writeErr: (text) => terminal.streams.stderr.write(text),
    })
    .option("-c, --config <file>", "the configuration (default: toolweave.yaml here or in a folder above)")
    .option("-s, --server <url or command>", "look at this server instead of a configuration; may be repeated", collect)
    .option("--env <NAME=VALUE>", "a variable for servers that are started; may be repeated", collect)
    .option("--header <name: value>", "a header for servers over HTTP; may be repeated", collect)
    .option("--json", "print results as JSON")
    .addOption(new Option("--timeout <ms>", "the longest time for a call, in milliseconds").argParser(milliseconds))
    .option("-v, --verbose", "print what happens to stderr")
    .addHelpText("after", helpEnd);
  const on =
    (action: CommandAction) =>
    async (...given: readonly unknown[]): Promise<void> => {
      const command = given.at(-1) as Command;
      end(await action(command.processedArgs.flat() as string[], command.optsWithGlobals()));
    };
  addCatalogCommands(program, on, terminal, signal);
  addOperatorCommands(program, on, terminal, signal);
  addWorkflowsCommand(program, on, terminal, signal);
  addTypesCommand(program, on, terminal, signal);
  addFileCommands(program, on, terminal, signal);
  return program;
}

/** The help of the command, and of each of its subcommands, for the docs. */
export function helpOf(): readonly { readonly name: string; readonly text: string }[] {
  const { signal } = new AbortController();
  const { stdin, stdout, stderr } = process;
  const program = programOf(new Terminal({ stdin, stdout, stderr, env: {}, cwd: "." }), () => undefined, signal);
  const shown = [program, ...program.commands.filter((each) => each.name() !== "complete")];
  return shown.map((command) => ({
    name: command === program ? "toolweave" : `toolweave ${command.name()}`,
    text: command.configureHelp({ ...program.configureHelp(), helpWidth: 100 }).helpInformation(),
  }));
}

const helpEnd = `
Exit codes: 0 ok, 1 failed, 2 used wrongly, 3 not found, 4 not reached, 5 the tool reported an error.

Examples:
  toolweave list --server 'npx -y @modelcontextprotocol/server-everything'
  toolweave call everything.echo message=hello
  toolweave status --watch`;

function addCatalogCommands(program: Command, on: On, terminal: Terminal, signal: AbortSignal): void {
  program
    .command("list")
    .description("list tools, prompts, resources and templates")
    .argument("[text]", "only those with this text in their name or description")
    .addOption(new Option("-k, --kind <kind>", "tool, prompt, resource or template").argParser(kindOf))
    .option("-n, --namespace <name>", "only those of a namespace")
    .option("--schema", "with the schemas of inputs and outputs")
    .action(
      on(async ([text], options) => {
        await using _ahead = await startAhead(options, terminal.streams.cwd);
        return await (await import("./commands/list-command.ts")).list(text, options, terminal, signal);
      }),
    );
  program
    .command("call")
    .description("call a tool")
    .argument("<tool>", "its name, such as files.read_file")
    .argument("[input...]", "name=value, name:=JSON, name=@FILE, one JSON object, or - for JSON from stdin")
    .option("-o, --output <file>", "write the result to a file")
    .action(
      on(async ([tool = "", ...input], options) =>
        (await import("./commands/call-command.ts")).call(tool, input, options, terminal, signal),
      ),
    );
  program
    .command("run")
    .description("run a prompt with a language model, and print the answer as it comes")
    .argument("<prompt>", "its name, or the path of a prompt file")
    .argument("[input...]", "as for call")
    .option("-m, --model <provider/name>", "the model to ask, or stand-in for a made-up answer")
    .option("-a, --attach <file>", "a file to go with the prompt; may be repeated", collect)
    .option("-o, --output <file>", "write the answer to a file")
    .option("--record <file>", "write a tape of the run, for replay")
    .action(
      on(async ([prompt = "", ...input], options) =>
        (await import("./commands/run-command.ts")).run(prompt, input, options, terminal, signal),
      ),
    );
  program
    .command("replay")
    .description("show what a tape has, and run its prompts again with the tape in place of tools and models")
    .argument("<tape>", "the file that --record wrote")
    .option("--list", "only show it")
    .option("-p, --prompt <file>", "a prompt file to run, beside those of the configuration; may be repeated", collect)
    .action(
      on(async ([tape = ""], options) =>
        (await import("./commands/replay-command.ts")).replay(tape, options, terminal, signal),
      ),
    );
  program
    .command("read")
    .description("read a resource")
    .argument("<uri>", "its URI or name")
    .option("-o, --output <file>", "write it to a file")
    .action(
      on(async ([uri = ""], options) =>
        (await import("./commands/call-command.ts")).read(uri, options, terminal, signal),
      ),
    );
  program
    .command("explain")
    .description("say what a name means, which rules apply to it, and why a call of it would fail")
    .argument("<name>")
    .action(
      on(async ([name = ""], options) =>
        (await import("./commands/explain-command.ts")).explainKey(name, options, terminal, signal),
      ),
    );
  program
    .command("lint")
    .description("check prompt files, workflow files and manifests")
    .argument("[path...]", "files and folders (default: those of the configuration)")
    .option("-m, --model <provider/name>", "a model that prompts may name; may be repeated", collect)
    .option("-r, --recursive", "the folders inside a folder too (default: as the configuration says)")
    .action(
      on(async (paths, options) => (await import("./commands/lint-command.ts")).lint(paths, options, terminal, signal)),
    );
}

function addOperatorCommands(program: Command, on: On, terminal: Terminal, signal: AbortSignal): void {
  program
    .command("serve")
    .description("serve everything as one MCP server, over stdio or HTTP")
    .option("--http [host:port]", "over HTTP (default: 127.0.0.1:8808); without it over stdio")
    .option("--names <names>", "prefixed or bare")
    .option("--prompts-as-tools", "each prompt is a tool too, which runs it")
    .option("--ui [port]", "and a page of this machine that shows everything (default: any port)")
    .option("--wait <seconds>", "over stdio, the longest wait for its servers before it answers (default: 5)")
    .option("--record <file>", "write a tape of all that happens, for replay")
    .action(on(async (_, options) => (await import("./commands/serve-command.ts")).serve(options, terminal, signal)));
  program
    .command("status")
    .description("show the servers, of the service that runs where there is one: connected or not, and why not")
    .option("-w, --watch", "show it again whenever something changes")
    .action(on(async (_, options) => (await import("./commands/status-command.ts")).status(options, terminal, signal)));
  program
    .command("approvals")
    .description("list the calls that wait for an approval, in the service that runs or in the store")
    .action(
      on(async (_, options) =>
        (await import("./commands/approval-commands.ts")).listApprovals(options, terminal, signal),
      ),
    );
  for (const verb of ["approve", "deny"] as const) {
    program
      .command(verb)
      .description(`${verb} calls that wait`)
      .argument("<id...>")
      .action(
        on(async (ids, options) =>
          (await import("./commands/approval-commands.ts")).decide(ids, verb === "approve", options, terminal, signal),
        ),
      );
  }
  program
    .command("doctor")
    .description("say what is wrong on this machine, and the command that mends it")
    .action(on(async (_, options) => (await import("./commands/doctor-command.ts")).doctor(options, terminal, signal)));
  program
    .command("lock")
    .description("write what pinned servers offer to toolweave.lock")
    .option("--check", "compare instead, and fail where something changed")
    .action(on(async (_, options) => (await import("./commands/lock-command.ts")).lock(options, terminal, signal)));
}
