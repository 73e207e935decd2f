import type { Command } from "commander";
import type { kinds } from "../../core/item.ts";
import { exitCodes, UsageMistake } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { type GlobalOptions, openWorkspace } from "../workspace.ts";

const scripts: Readonly<Record<string, string>> = {
  bash: `_toolweave() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(toolweave complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _toolweave toolweave
`,
  zsh: `#compdef toolweave
_toolweave() {
  local -a found
  found=("\${(@f)$(toolweave complete -- "\${words[@]:1:$((CURRENT - 1))}" 2>/dev/null)}")
  compadd -a found
}
compdef _toolweave toolweave
`,
  fish: `complete -c toolweave -f -a '(toolweave complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
};

/** Prints the script that makes a shell complete this command. @returns the exit code */
export async function completion(shell: string, terminal: Terminal): Promise<number> {
  const script = scripts[shell];
  if (script === undefined)
    throw new UsageMistake(`The shells are ${Object.keys(scripts).join(", ")}, and not ${shell}.`);
  terminal.print(script);
  return exitCodes.ok;
}

/** The longest wait for servers while a person has pressed a key, in milliseconds. */
const patienceMs = 3_000;
const namedKinds: Readonly<Record<string, readonly (typeof kinds)[number][]>> = {
  call: ["tool"],
  run: ["prompt"],
  read: ["resource"],
  explain: ["tool", "prompt", "resource"],
};

/** Prints what may follow the words of a command line, one a line. @returns the exit code */
export async function complete(
  words: readonly string[],
  program: Command,
  options: GlobalOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const [verb = ""] = words;
  const commands = program.commands.map((each) => each.name()).filter((name) => name !== "complete");
  const wanted = namedKinds[verb];
  const last = words.at(-1) ?? "";
  if (words.length <= 1) terminal.print(commands.join("\n"));
  else if (last.startsWith("-")) terminal.print(optionsOf(program, verb).join("\n"));
  else if (wanted !== undefined && words.length === 2) {
    const patience = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
    await using workspace = await openWorkspace(options, terminal, { signal: patience });
    const { entries } = await workspace.toolkit.list({ kind: wanted, signal: patience });
    terminal.print(entries.map(({ ref }) => ref).join("\n"));
  }
  return exitCodes.ok;
}

function optionsOf(program: Command, verb: string): readonly string[] {
  const command = program.commands.find((each) => each.name() === verb);
  return [...(command?.options ?? []), ...program.options].flatMap(({ long }) =>
    long === undefined || long === null ? [] : [long],
  );
}
