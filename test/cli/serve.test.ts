import { spawn } from "node:child_process";
import { once } from "node:events";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterEach, expect } from "vitest";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { verifies } from "../support/verifies.ts";
import { commandArgs, commandFolder, handConfig } from "./support.ts";

const folder = commandFolder();
const env = () => ({ XDG_RUNTIME_DIR: folder.path });
const opened: Toolkit[] = [];
const children: ReturnType<typeof spawn>[] = [];
afterEach(async () => {
  for (const toolkit of opened.splice(0)) await toolkit.close();
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

const silent = { command: process.execPath, args: ["-e", "process.stdin.resume()"] };

function client(): Toolkit {
  const toolkit = new Toolkit();
  opened.push(toolkit);
  return toolkit;
}

verifies(
  ["X1", "V1"],
  "a configuration is served over stdio, and what is added to it reaches the client",
  async () => {
    await folder.write("toolweave.yaml", `${handConfig}server: { name: mine, names: bare }\n`);
    const toolkit = client();
    const target = { command: process.execPath, args: [...commandArgs, "serve"], cwd: folder.path, env: env() };
    const connection = toolkit.addConnector(target, { namespace: "served" });
    await toolkit.start();
    await connection.ready();
    expect(connection.server?.name).toBe("mine");
    const has = (name: string) =>
      expect.poll(() => connection.list("tool").map((entry) => entry.name), { timeout: 20_000 }).toContain(name);
    await has("greet");
    expect(await (await toolkit.call("served.greet", { name: "Ada" })).text()).toBe("Hello, Ada! undefined");
    await folder.write(
      "next.yaml",
      `${handConfig}${handConfig
        .replace(/^connectors:\n {2}hand/, "  more")
        .replaceAll('"greet"', '"wave"')
        .replaceAll('\\"greet\\"', '\\"wave\\"')}server: { name: mine, names: bare }\n`,
    );
    await rename(join(folder.path, "next.yaml"), join(folder.path, "toolweave.yaml"));
    await has("wave");
  },
  60_000,
);

verifies(
  ["X1", "V1"],
  "the first list over stdio has the servers of the configuration: many clients ask for no other",
  async () => {
    await folder.write("toolweave.yaml", handConfig);
    const first = async (wait: string) => {
      const args = [...commandArgs, "serve", "--wait", wait];
      const transport = new StdioClientTransport({ command: process.execPath, args, cwd: folder.path });
      const sdk = new Client({ name: "once", version: "1" });
      await sdk.connect(transport);
      const { tools } = await sdk.listTools();
      await sdk.close();
      return tools.map(({ name }) => name);
    };
    expect(await first("60")).toContain("hand__greet");
    // A server that is never ready holds nothing up for longer.
    await folder.write("toolweave.yaml", `connectors: { silent: ${JSON.stringify(silent)} }\n`);
    expect(await first("0.1")).toEqual([]);
  },
  120_000,
);

verifies(
  ["X1", "V3"],
  "a configuration is served over HTTP, to those who have a token, until it is interrupted",
  async () => {
    await folder.write("toolweave.yaml", `${handConfig}server: { tokens: { ada: "\${ADA_TOKEN}" } }\n`);
    const child = spawn(process.execPath, [...commandArgs, "serve", "--http", "0"], {
      cwd: folder.path,
      env: { ...process.env, ...env(), ADA_TOKEN: "token-of-ada-0123456789" },
    });
    children.push(child);
    let printed = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
    });
    await expect.poll(() => /Serving on (\S+)/.exec(printed)?.[1], { timeout: 20_000 }).toBeDefined();
    const url = /Serving on (\S+)/.exec(printed)?.[1] ?? "";
    expect((await fetch(url, { method: "POST", body: "{}" })).status).toBe(401);
    const toolkit = client();
    const headers = { Authorization: "Bearer token-of-ada-0123456789" };
    const connection = toolkit.addConnector({ url, headers }, { namespace: "served" });
    await toolkit.start();
    await expect.poll(() => connection.list("tool").length, { timeout: 20_000 }).toBe(4);
    expect(await (await toolkit.call("served.hand__greet", { name: "Ada" })).text()).toBe("Hello, Ada! undefined");
    const ended = once(child, "close");
    child.kill("SIGINT");
    expect(await ended).toEqual([0, null]);
    expect(printed).not.toContain("token-of-ada");
  },
  60_000,
);

verifies(
  ["X1", "V6"],
  "the key of states and how long lists are current come from the configuration; a key that can be guessed serves nothing",
  async () => {
    const stateless = (key: string) =>
      folder.write("toolweave.yaml", `server: { stateKey: "${key}", listTtlMs: 7000, maxParkedCalls: 3 }\n`);
    await stateless("${STATE_KEY}");
    const short = await folder.run(["serve", "--http", "0"], { env: { STATE_KEY: "short-key" } });
    expect([short.code, short.stderr]).toEqual([2, expect.stringContaining("stateKey")]);
    expect(short.stderr).not.toContain("short-key");
    const unset = await folder.run(["serve", "--http", "0"]);
    expect([unset.code, unset.stderr]).toEqual([2, expect.stringContaining("toolweave.yaml:1:")]);
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: meta } };
    const { stdout } = await folder.run(["serve"], {
      input: `${JSON.stringify(list)}\n`,
      env: { STATE_KEY: "a-key-of-states-that-is-long-enough" },
    });
    expect(JSON.parse(stdout)).toMatchObject({ id: 1, result: { ttlMs: 7_000 } });
  },
  60_000,
);

verifies(
  ["X1", "W1"],
  "serve says on stderr which file is broken and which server is not connected, without stacks",
  async () => {
    await folder.write("tool.yaml", "kind: Tool\nspec:\n  name: x\n  modee: mock\n");
    const dead = `{ command: ${process.execPath}, args: ["-e", "process.exit(1)"] }`;
    await folder.write("toolweave.yaml", `manifests: [tool.yaml]\nconnectors: { dead: ${dead} }\n`);
    const served = await folder.run(["serve"]);
    expect(served.code).toBe(0);
    expect(served.stderr).toMatch(/tool\.yaml:4:10: There is no field "modee" in spec\. Did you mean "mode"\?\n/);
    expect(served.stderr).toContain("dead is not connected");
    expect(served.stderr).not.toMatch(/\n? {4}at /);
  },
  60_000,
);
