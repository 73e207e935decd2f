import { spawnSync } from "node:child_process";

/**
 * Commands that start another one in a sandbox, by name: without a network, and where they can without changes to the file system. Each is
 * the `wrap` of a target, so the command of the server follows it.
 */
export const sandboxes = {
  // #region bwrap
  bwrap: ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-net", "--die-with-parent"],
  // #endregion
  // #region docker
  // The command is one of the image: `node`, not a path of this machine. It gets no `env`, unless `--env NAME` names it.
  docker: ["docker", "run", "--interactive", "--rm", "--network=none", "--read-only", "node:24-alpine"],
  // #endregion
  // A service gets no `env`, unless `--setenv=NAME` names it.
  "systemd-run": [
    ...["systemd-run", "--user", "--pipe", "--quiet", "--collect"],
    ...["--property=PrivateNetwork=yes", "--property=ProtectSystem=strict"],
  ],
  unshare: ["unshare", "--map-root-user", "--net", "--kill-child"],
} as const satisfies Record<string, readonly string[]>;

export type Sandbox = keyof typeof sandboxes;

/** True where the sandbox is installed and may be used: containers often forbid one in themselves. */
export function works(name: Sandbox): boolean {
  const [command = "", ...args] = sandboxes[name];
  return spawnSync(command, [...args, "true"], { timeout: 10_000, stdio: "ignore" }).status === 0;
}

/** The command of Node in a sandbox. */
export function nodeIn(name: Sandbox): string {
  return name === "docker" ? "node" : process.execPath;
}
