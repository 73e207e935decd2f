/** A program with its arguments, ready for `spawn` without a shell. */
export interface CommandLine {
  readonly file: string;
  readonly args: readonly string[];
  /** Windows: the arguments are quoted already. */
  readonly verbatim: boolean;
}

/**
 * The program to spawn for a command. On Windows one that is no `.exe` or `.com` (such as `npx`, which is a `.cmd`) can only be started
 * through `cmd.exe`.
 *
 * @see https://nodejs.org/api/child_process.html#spawning-bat-and-cmd-files-on-windows
 */
export function commandLine(
  command: string,
  args: readonly string[],
  { platform, shell }: { readonly platform: NodeJS.Platform; readonly shell: string | undefined },
): CommandLine {
  if (platform !== "win32" || /\.(?:exe|com)$/i.test(command)) return { file: command, args, verbatim: false };
  const line = [escapeMeta(command), ...args.map((argument) => escapeMeta(quote(argument)))].join(" ");
  return { file: shell ?? "cmd.exe", args: ["/d", "/s", "/c", `"${line}"`], verbatim: true };
}

/** As the C runtime of Windows reads arguments: backslashes count only before a quote. */
function quote(argument: string): string {
  return `"${argument.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\*)$/, "$1$1")}"`;
}

/** So that cmd.exe takes none of it for itself. */
function escapeMeta(text: string): string {
  return text.replace(/[()\][%!^"`<>&|;, *?]/g, "^$&");
}

const windowsNames = [
  "APPDATA",
  "HOMEDRIVE",
  "HOMEPATH",
  "LOCALAPPDATA",
  "PATH",
  "PROCESSOR_ARCHITECTURE",
  "SYSTEMDRIVE",
  "SYSTEMROOT",
  "TEMP",
  "USERNAME",
  "USERPROFILE",
  "PROGRAMFILES",
];
const posixNames = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

/**
 * The environment a child inherits: a short list in which there are no secrets, the same as that of the MCP SDK (which
 * takes it from sudo).
 */
export function inheritedEnvironment(): Record<string, string> {
  return environmentOf(process.platform === "win32" ? windowsNames : posixNames);
}

/** The environment that a child of an untrusted server inherits: as much as a program needs to be found and to start. */
export function leastEnvironment(): Record<string, string> {
  return environmentOf(process.platform === "win32" ? ["PATH", "SYSTEMDRIVE", "SYSTEMROOT"] : ["PATH"]);
}

function environmentOf(names: readonly string[]): Record<string, string> {
  const inherited: Record<string, string> = {};
  for (const name of names) {
    const value = process.env[name];
    // A shell function is code.
    if (value !== undefined && !value.startsWith("()")) inherited[name] = value;
  }
  return inherited;
}
