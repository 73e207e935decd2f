import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readdir, stat } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { Toolkit } from "../../src/index.ts";
import { closedAfterEach } from "../support/closed-after-each.ts";
import { verifies } from "../support/verifies.ts";
import { commandArgs, commandFolder, handConfig } from "./support.ts";

const folder = commandFolder();
const limitMs = 240_000;
const ends = closedAfterEach();

const env = () => ({ XDG_RUNTIME_DIR: folder.path });
const run = (...args: readonly string[]) => folder.run(args, { env: env() });
const socketFolder = () => join(folder.path, `toolweave-${process.getuid?.()}`);
const sockets = async () => (await readdir(socketFolder())).filter((name) => name.endsWith(".sock"));

/** A service of the configuration, and a client of it that has the tools of its server. */
async function serve() {
  const client = new Toolkit();
  ends.push(() => client.close());
  const there = Promise.withResolvers<void>();
  client.on("toolListChanged", ({ added }) => {
    if (added.includes("served.hand__greet")) there.resolve();
  });
  const target = { command: process.execPath, args: [...commandArgs, "serve"], cwd: folder.path, env: env() };
  const connection = client.addConnector(target, { namespace: "served" });
  await client.start();
  await there.promise;
  return { client, connection };
}

describe.skipIf(process.platform === "win32")(
  "a service that runs (no socket on Windows: other users could read its pipes)",
  () => {
    verifies(
      "X1",
      "is asked for its state and its approvals, which it keeps in memory",
      async () => {
        await folder.write("toolweave.yaml", `${handConfig}policy: { ask: [hand.greet] }\n`);
        expect((await run("approvals")).code).toBe(2);
        const { client } = await serve();
        const [name = ""] = await sockets();
        const modes = await Promise.all([socketFolder(), join(socketFolder(), name)].map((path) => stat(path)));
        expect(modes.map(({ mode }) => mode & 0o777)).toEqual([0o700, 0o600]);
        await expect(client.call("served.hand__greet", { name: "Ada" })).rejects.toThrow();
        await expect(client.call("served.hand__greet", { name: "Bob" })).rejects.toThrow();
        const [ada, bob] = JSON.parse((await run("approvals", "--json")).stdout);
        expect([ada.tool, ada.arguments, bob.arguments]).toEqual(["hand.greet", { name: "Ada" }, { name: "Bob" }]);
        expect((await run("approve", ada.id)).stdout).toBe(`${ada.id}: hand.greet succeeded\n`);
        expect((await run("deny", bob.id)).stdout).toBe(`${bob.id}: hand.greet denied\n`);
        expect((await run("approve", "none")).code).toBe(3);
        expect((await run("approvals")).stderr).toBe("Nothing waits for an approval.\n");
        const shown = await run("status");
        expect([shown.code, shown.stderr]).toEqual([0, "Asked the service that runs.\n"]);
        expect(shown.stdout).toMatch(/\nhand +connected .* 4 /);
        expect(JSON.parse((await run("status", "--json")).stdout)).toMatchObject([
          { namespace: "hand", counts: { tool: 4 } },
        ]);
        // A second one leaves the socket to the first.
        await serve();
        expect(await sockets()).toEqual([name]);
      },
      limitMs,
    );

    verifies(
      "X1",
      "is followed until it ends, and the socket of one that was killed stops no other",
      async () => {
        await folder.write("toolweave.yaml", handConfig);
        const options = { cwd: folder.path, env: { ...process.env, ...env() } };
        const service = spawn(process.execPath, [...commandArgs, "serve"], {
          ...options,
          stdio: ["pipe", "ignore", "ignore"],
        });
        ends.push(async () => service.kill("SIGKILL"));
        await expect.poll(sockets, { timeout: limitMs }).toHaveLength(1);
        const child = spawn(process.execPath, [...commandArgs, "status", "--watch", "--json"], {
          ...options,
          stdio: ["ignore", "pipe", "pipe"],
        });
        ends.push(async () => child.kill("SIGKILL"));
        const exited = once(child, "exit");
        const said = text(child.stderr);
        for await (const line of createInterface({ input: child.stdout })) {
          if (JSON.parse(line)[0]?.counts.tool === 4) service.kill("SIGKILL");
        }
        expect(await exited).toEqual([0, null]);
        expect(await said).toBe("Asked the service that runs.\nThe service has ended.\n");
        // The socket is still there, and is of no service.
        expect(await sockets()).toHaveLength(1);
        expect((await run("status")).stderr).toBe("");
        await serve();
        expect((await run("status")).stderr).toBe("Asked the service that runs.\n");
      },
      limitMs,
    );

    test(
      "refuses what is no request, and a folder that others may look into has no socket",
      async () => {
        await folder.write("toolweave.yaml", handConfig);
        const { client } = await serve();
        const [name = ""] = await sockets();
        const answerTo = async (request: string) => {
          const socket = connect(join(socketFolder(), name));
          socket.end(request);
          return text(socket);
        };
        expect(JSON.parse(await answerTo('{"version":9,"method":"status"}\n'))).toEqual({
          error: { message: "The service speaks version 1." },
        });
        for (const request of ["nonsense\n", '{"version":1,"method":"close"}\n', "x".repeat(100_000)])
          expect(await answerTo(request)).toContain('"error"');
        expect((await run("status")).code).toBe(0);
        await client.close();
        await mkdir(socketFolder(), { recursive: true });
        await chmod(socketFolder(), 0o755);
        await serve();
        expect(await sockets()).toEqual([]);
        expect((await run("status")).stderr).toBe("");
      },
      limitMs,
    );
  },
);
