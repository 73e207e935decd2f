/**
 * Measures the files and functions of src that each of the main ways passes, by V8's precise coverage. A process can measure once: what it
 * has loaded and made before would be missing the second time.
 */
import { createServer } from "node:http";
import { Session } from "node:inspector/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { agent } from "../../src/agent/index.ts";
import { defineTool, memoryStore, resource, Toolkit } from "../../src/index.ts";
import { inMemoryConnector } from "../../src/mcp/index.ts";
import { scriptedModel } from "../../src/testing/index.ts";
import { project } from "./project.ts";

const sources = join(project, "src");
const schema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const input = { text: "hello" };

/** One way and the functions it passes, each as `folder/file.ts name`. */
export interface MeasuredWay {
  readonly name: string;
  readonly files: number;
  readonly functions: number;
  readonly passed: readonly string[];
}

const inspector = new Session();

/**
 * Takes each way once: a call of a builtin, a call of an MCP tool in memory and over HTTP, a write to the namespace `user`, and an agent run
 * of two steps in a new Toolkit.
 */
export async function measureWays(): Promise<readonly MeasuredWay[]> {
  inspector.connect();
  try {
    await inspector.post("Profiler.enable");
    await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    return [await builtinCall(), await memoryCall(), await httpCall(), await userWrite(), await agentRun()];
  } finally {
    inspector.disconnect();
  }
}

/** A file of src that a service has too: the scripted model is not one. */
function isCounted(file: string): boolean {
  const path = relative(sources, file);
  return !path.startsWith("..") && !path.startsWith("testing");
}

/** The functions of src that ran while the step did; what runs once when a module is loaded does not count. */
async function passedBy(name: string, step: () => Promise<unknown>): Promise<MeasuredWay> {
  await inspector.post("Profiler.takePreciseCoverage");
  await step();
  const { result } = await inspector.post("Profiler.takePreciseCoverage");
  const passed = result
    .filter(({ url }) => url.startsWith("file:") && isCounted(fileURLToPath(url)))
    .flatMap(({ url, functions }) => {
      const file = relative(sources, fileURLToPath(url));
      return functions
        .filter(({ functionName, ranges: [range] }) => {
          const isModule = functionName === "" && range?.startOffset === 0;
          return !isModule && (range?.count ?? 0) > 0;
        })
        .map(({ functionName, ranges: [range] }) => `${file} ${functionName || `(${range?.startOffset})`}`);
    });
  return { name, files: new Set(passed.map((each) => each.split(" ")[0])).size, functions: passed.length, passed };
}

/** Warm: the second call, whose way is compiled. */
async function builtinCall(): Promise<MeasuredWay> {
  await using toolkit = new Toolkit({ items: [echo("echo")] });
  await toolkit.call("echo", input);
  return await passedBy("call of a builtin", () => toolkit.call("echo", input));
}

async function memoryCall(): Promise<MeasuredWay> {
  await using toolkit = new Toolkit();
  toolkit.addConnector(
    inMemoryConnector((transport: Transport) => mcpServer().connect(transport)),
    { namespace: "memory" },
  );
  await toolkit.start();
  await toolkit.call("memory.echo", input);
  return await passedBy("call of an MCP tool, in memory", () => toolkit.call("memory.echo", input));
}

async function httpCall(): Promise<MeasuredWay> {
  const listener = createServer(async (request, response) => {
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    response.on("close", () => void transport.close());
    await mcpServer().connect(transport as Transport);
    await transport.handleRequest(request, response);
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const address = listener.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  const toolkit = new Toolkit();
  try {
    toolkit.addConnector(`http://127.0.0.1:${address.port}/mcp`, { namespace: "http" });
    await toolkit.start();
    await toolkit.call("http.echo", input);
    return await passedBy("call of an MCP tool, over HTTP", () => toolkit.call("http.echo", input));
  } finally {
    await toolkit.close();
    listener.closeAllConnections();
    listener.close();
  }
}

async function userWrite(): Promise<MeasuredWay> {
  await using toolkit = new Toolkit({ store: memoryStore() });
  await toolkit.start();
  await toolkit.user.putResource(note("one"));
  return await passedBy("write to the namespace user", () => toolkit.user.putResource(note("two")));
}

/** From `new Toolkit()` to the answer: nothing of it is warm. */
async function agentRun(): Promise<MeasuredWay> {
  await using toolkit = new Toolkit();
  const model = scriptedModel([{ toolCalls: [{ name: "echo", input }] }, "done"]);
  return await passedBy("agent run of two steps, in a new Toolkit", async () => {
    toolkit.add(echo("echo"));
    await agent({ defaultModel: model }).generate("Say hello.", { toolbox: toolkit, tools: ["echo"] });
  });
}

function note(text: string) {
  return resource.withUri(resource.text("note", text), "note:one");
}

function echo(name: string) {
  return defineTool<{ text: string }, string>({ name, input: schema, run: ({ text }) => text });
}

function mcpServer(): Server {
  const server = new Server({ name: "paths", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [{ name: "echo", inputSchema: { ...schema, type: "object" as const } }],
  }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
    content: [{ type: "text", text: JSON.stringify(params.arguments) }],
  }));
  return server;
}
