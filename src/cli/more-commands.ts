import type { Command } from "commander";
import { collect } from "./command-options.ts";
import type { Terminal } from "./terminal.ts";

/** The work of a command. Resolves to its exit code. */
export type CommandAction = (args: readonly string[], options: Record<string, unknown>) => Promise<number>;

/** Makes the handler of a command of its work. */
export type On = (action: CommandAction) => (...given: readonly unknown[]) => Promise<void>;

/** The command for runs of workflows. */
export function addWorkflowsCommand(program: Command, on: On, terminal: Terminal, signal: AbortSignal): void {
  program
    .command("workflows")
    .description("list the runs of workflows, of the service that runs or in the store; show, resume or cancel one")
    .argument("[run]", "the id of one run, for its steps")
    .option("--status <status>", "only those that are running, waiting, succeeded, failed or cancelled")
    .option("--resume", "go on with the run, where what it waits for is settled or its process is gone")
    .option("--cancel", "end the run: what it does is aborted, what it waits for denied")
    .action(
      on(async ([run], options) =>
        (await import("./commands/workflow-commands.ts")).workflowRuns(run, options, terminal, signal),
      ),
    );
}

/** The command that writes types. */
export function addTypesCommand(program: Command, on: On, terminal: Terminal, signal: AbortSignal): void {
  program
    .command("types")
    .description("write the TypeScript types of everything that can be called")
    .option("-o, --output <file>", "the file to write (default: print it)")
    .option("-w, --watch", "write it again whenever something changes")
    .action(on(async (_, options) => (await import("./commands/types-command.ts")).types(options, terminal, signal)));
}

/** The commands that make and change files of a working folder. */
export function addFileCommands(program: Command, on: On, terminal: Terminal, signal: AbortSignal): void {
  program
    .command("init")
    .description("make a working folder: a configuration, a prompt, a file for secrets to be left out of git")
    .argument("[folder]", "default: this one")
    .action(
      on(async ([folder], options) => (await import("./commands/init-command.ts")).init(folder, options, terminal)),
    );
  program
    .command("add")
    .description("add a server to the configuration; its comments stay")
    .argument("<name>", "the namespace of its tools")
    .argument("<server...>", "a URL, or a command after --")
    .option("--trust <trust>", "standard or untrusted")
    .option("--allow <pattern>", "a tool, prompt or resource that may be used; may be repeated", collect)
    .action(
      on(async ([name = "", ...server], options) =>
        (await import("./commands/edit-commands.ts")).add(name, server, options, terminal, signal),
      ),
    );
  program
    .command("remove")
    .description("remove a server from the configuration")
    .argument("<name>")
    .action(
      on(async ([name = ""], options) => (await import("./commands/edit-commands.ts")).remove(name, options, terminal)),
    );
  program
    .command("import")
    .description("find the servers that other clients have configured, and add them to the configuration")
    .argument("[name...]", "only these servers")
    .option("--from <client or file>", "only of this client, or of this file")
    .option("--dry-run", "only show them")
    .action(
      on(async (names, options) =>
        (await import("./commands/import-command.ts")).importServers(names, options, terminal),
      ),
    );
  program
    .command("completion")
    .description("print a script that completes commands and names in a shell")
    .argument("<shell>", "bash, zsh or fish")
    .action(on(async ([shell = ""]) => (await import("./commands/completion-command.ts")).completion(shell, terminal)));
  program
    .command("complete", { hidden: true })
    .argument("[word...]")
    .allowUnknownOption()
    .action(
      on(async (words, options) =>
        (await import("./commands/completion-command.ts")).complete(words, program, options, terminal, signal),
      ),
    );
}
