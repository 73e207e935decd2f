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
 * What a child inherits of our environment: a short list in which there are no secrets, the same as that of the MCP SDK (which
 * takes it from sudo).
 */
export function inheritedEnvironment(): Record<string, string> {
  const inherited: Record<string, string> = {};
  for (const name of process.platform === "win32" ? windowsNames : posixNames) {
    const value = process.env[name];
    // A shell function is code.
    if (value !== undefined && !value.startsWith("()")) inherited[name] = value;
  }
  return inherited;
}
