import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect } from "vitest";
import type { Connection } from "../../src/core/connection.ts";
import type { ToolkitEvent } from "../../src/core/event.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure } from "../support/failure.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";
import { kubeconfig, kubernetes, ListeningKubernetes } from "./fixture/kubernetes.ts";
import { runningIn } from "./support.ts";

// A server that shares no line of code with ours, nor with the SDK ours is built on.
describe("kubernetes-mcp-server, written in Go,", () => {
  let toolkit: Toolkit;
  let folder: string;
  let config: string;
  let events: ToolkitEvent[];
  let server: ListeningKubernetes | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "toolweave-kubernetes-"));
    config = join(folder, "config");
    await writeFile(config, kubeconfig("first"));
    toolkit = new Toolkit();
    events = [];
    toolkit.on("*", (event) => void events.push(event));
  });
  afterEach(async () => {
    await toolkit.close();
    await server?.kill();
    server = undefined;
    await rm(folder, { recursive: true });
  });

  async function connect(transport: string): Promise<Connection> {
    if (transport !== "stdio") server = await ListeningKubernetes.start(config);
    const target = server?.url ?? { command: process.execPath, args: [kubernetes, "--kubeconfig", config] };
    const connection = toolkit.addConnector(target, { namespace: "kube", retryMs: 100, maxRetryMs: 300 });
    await connection.ready();
    expect(connection.transport).toBe(transport);
    return connection;
  }
  const view = async () => (await toolkit.call("kube.configuration_view", { minified: false })).text();

  describe.each(["stdio", "streamable-http"])("over %s", (transport) => {
    verifies(["M1", "M13", "C4", "C5"], "is listed, validated and called, and its errors are its own", async () => {
      const connection = await connect(transport);
      expect(connection.server).toMatchObject({ name: "kubernetes-mcp-server" });
      expect(connection.warnings).toEqual([]);
      expect(connection.counts.tool).toBeGreaterThan(10);
      const pod = await toolkit.lookup("kube.pods_get");
      expect(pod.item).toMatchObject({ input: { required: ["name"] }, annotations: { readOnlyHint: true } });
      expect(await view()).toContain("server: http://127.0.0.1:9");
      expect(await failure(toolkit.call("kube.pods_get", {}))).toMatchObject({
        code: "INVALID_INPUT",
        details: { issues: [{ pointer: "/name" }] },
      });
      const refused = await failure(toolkit.call("kube.pods_get", { name: "web", namespace: "default" }));
      expect(refused).toMatchObject({ code: "TOOL_FAILED", ref: "kube.pods_get" });
      expect(refused.message).toMatch(/web.*connection refused/s);
    });

    verifies(["M6", "E1", "I5"], "announces other tools when its configuration changes", async () => {
      const connection = await connect(transport);
      expect(connection.list("tool").map(({ name }) => name)).not.toContain("configuration_contexts_list");
      events.length = 0;
      // Replaced at once, as a person's editor does: it must not be read half written.
      await writeFile(`${config}.new`, kubeconfig("first", "second"));
      await rename(`${config}.new`, config);
      await until(() => connection.list("tool").some(({ name }) => name === "configuration_contexts_list"));
      expect(events).toContainEqual(
        expect.objectContaining({ type: "toolListChanged", changed: expect.arrayContaining(["kube.pods_get"]) }),
      );
      expect(await view()).toContain("name: second");
    });
  });

  verifies(["M7", "M8"], "killed as a child is started again, and closing leaves no process of it", async () => {
    const connection = await connect("stdio");
    const { processId = 0 } = connection;
    expect(runningIn(processId).length).toBeGreaterThanOrEqual(2);
    process.kill(processId, "SIGKILL");
    await until(() => connection.state === "connected" && connection.processId !== processId);
    expect(await view()).toContain("first");
    expect(runningIn(processId)).toEqual([]);
    const again = connection.processId ?? 0;
    await connection.close();
    expect(runningIn(again)).toEqual([]);
  });

  verifies(
    ["M7", "M5"],
    "killed and started again under us over HTTP, it is found again, with what it has then",
    async () => {
      const connection = await connect("streamable-http");
      const { port = 0 } = server ?? {};
      for (const context of ["second", "third"]) {
        await server?.kill();
        await until(() => connection.state !== "connected");
        await writeFile(config, kubeconfig(context));
        server = await ListeningKubernetes.start(config, port);
        await connection.ready();
        expect(await view()).toContain(`name: ${context}`);
      }
      expect(events.filter(({ type }) => type === "connectorConnected")).toHaveLength(3);
    },
  );
});
