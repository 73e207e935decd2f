import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { describe, expect } from "vitest";
import { type A2aOptions, a2a } from "../../src/a2a/index.ts";
import { doctor as doctorCommand } from "../../src/cli/commands/doctor-command.ts";
import { Terminal } from "../../src/cli/terminal.ts";
import { ConfiguredToolkit } from "../../src/config/configured-toolkit.ts";
import { readConfig } from "../../src/config/read-config.ts";
import type { AddConnectorOptions } from "../../src/connection/connect-options.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { contextOf, never, RecordingHost } from "../mcp/fixture/host.ts";
import { listen } from "../mcp/fixture/http.ts";
import { Child } from "../support/child.ts";
import { closedAfterEach } from "../support/closed-after-each.ts";
import { failure } from "../support/failure.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";
import { startAgent } from "./fixture/agent.ts";

const open = closedAfterEach();

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "toolweave-a2a-"));
  open.push(() => rm(path, { recursive: true, force: true }));
  return path;
}

interface Running {
  readonly child: Child;
  readonly port: number;
  readonly card: string;
}

async function start(tasks: string, options: object = {}, port = 0): Promise<Running> {
  const file = new URL("fixture/agent-process.ts", import.meta.url);
  const child = new Child(file, tasks, String(port), JSON.stringify(options));
  open.push(() => child.kill());
  const chosen = Number((await child.said("listening")).split(" ")[1]);
  return { child, port: chosen, card: `http://127.0.0.1:${chosen}/.well-known/agent-card.json` };
}

async function connected(card: string, options: A2aOptions = {}, more: AddConnectorOptions = {}): Promise<Toolkit> {
  const toolkit = new Toolkit();
  open.push(() => toolkit.close());
  toolkit.addConnector(a2a(card, options), { namespace: "travel", retryMs: 50, maxRetryMs: 200, ...more });
  await toolkit.start();
  return toolkit;
}

describe.each([
  ["with streams", {}],
  ["without streams", { streaming: false }],
  ["of 0.3", { isLegacy: true }],
])("an agent %s that is killed in the middle of a task", (_form, form) => {
  verifies("W4", "and comes back with its tasks ends the task it had", async () => {
    const tasks = await folder();
    const first = await start(tasks, form);
    const toolkit = await connected(first.card);
    const begun = Promise.withResolvers<void>();
    const call = toolkit.call("travel.plan", { message: "wait" }, { onProgress: () => begun.resolve() });
    await begun.promise;
    await first.child.kill();
    const second = await start(tasks, form, first.port);
    second.child.tell("go");
    const result = await call;
    expect(await result.parts?.[0]?.text()).toBe("done after a restart");
    // The message was not sent a second time.
    expect(second.child.lines.filter((line) => line.startsWith("task"))).toEqual([]);
  });

  verifies("W4", "and forgets its tasks leaves the outcome unknown", async () => {
    const first = await start(await folder(), form);
    const toolkit = await connected(first.card);
    const begun = Promise.withResolvers<void>();
    const call = failure(toolkit.call("travel.plan", { message: "wait" }, { onProgress: () => begun.resolve() }));
    await begun.promise;
    await first.child.kill();
    await start(await folder(), form, first.port);
    const error = await call;
    expect(error.code).toBe("OUTCOME_UNKNOWN");
    expect(error.message).toMatch(/The outcome of the task \S+ at .+ is unknown/);
  });

  verifies("W4", "and stays away leaves the outcome unknown, within the limit of breaks", async () => {
    const first = await start(await folder(), form);
    const toolkit = await connected(first.card, { resumeMs: 300 });
    const begun = Promise.withResolvers<void>();
    const call = failure(toolkit.call("travel.plan", { message: "wait" }, { onProgress: () => begun.resolve() }));
    await begun.promise;
    await first.child.kill();
    expect((await call).code).toBe("OUTCOME_UNKNOWN");
    await until(() => toolkit.connections[0]?.state === "waiting");
  });
});

verifies("W4", "an agent that does not answer is not connected, and is connected again when it does", async () => {
  const tasks = await folder();
  const first = await start(tasks);
  const toolkit = await connected(first.card, {}, { healthCheckMs: 400 });
  const [connection] = toolkit.connections;
  expect(connection?.state).toBe("connected");
  await first.child.kill();
  await until(() => connection?.state === "waiting");
  await start(tasks, {}, first.port);
  await until(() => connection?.state === "connected");
  expect(await (await toolkit.call("travel.plan", { message: "echo Bern" })).parts?.[0]?.text()).toBe("Bern");
});

verifies(
  ["W1", "W4", "X1"],
  "the agent of a manifest that is killed is named by doctor, and its next call connects anew",
  async () => {
    const path = await folder();
    const first = await start(path);
    const manifest = `kind: Tool\nmetadata: { name: plan }\nspec:\n  mode: a2a\n  a2a: { agent_url: "${first.card}", skill_id: plan }\n`;
    await writeFile(join(path, "plan.yaml"), manifest);
    await writeFile(join(path, "toolweave.yaml"), "manifests: [plan.yaml]\n");
    const { toolkit } = await ConfiguredToolkit.of(await readConfig(join(path, "toolweave.yaml")));
    open.push(() => toolkit.close());
    await toolkit.start();
    const call = async () => (await toolkit.call("manifest.plan", { message: "echo Bern" })).parts?.[0]?.text();
    const doctor = async () => {
      const printed: string[] = [];
      const stdout = new Writable({ write: (chunk, _, done) => done(void printed.push(String(chunk))) });
      const streams = { stdin: Readable.from([]), stdout, stderr: stdout, env: process.env, cwd: path };
      await doctorCommand({}, new Terminal(streams), never);
      return printed.join("");
    };
    expect(await call()).toBe("Bern");
    expect(await doctor()).toContain("Nothing is wrong.");
    await first.child.kill();
    expect((await failure(toolkit.call("manifest.plan", { message: "echo Bern" }))).code).toBe("UNAVAILABLE");
    const lost = await doctor();
    expect(lost).toContain(`${join(path, "plan.yaml")}:5:21: plan cannot ask its agent: `);
    expect(lost).toContain("1 thing is wrong.");
    const second = await start(path, {}, first.port);
    expect(await call()).toBe("Bern");
    // Nothing was called meanwhile: what was known of the first is not in the way.
    await second.child.kill();
    await start(path, {}, first.port);
    expect(await call()).toBe("Bern");
    await writeFile(join(path, "plan.yaml"), manifest.replace("skill_id: plan", "skill_id: fly"));
    expect(await doctor()).toContain("has no skill fly");
  },
);

verifies("W4", "a connector that is taken away in the middle of a task leaves its outcome unknown", async () => {
  const agent = await startAgent();
  open.push(() => agent.close());
  const toolkit = await connected(agent.card);
  const begun = Promise.withResolvers<void>();
  const call = failure(toolkit.call("travel.plan", { message: "wait" }, { onProgress: () => begun.resolve() }));
  await begun.promise;
  await toolkit.removeConnector("travel");
  expect((await call).code).toBe("OUTCOME_UNKNOWN");
});

verifies("W4", "each break of a long task has its own time to end", async () => {
  const agent = await startAgent();
  open.push(() => agent.close());
  const resumeMs = 100;
  const toolkit = await connected(agent.card, { resumeMs });
  const begun = Promise.withResolvers<void>();
  const call = toolkit.call("travel.plan", { message: "wait" }, { onProgress: () => begun.resolve() });
  await begun.promise;
  for (const round of [1, 2, 3]) {
    // Longer than a break may last, so that the next one would be too late by the clock of the last.
    await setTimeout(resumeMs * 1.5);
    agent.breakConnections();
    await until(() => agent.subscribed() === round);
  }
  agent.release();
  expect(await (await call).parts?.[0]?.text()).toBe("done");
});

verifies("W4", "a stream that is dead without an end is noticed, and the task asked for", async () => {
  const methods: string[] = [];
  let isDead = false;
  const agent = await listen(async (request, response) => {
    if (request.method === "GET") {
      // Open, and never answered.
      if (isDead) return;
      const url = `http://${request.headers.host}/rpc`;
      const supportedInterfaces = [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }];
      return void response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ name: "Agent", supportedInterfaces, capabilities: { streaming: true } }));
    }
    let text = "";
    for await (const chunk of request) text += chunk;
    const { id, method } = JSON.parse(text) as { readonly id: number; readonly method: string };
    methods.push(method);
    const task = { id: "t", contextId: "c", status: { state: isDead ? "TASK_STATE_COMPLETED" : "TASK_STATE_WORKING" } };
    if (method === "GetTask")
      return void response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id, result: task }));
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result: { task } })}\n\n`);
  });
  open.push(() => agent.close());
  const session = await a2a(`${agent.origin}/card.json`).connect({ host: new RecordingHost(), signal: never });
  open.push(async () => session[Symbol.asyncDispose]());
  const begun = Promise.withResolvers<boolean>();
  const progress = async () => {
    begun.resolve(true);
    return true;
  };
  const call = session.call("message", { message: "go" }, contextOf({ session: { id: "1" }, progress }));
  await begun.promise;
  isDead = true;
  await session.ping?.({});
  expect((await call).meta?.a2a).toMatchObject({ state: "completed" });
  expect(methods).toEqual(["SendStreamingMessage", "GetTask"]);
});

verifies("W4", "the wait for an authorization ends by the clock of the toolkit", async () => {
  const agent = await startAgent({ streaming: false });
  open.push(() => agent.close());
  const clock = virtualClock();
  const shown = Promise.withResolvers<void>();
  const elicit = async () => {
    shown.resolve();
    return { action: "accept" } as const;
  };
  const toolkit = new Toolkit({ clock, delegate: { elicit } });
  open.push(() => toolkit.close());
  toolkit.addConnector(a2a(agent.card), { namespace: "travel" });
  await toolkit.start();
  let isOver = false;
  const call = toolkit.call("travel.plan", { message: "authorize" }).finally(() => {
    isOver = true;
  });
  await shown.promise;
  // Requests to the agent take real time between the polls.
  let waitedMs = 0;
  for (; !isOver && waitedMs < 60 * 60_000; waitedMs += 10_000) {
    await clock.advance(10_000);
    await setTimeout(10);
  }
  expect((await call).meta?.a2a).toMatchObject({ state: "auth-required" });
  expect(waitedMs).toBeGreaterThanOrEqual(9 * 60_000);
});
