import { withoutTokens } from "../../../lib/token-shape.ts";

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

// In lower case: these are read in upper and lower case alike.
const machineNames: ReadonlySet<string> = new Set(
  [
    ["http_proxy", "https_proxy", "all_proxy", "no_proxy", "node_use_env_proxy"],
    [
      "node_extra_ca_certs",
      "node_use_system_ca",
      "ssl_cert_file",
      "ssl_cert_dir",
      "requests_ca_bundle",
      "curl_ca_bundle",
    ],
    ["pip_cert", "git_ssl_cainfo", "aws_ca_bundle", "deno_cert", "deno_tls_ca_store", "uv_native_tls"],
    ["npm_config_registry", "npm_config_proxy", "npm_config_https_proxy", "npm_config_noproxy", "npm_config_cafile"],
    ["npm_config_cache", "pip_index_url", "uv_index_url", "uv_default_index"],
    ["lang", "language", "lc_all", "lc_ctype", "lc_messages", "tz", "tmpdir", "tmp", "temp"],
  ].flat(),
);

/** The variables a child inherits. */
export interface InheritedEnvironment {
  readonly variables: Readonly<Record<string, string>>;
  /** The names of those it would inherit if their values did not seem to hold a credential. */
  readonly withheld: readonly string[];
}

/** The environment that a child of an untrusted server inherits: as much as a program needs to be found and to start. */
export function leastEnvironment(environment: NodeJS.ProcessEnv = process.env): InheritedEnvironment {
  const names = process.platform === "win32" ? ["PATH", "SYSTEMDRIVE", "SYSTEMROOT"] : ["PATH"];
  const found = names.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]]));
  return { variables: Object.fromEntries(found), withheld: [] };
}

/**
 * The environment a child inherits: a short list in which there are no secrets. It has the variables that the MCP SDK passes on (which
 * takes them from sudo), and those that a machine needs to reach its registries through its proxy: proxies, certificates, registries,
 * language and temporary folder. A proxy or registry whose URL has a user, a password or a key is left out.
 */
export function inheritedEnvironment(environment: NodeJS.ProcessEnv = process.env): InheritedEnvironment {
  const variables: Record<string, string> = {};
  const withheld: string[] = [];
  const wanted = process.platform === "win32" ? windowsNames : posixNames;
  const ofMachine = Object.keys(environment).filter((name) => machineNames.has(name.toLowerCase()));
  for (const name of [...wanted, ...ofMachine]) {
    const value = environment[name];
    // A shell function is code.
    if (value === undefined || value.startsWith("()")) continue;
    if (machineNames.has(name.toLowerCase()) && hasCredential(name, value)) withheld.push(name);
    else variables[name] = value;
  }
  return { variables, withheld };
}

/** True for the URL, or the host alone, of a proxy or registry with user info, a query, or a path that has a key. */
function hasCredential(name: string, value: string): boolean {
  if (!/proxy|registry|index/i.test(name)) return false;
  return (
    /^(?:[A-Za-z][A-Za-z0-9+.-]*:\/\/)?[^/]*@/.test(value) || value.includes("?") || withoutTokens(value) !== value
  );
}
