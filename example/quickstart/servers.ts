import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";

// The programs of two MCP servers that are installed as packages.
const everything = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"));
const files = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-filesystem/dist/index.js"));

/** A child process that speaks MCP over stdio, in the form that any MCP client is configured with. */
export const everythingOverStdio = { command: process.execPath, args: [everything, "stdio"] };

/** A child process that may read and write one folder. */
export const filesystem = (folder: string) => ({
  command: process.execPath,
  args: [files, folder],
});

/** Starts the same server as a web service, as another company would run it. */
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
