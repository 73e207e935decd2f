import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { expect } from "vitest";
import { serveStdio } from "../../src/server/index.ts";
import { verifies } from "../support/verifies.ts";
import { call, connectClient, initialize } from "./fixture/client.ts";
import { servedToolkit } from "./fixture/toolkit.ts";

const program = fileURLToPath(new URL("fixture/stdio-program.ts", import.meta.url));

verifies(
  ["V1", "V2"],
  "a client of the SDK uses builtins over stdio: tools, prompts, resources, templates, completion",
  async () => {
    const transport = new StdioClientTransport({ command: process.execPath, args: [program], stderr: "inherit" });
    const { client, received } = await connectClient(transport);
    try {
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
        "ask",
        "echo",
        "fail",
        "hang",
        "picture",
        "steps",
        "sum",
        "think",
        "whoami",
      ]);
      const sum = await client.callTool({ name: "sum", arguments: { a: 1, b: 2 } });
      expect(sum).toEqual({ content: [{ type: "text", text: '{"sum":3}' }], structuredContent: { sum: 3 } });
      const picture = await client.callTool({ name: "picture" });
      expect(picture.content).toEqual([{ type: "image", data: expect.any(String), mimeType: "image/png" }]);
      const failed = await client.callTool({ name: "fail" });
      expect(failed).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("the disk is full") }] });
      const invalid = await client.callTool({ name: "echo", arguments: {} });
      expect(invalid).toMatchObject({ isError: true, _meta: { "toolweave/code": "INVALID_INPUT" } });
      await expect(client.callTool({ name: "nothing" })).rejects.toMatchObject({ code: -32602 });
      expect(await client.callTool({ name: "ask" })).toMatchObject({
        content: [{ text: expect.stringContaining("Bern") }],
      });
      expect(await client.callTool({ name: "think" })).toMatchObject({
        content: [{ text: expect.stringContaining("aha") }],
      });
      const { prompts } = await client.listPrompts();
      expect(prompts).toMatchObject([
        { name: "greet", arguments: [{ name: "name", required: true }, { name: "times" }] },
      ]);
      const { messages } = await client.getPrompt({ name: "greet", arguments: { name: "Ada", times: "3" } });
      expect(messages.map(({ content }) => content)).toEqual([
        { type: "text", text: "Be kind." },
        { type: "text", text: "Greet Ada." },
      ]);
      await expect(client.getPrompt({ name: "greet", arguments: {} })).rejects.toMatchObject({ code: -32602 });
      const { contents } = await client.readResource({ uri: "text:note" });
      expect(contents).toEqual([{ uri: "text:note", mimeType: "text/plain", text: "remember the milk" }]);
      expect((await client.readResource({ uri: "city://Bern" })).contents).toMatchObject([
        { text: "The city of city://Bern" },
      ]);
      await expect(client.readResource({ uri: "no://thing" })).rejects.toMatchObject({ code: -32002 });
      const ref = { type: "ref/resource", uri: "city://{name}" } as const;
      const { completion } = await client.complete({ ref, argument: { name: "name", value: "Ber" } });
      expect(completion.values).toEqual(["Bern", "Berlin"]);
      await client.ping();
      expect(received.map(({ method }) => method)).toEqual(["elicitation/create", "sampling/createMessage"]);
    } finally {
      await client.close();
    }
  },
);

verifies("V3", "the end of stdin ends the process, whatever keeps it alive", async () => {
  const child = spawn(process.execPath, [program, "busy", "upstream"], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface(child.stdout);
  child.stdin.write(`${JSON.stringify(initialize())}\n`);
  await once(lines, "line");
  child.stdin.end();
  const [code] = await once(child, "exit");
  expect(code).toBe(0);
});

/** A toolkit served over streams in this process, with the lines it writes. */
async function served(maxMessageBytes?: number) {
  const toolkit = servedToolkit();
  const [input, output] = [new PassThrough(), new PassThrough()];
  const service = await serveStdio(toolkit, { input, output, ...(maxMessageBytes && { maxMessageBytes }) });
  const lines = createInterface(output)[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value as string) as Record<string, unknown>;
  const say = (message: unknown) =>
    void input.write(`${typeof message === "string" ? message : JSON.stringify(message)}\n`);
  return { toolkit, service, input, next, say };
}

verifies("V2", "progress, log messages and the answer come in their order; the log level is the client's", async () => {
  const { toolkit, service, next, say } = await served();
  say(initialize());
  await next();
  say(call(1, "steps", {}, { progressToken: "p" }));
  const params = (await Promise.all([next(), next(), next(), next(), next()])).map(
    (message) => message.params ?? message.result,
  );
  expect(params).toEqual([
    { progressToken: "p", progress: 1, total: 3, message: "step 1" },
    { progressToken: "p", progress: 2, total: 3, message: "step 2" },
    { progressToken: "p", progress: 3, total: 3, message: "step 3" },
    { level: "info", logger: "builtin.steps", data: "all steps are done" },
    { content: [{ type: "text", text: "done" }] },
  ]);
  say({ jsonrpc: "2.0", id: 2, method: "logging/setLevel", params: { level: "error" } });
  expect(await next()).toMatchObject({ id: 2, result: {} });
  say(call(3, "steps"));
  expect(await next()).toMatchObject({ id: 3 });
  await service.close();
  await toolkit.close();
});

verifies("V3", "a line that is no message, or too large, is answered with an error and harms nothing", async () => {
  const { toolkit, service, next, say } = await served(2_000);
  say("garbage");
  expect(await next()).toMatchObject({ id: null, error: { code: -32700 } });
  say(call(1, "echo", { text: "x".repeat(5_000) }));
  expect(await next()).toMatchObject({
    id: null,
    error: { code: -32600, message: expect.stringContaining("maxMessageBytes") },
  });
  say({ jsonrpc: "2.0", id: 2, method: "no/such" });
  expect(await next()).toMatchObject({ id: 2, error: { code: -32601 } });
  say({ jsonrpc: "2.0", id: 3, method: "tools/list", params: { cursor: "!" } });
  expect(await next()).toMatchObject({ id: 3, error: { code: -32602 } });
  say(initialize());
  await next();
  say(initialize());
  expect(await next()).toMatchObject({ error: { code: -32600 } });
  say(call(4, "echo", { text: "still here" }));
  expect(await next()).toMatchObject({ result: { content: [{ text: "still here" }] } });
  await service.close();
  await toolkit.close();
});

verifies(
  "V4",
  "a cancelled request gets no answer and its tool is aborted; so is each when the client is gone",
  async () => {
    const { toolkit, service, input, next, say } = await served();
    const ended: (string | undefined)[] = [];
    toolkit.on("callFinished", ({ error }) => ended.push(error?.message));
    const begun = (count: number) => {
      let left = count;
      return new Promise<void>((resolve) => toolkit.on("callStarted", () => --left === 0 && resolve()));
    };
    const first = begun(1);
    say(call(1, "hang"));
    await first;
    say({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1, reason: "enough" } });
    say({ jsonrpc: "2.0", id: 2, method: "ping" });
    expect(await next()).toEqual({ jsonrpc: "2.0", id: 2, result: {} });
    expect(ended).toHaveLength(1);
    const both = begun(2);
    say(call(3, "hang"));
    say(call(4, "hang"));
    await both;
    input.end();
    await service.closed;
    expect(ended).toHaveLength(3);
    await toolkit.close();
  },
);

verifies("V4", "closing lets a running request finish, and refuses new ones", async () => {
  const { toolkit, service, next, say } = await served();
  const begun = new Promise((resolve) => toolkit.on("callStarted", resolve));
  say(initialize({ elicitation: {} }));
  await next();
  say(call(1, "ask"));
  await begun;
  const { id } = await next();
  const closing = service.close();
  say(call(2, "echo", { text: "late" }));
  expect(await next()).toMatchObject({ id: 2, error: { message: expect.stringContaining("shutting down") } });
  say({ jsonrpc: "2.0", id, result: { action: "accept", content: { city: "Bern" } } });
  expect(await next()).toMatchObject({ id: 1, result: { content: [{ text: expect.stringContaining("Bern") }] } });
  await closing;
  await toolkit.close();
});
