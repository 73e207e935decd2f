import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import type { ConnectorSession } from "../../src/core/connector.ts";
import type { ConnectorTarget } from "../../src/core/target.ts";
import { mcpConnector } from "../../src/mcp/index.ts";
import { verifies } from "../support/verifies.ts";
import { contextOf, never, RecordingHost } from "./fixture/host.ts";

const require = createRequire(import.meta.url);
const program = (name: string) =>
  join(dirname(require.resolve(`@modelcontextprotocol/${name}/package.json`)), "dist/index.js");

function connect(target: ConnectorTarget, roots?: readonly { readonly uri: string }[]): Promise<ConnectorSession> {
  return mcpConnector(target, { roots }).connect({ signal: never, host: new RecordingHost() });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { readonly port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Starts server-everything over HTTP and waits until it says that it listens. */
async function startEverything(mode: "streamableHttp" | "sse", port: number): Promise<ChildProcess> {
  const child = spawn(process.execPath, [program("server-everything"), mode], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  await new Promise<void>((resolve, reject) => {
    child.once("exit", () => reject(new Error("server-everything ended")));
    child.stderr?.on("data", (chunk) => /listening|running/i.test(String(chunk)) && resolve());
  });
  return child;
}

async function exercise(session: ConnectorSession): Promise<void> {
  expect(session.server.name).toBe("mcp-servers/everything");
  const tools = await session.list.tool?.({});
  expect(tools?.items.length).toBeGreaterThanOrEqual(13);
  expect(tools?.warnings).toEqual([]);
  expect((await session.list.prompt?.({}))?.items).toHaveLength(4);
  expect((await session.list.resource?.({}))?.items).toHaveLength(7);
  expect((await session.list.template?.({}))?.items).toHaveLength(2);
  expect(await (await session.call("echo", { message: "hi" }, contextOf())).text()).toBe("Echo: hi");
  const context = contextOf();
  await session.call("trigger-long-running-operation", { duration: 0.1, steps: 4 }, context);
  expect(context.reports.map((report) => report.progress)).toEqual([1, 2, 3, 4]);
  const structured = await session.call("get-structured-content", { location: "Chicago" }, contextOf());
  expect(await structured.json()).toMatchObject({ temperature: expect.any(Number) });
  const image = await session.call("get-tiny-image", {}, contextOf());
  expect(image.parts?.map((part) => part.mediaType)).toEqual(["text/plain", "image/png", "text/plain"]);
}

verifies(["M1", "M8"], "server-everything over stdio", async () => {
  const session = await connect({ command: process.execPath, args: [program("server-everything"), "stdio"] });
  await exercise(session);
  await session[Symbol.asyncDispose]();
});

for (const [mode, path, transport] of [
  ["streamableHttp", "mcp", "streamable-http"],
  ["sse", "sse", "sse"],
] as const) {
  verifies("M1", `server-everything over ${transport}`, async () => {
    const port = await freePort();
    const child = await startEverything(mode, port);
    try {
      const session = await connect(`http://127.0.0.1:${port}/${path}`);
      expect(session.transport).toBe(transport);
      await exercise(session);
      child.kill("SIGKILL");
      expect(await session.closed).toBeInstanceOf(Error);
      await session[Symbol.asyncDispose]();
    } finally {
      child.kill("SIGKILL");
    }
  });
}

verifies(["M1", "M10"], "server-filesystem over stdio, in the roots it is given", async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "toolweave-")));
  try {
    await writeFile(join(folder, "note.txt"), "from a file");
    const session = await connect({ command: process.execPath, args: [program("server-filesystem")] }, [
      { uri: `file://${folder}` },
    ]);
    let allowed = "";
    // It asks for the roots once it is initialized.
    while (!allowed.includes(folder)) {
      const answer = await session.call("list_allowed_directories", {}, contextOf()).catch(() => undefined);
      allowed = answer === undefined ? "" : await answer.text();
    }
    expect((await session.list.tool?.({}))?.items).toHaveLength(14);
    const content = await session.call("read_text_file", { path: join(folder, "note.txt") }, contextOf());
    expect(await content.json()).toEqual({ content: "from a file" });
    await session[Symbol.asyncDispose]();
  } finally {
    await rm(folder, { recursive: true });
  }
});
