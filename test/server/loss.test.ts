import { fileURLToPath } from "node:url";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { expect } from "vitest";
import { everything } from "../e2e/support.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";
import { connectClient, type Received } from "./fixture/client.ts";

const gateway = fileURLToPath(new URL("fixture/gateway-program.ts", import.meta.url));

interface Outcome {
  readonly lists: unknown;
  readonly answers: Readonly<Record<string, unknown>>;
  readonly received: readonly Received[];
}

/** The same script for both: lists, calls, prompts, reads, completion; what differs by its nature is left out. */
async function script(args: readonly string[]): Promise<Outcome> {
  const transport = new StdioClientTransport({ command: process.execPath, args: [...args], stderr: "ignore" });
  const { client, received } = await connectClient(transport);
  try {
    // It adds tools once it knows the client.
    await until(async () => (await client.listTools()).tools.length >= 15);
    const lists = {
      tools: byName((await client.listTools()).tools),
      prompts: byName((await client.listPrompts()).prompts),
      resources: byUri((await client.listResources()).resources),
      templates: byName((await client.listResourceTemplates()).resourceTemplates),
    };
    const answers = await answersOf(client, received);
    const others = received.filter(({ method }) => method !== "notifications/tools/list_changed");
    return { lists, answers, received: withoutRepeated(others).map(withoutLogger) };
  } finally {
    await client.close();
  }
}

/** It goes on to say every five seconds that a resource changed, until that is switched off. */
function withoutRepeated(received: readonly Received[]): readonly Received[] {
  const first = received.findIndex(({ method }) => method === "notifications/resources/updated");
  return received.filter(({ method }, at) => method !== "notifications/resources/updated" || at === first);
}

/** Behind us a log message says which server it is of. */
function withoutLogger({ method, params }: Received): Received {
  if (method !== "notifications/message") return { method, params };
  const { logger: _logger, ...others } = params as Record<string, unknown>;
  return { method, params: others };
}

const calls: readonly (readonly [string, Record<string, unknown>])[] = [
  ["echo", { message: "hi" }],
  ["get-annotated-message", { messageType: "error", includeImage: true }],
  ["get-resource-links", { count: 3 }],
  ["get-resource-reference", { resourceType: "Text", resourceId: 1 }],
  ["get-structured-content", { location: "Chicago" }],
  ["get-sum", { a: 2, b: 3 }],
  ["get-tiny-image", {}],
  ["trigger-sampling-request", { prompt: "say aha", maxTokens: 50 }],
  ["trigger-elicitation-request", {}],
  ["trigger-url-elicitation", { url: "https://example.com/one", elicitationId: "one" }],
  ["trigger-url-elicitation", { url: "https://example.com/two", elicitationId: "two", errorPath: true }],
];

async function answersOf(client: Client, received: readonly Received[]): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  const note = async (key: string, work: () => Promise<unknown>) => {
    answers[key] = await work().catch(({ code, data }: { readonly code?: unknown; readonly data?: unknown }) =>
      // Bad arguments are refused here, in the words of this library.
      code === -32_602 ? { failed: code } : { failed: code, data },
    );
  };
  for (const [name, input] of calls) {
    await note(`${name} ${JSON.stringify(input)}`, () => client.callTool({ name, arguments: input }));
  }
  const steps: unknown[] = [];
  const long = { name: "trigger-long-running-operation", arguments: { duration: 0.5, steps: 5 } };
  await note("long", () => client.callTool(long, undefined, { onprogress: (progress) => steps.push(progress) }));
  // The SDK drops the progress that comes together with the answer.
  answers.progress = steps.slice(0, 3);
  await note("simple", () => client.getPrompt({ name: "simple-prompt" }));
  await note("args", () => client.getPrompt({ name: "args-prompt", arguments: { city: "Bern", state: "BE" } }));
  await note("missing", () => client.getPrompt({ name: "args-prompt", arguments: {} }));
  await note("resource prompt", () =>
    client.getPrompt({ name: "resource-prompt", arguments: { resourceType: "Text", resourceId: "1" } }),
  );
  const ref = { type: "ref/prompt", name: "completable-prompt" } as const;
  await note("complete", () => client.complete({ ref, argument: { name: "department", value: "E" } }));
  await note("read", () => client.readResource({ uri: "demo://resource/static/document/features.md" }));
  await note("subscribe", () => client.subscribeResource({ uri: "demo://resource/static/document/features.md" }));
  const toggle = () => client.callTool({ name: "toggle-subscriber-updates" });
  await note("updates on", toggle);
  await until(() => received.some(({ method }) => method === "notifications/resources/updated"));
  await note("updates off", toggle);
  await note("level", () => client.setLoggingLevel("error"));
  return JSON.parse(
    JSON.stringify(answers)
      .replaceAll(/\d{1,2}:\d{2}:\d{2}( [AP]M)?/g, "now")
      .replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, "id"),
  ) as Record<string, unknown>;
}

const byName = <T extends { readonly name: string }>(list: readonly T[]) =>
  [...list].sort((a, b) => (a.name < b.name ? -1 : 1));
const byUri = <T extends { readonly uri: string }>(list: readonly T[]) =>
  [...list].sort((a, b) => (a.uri < b.uri ? -1 : 1));

verifies(
  ["V1", "V2"],
  "server-everything behind a served Toolkit says what it says directly: lists, answers, requests and notifications",
  async () => {
    const [direct, behind] = await Promise.all([script([everything, "stdio"]), script([gateway])]);
    expect(behind.lists).toEqual(direct.lists);
    expect(behind.answers).toEqual(direct.answers);
    expect(behind.received).toEqual(direct.received);
    expect(Object.keys(direct.answers)).toHaveLength(23);
    expect(new Set(direct.received.map(({ method }) => method))).toEqual(
      new Set([
        "elicitation/create",
        "sampling/createMessage",
        "notifications/message",
        "notifications/resources/updated",
      ]),
    );
  },
  60_000,
);
