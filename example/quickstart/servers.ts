import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const modules = fileURLToPath(new URL("../../node_modules", import.meta.url));
const require = createRequire(import.meta.url);

/** The program of an MCP server that is installed as a package. */
function programOf(name: string): string {
  const { bin } = require(join(modules, name, "package.json")) as { bin: Record<string, string> };
  return join(modules, name, Object.values(bin)[0] ?? "");
}

const everything = programOf("@modelcontextprotocol/server-everything");

/** A child process that speaks MCP over stdio, as any MCP client would be told to start it. */
export const everythingOverStdio = { command: process.execPath, args: [everything, "stdio"] };

/** A child process that may read and write one folder. */
export const filesystem = (folder: string) => ({
  command: process.execPath,
  args: [programOf("@modelcontextprotocol/server-filesystem"), folder],
});

/** Starts the same server as a web service, as somebody else would run it. */
export async function startEverythingOverHttp(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const port = await freePort();
  const child = spawn(process.execPath, [everything, "streamableHttp"], {
    env: { ...process.env, PORT: String(port) },
    stdio: "ignore",
  });
  const url = `http://127.0.0.1:${port}/mcp`;
  await answering(url, child);
  return {
    url,
    async stop() {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("There is no free port.");
  return address.port;
}

async function answering(url: string, child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt += 1) {
    if (child.exitCode !== null) throw new Error(`The server ended with code ${child.exitCode}.`);
    const answered = await fetch(url).then(
      (response) => response.arrayBuffer(),
      () => undefined,
    );
    if (answered !== undefined) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`Nothing answers at ${url}.`);
}
