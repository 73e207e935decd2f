import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { freePort } from "../e2e/support.ts";
import { type Bench, type Comparison, measure, type Operation, type Timing, timingOf } from "./harness.ts";
import { arePeersWanted, installPeer, installPythonPeer } from "./peer.ts";
import { rawHttpClient, startHttpServers, stdioServer } from "./raw.ts";
import { message } from "./server/tools.ts";

const atOnce = 16;
const many = 10;
const gatewayFile = fileURLToPath(new URL("server/gateway.ts", import.meta.url));
const fastmcpFile = fileURLToPath(new URL("server/fastmcp_proxy.py", import.meta.url));
const startMs = 60_000;
const cpuRounds = 5;
const cpuCalls = 200;

/**
 * A call of a client of the SDK through a gateway, each in a process of its own, against the same call of the server itself over HTTP.
 * With BENCH_PEERS=1 also through mcp-proxy and FastMCP, which are installed.
 */
export const bench: Bench = {
  name: "gateway",
  targets: {
    "to stdio": { of: "ratio", must: 1.3, reach: 1 },
    // 0.7 times the throughput.
    "to stdio at once": { of: "ratio", must: 1.43 },
    "to HTTP": { of: "ratio", must: 2, reach: 1.6 },
    ten: { of: "ratio", must: 1.05 },
  },
  async run() {
    await using servers = await startHttpServers({ count: many });
    const [first = ""] = servers.urls;
    await using started = new AsyncDisposableStack();
    const calls = new Map<string, Operation>([["direct", await callOf(first, ["echo"])]]);
    const usages = new Map<string, Usage>();
    const add = async (name: string, command: Command, tools: readonly string[]) => {
      const { url, usage } = await startGateway(started, command);
      calls.set(name, await callOf(url, tools));
      if (usage !== undefined) usages.set(name, usage);
    };
    const one = toolsOf(1);
    for (const side of ["ours", "sdk"]) {
      await add(`${side} stdio`, ownGateway(side, 1), one);
      await add(`${side} HTTP`, ownGateway(side, [first]), one);
    }
    await add("ours ten stdio", ownGateway("ours", many), toolsOf(many));
    await add("ours ten HTTP", ownGateway("ours", servers.urls), toolsOf(many));
    if (arePeersWanted) await addPeers(add, first);
    const alone = await measure(Object.fromEntries(calls));
    const together = await measure(
      Object.fromEntries(
        [...calls].map(([name, call]) => [name, () => Promise.all(Array.from({ length: atOnce }, call))]),
      ),
    );
    const spent = await measureCpu(calls, usages);
    return [...compared(alone, ""), ...compared(together, `, ${atOnce} at once`), ...comparedCpu(spent)];
  },
};

interface Command {
  readonly command: string;
  readonly args: readonly string[];
  /** Where it is known before it is started. */
  readonly url?: string;
}

/** The CPU time that a gateway has taken, in microseconds. */
type Usage = () => Promise<number>;
type Add = (name: string, command: Command, tools: readonly string[]) => Promise<void>;

function ownGateway(side: string, upstreams: number | readonly string[]): Command {
  return { command: process.execPath, args: [gatewayFile, side, JSON.stringify(upstreams)] };
}

async function addPeers(add: Add, upstream: string): Promise<void> {
  const load = await installPeer("mcp-proxy", { "mcp-proxy": "6.7.19" });
  const { command, args } = stdioServer;
  const proxyPort = await freePort();
  const proxy = join(dirname(load.resolve("mcp-proxy/package.json")), "dist/bin/mcp-proxy.mjs");
  const options = ["--port", String(proxyPort), "--host", "127.0.0.1", "--server", "stream", "--no-eventStore", "--"];
  await add(
    "mcp-proxy stdio",
    {
      command: process.execPath,
      args: [proxy, ...options, command, ...args],
      url: `http://127.0.0.1:${proxyPort}/mcp`,
    },
    ["echo"],
  );
  const commands = await installPythonPeer("fastmcp", "fastmcp==4.1.2");
  for (const [name, server] of Object.entries({ stdio: stdioServer, HTTP: { url: upstream } })) {
    const port = await freePort();
    const place = { url: `http://127.0.0.1:${port}/mcp` };
    const program = [fastmcpFile, String(port), JSON.stringify({ bench0: server })];
    await add(`FastMCP ${name}`, { command: join(commands, "python"), args: program, ...place }, ["echo"]);
  }
}

/** Starts a gateway that ends with the bench. One of others may not listen yet. */
async function startGateway(
  started: AsyncDisposableStack,
  { command, args, url }: Command,
): Promise<{ readonly url: string; readonly usage?: Usage }> {
  const child = spawn(command, args, { stdio: ["pipe", url === undefined ? "pipe" : "ignore", "inherit"] });
  started.defer(() => end(child, url !== undefined));
  if (child.stdout === null) return { url: url ?? "" };
  const lines = createInterface(child.stdout);
  const [line] = await once(lines, "line");
  const usage = async () => {
    child.stdin?.write("\n");
    return Number((await once(lines, "line"))[0]);
  };
  return { url: String(line), usage };
}

/** The CPU time of a gateway for one call: it says more than the wall on a machine that does other work. */
async function measureCpu(
  calls: ReadonlyMap<string, Operation>,
  usages: ReadonlyMap<string, Usage>,
): Promise<Readonly<Record<string, Timing>>> {
  const samples = new Map<string, number[]>();
  for (let round = 0; round < cpuRounds; round += 1) {
    for (const [name, usage] of usages) {
      const before = await usage();
      for (let done = 0; done < cpuCalls; done += 1) await calls.get(name)?.();
      samples.set(name, [...(samples.get(name) ?? []), ((await usage()) - before) / cpuCalls]);
    }
  }
  return Object.fromEntries([...samples].map(([name, all]) => [name, timingOf(all)]));
}

function comparedCpu(timings: Readonly<Record<string, Timing>>): readonly Comparison[] {
  return ["stdio", "HTTP"].flatMap((to) => {
    const [ours, sdk] = [timings[`ours ${to}`], timings[`sdk ${to}`]];
    if (ours === undefined || sdk === undefined) return [];
    return [{ name: `CPU of the gateway to ${to}`, ours, peer: { name: `sdk ${to}`, timing: sdk } }];
  });
}

async function end(child: ChildProcess, isForeign: boolean): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  if (isForeign) child.kill();
  else child.stdin?.end();
  await ended;
}

/** A call of one tool after the other, by a client of the SDK. */
async function callOf(url: string, tools: readonly string[]): Promise<Operation> {
  const client = await connected(url);
  let turn = 0;
  return async () => {
    const { isError } = await client.callTool({ name: tools[turn++ % tools.length] ?? "", arguments: message });
    if (isError === true) throw new Error(`A call of ${url} failed.`);
  };
}

/** A gateway of others is asked until it listens. */
async function connected(url: string): Promise<Client> {
  const until = performance.now() + startMs;
  for (;;) {
    try {
      return await rawHttpClient(url);
    } catch (error) {
      if (performance.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

function toolsOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `bench${at}__echo`);
}

/** Ours against the direct call, against what others are, and with ten servers against one. */
function compared(timings: Readonly<Record<string, Timing>>, suffix: string): readonly Comparison[] {
  const row = (name: string, ours: string, peer: string, target?: string): readonly Comparison[] => {
    const [mine, other] = [timings[ours], timings[peer]];
    if (mine === undefined || other === undefined) return [];
    return [{ name: `${name}${suffix}`, ours: mine, peer: { name: peer, timing: other }, ...(target && { target }) }];
  };
  return ["stdio", "HTTP"].flatMap((to) => [
    ...row(
      `to ${to}`,
      `ours ${to}`,
      "direct",
      suffix === "" ? `to ${to}` : to === "stdio" ? "to stdio at once" : undefined,
    ),
    ...["sdk", "mcp-proxy", "FastMCP"].flatMap((other) => row(`to ${to}`, `ours ${to}`, `${other} ${to}`)),
    ...["sdk", "mcp-proxy", "FastMCP"].flatMap((other) => row(`to ${to}, ${other}`, `${other} ${to}`, "direct")),
    ...row(`to ${to}, ten servers`, `ours ten ${to}`, `ours ${to}`, suffix === "" ? "ten" : undefined),
  ]);
}
