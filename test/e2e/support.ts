import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";

/** The programs of the servers people use. */
export const everything = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"));
export const filesystem = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-filesystem/dist/index.js"));
export const memory = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-memory/dist/index.js"));

/** A port of this machine nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Whether a process exists. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The processes of a group that have not ended, by id. */
export function runningIn(group: number): readonly number[] {
  return processes().flatMap(([id, state = "Z", of]) =>
    Number(of) === group && !state.startsWith("Z") ? [Number(id)] : [],
  );
}

/** Of each process its id, its state and its group. A machine of Linux need not have `ps`. */
function processes(): readonly (readonly (string | undefined)[])[] {
  if (process.platform !== "linux") {
    const { stdout } = spawnSync("ps", ["-eo", "pid=,stat=,pgid="], { encoding: "utf8" });
    return stdout.split("\n").map((line) => line.trim().split(/\s+/));
  }
  const ids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return ids.map((id) => {
    try {
      const [state, , group] = readFileSync(`/proc/${id}/stat`, "utf8")
        .replace(/^.*\) /s, "")
        .split(" ");
      return [id, state, group];
    } catch {
      return [id];
    }
  });
}

/** A server in a child process, listening on a port. */
export class ListeningChild {
  readonly port: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  /** Starts server-everything and resolves when it listens. */
  static async everything(transport: "streamableHttp" | "sse", port: number): Promise<ListeningChild> {
    const env = { ...process.env, PORT: String(port) };
    const child = spawn(process.execPath, [everything, transport], { env, stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    await new Promise<void>((resolve, reject) => {
      child.stderr?.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        if (/listening on port|running on port/.test(said)) resolve();
      });
      child.once("exit", () => reject(new Error(`server-everything ended: ${said}`)));
    });
    return new ListeningChild(child, port);
  }

  /** Stops it, or lets it go on. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#child.kill(signal);
  }

  /** Ends it without asking. */
  async kill(): Promise<void> {
    const exited = new Promise((resolve) => this.#child.once("exit", resolve));
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill("SIGKILL");
    await exited;
  }
}
