import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Writable } from "node:stream";

type Guard = ChildProcessByStdio<Writable, null, null>;

/**
 * Reads the groups of processes to end, one a line, `+` for a new one and `-` for one that has ended. When its input ends, the service is
 * gone, however it went: the groups that are left have a second to leave by themselves, as their stdin has ended too, and two after TERM.
 */
const script = `
trap '' HUP INT QUIT TERM
groups=
while read -r sign group; do
  if [ "$sign" = + ]; then groups="$groups $group"; continue; fi
  left=
  for one in $groups; do [ "$one" = "$group" ] || left="$left $one"; done
  groups=$left
done
[ -n "$groups" ] || exit 0
sleep 1
for one in $groups; do kill -TERM -"$one"; done
sleep 2
for one in $groups; do kill -KILL -"$one"; done
`;

/**
 * Ends groups of processes when this process is killed by a signal that it cannot handle, or does not: no exit handler of Node runs then.
 * It is a shell that waits for the end of a pipe, one for all groups, and only while there are any. It is a group of its own, so that a
 * signal to the group of this process does not reach it. Where there is no shell, and on Windows, it does nothing.
 */
export class OrphanGuard {
  #guard: Guard | undefined;

  /** Starts it where it does not run, with the groups that there are. */
  start(groups: Iterable<number>): void {
    if (process.platform === "win32" || this.#guard !== undefined) return;
    this.#start();
    for (const group of groups) this.#write("+", group);
  }

  /** Guards a group too. */
  add(group: number): void {
    this.#write("+", group);
  }

  /** A group has ended. */
  remove(group: number): void {
    this.#write("-", group);
  }

  /** No group is left: the guard leaves. */
  stop(): void {
    const guard = this.#guard;
    this.#guard = undefined;
    guard?.stdin.end();
  }

  /** All groups have been ended, and this process ends now. */
  kill(): void {
    this.#guard?.kill("SIGKILL");
  }

  #start(): void {
    const guard = spawn("/bin/sh", ["-c", script], {
      cwd: "/",
      // It needs nothing but the way to `sleep`.
      env: { PATH: process.env.PATH ?? "/usr/bin:/bin" },
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
    });
    this.#guard = guard;
    const gone = () => {
      if (this.#guard === guard) this.#guard = undefined;
    };
    guard.on("error", gone);
    guard.on("exit", gone);
    guard.stdin.on("error", gone);
    // Neither keeps this process alive.
    guard.unref();
    (guard.stdin as Writable & { unref?(): void }).unref?.();
  }

  #write(sign: "+" | "-", group: number): void {
    const stdin = this.#guard?.stdin;
    if (stdin?.writable === true) stdin.write(`${sign} ${group}\n`);
  }
}
