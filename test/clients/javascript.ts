import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { ClientOutcome } from "./expected.ts";

/** Where a client finds its server: a URL with a token, or a command. */
export type ClientTarget =
  | { readonly url: string; readonly token: string }
  | { readonly command: string; readonly args: readonly string[] };

/** The methods of the clients of both lines of the TypeScript SDK, as far as they are used here. */
interface SdkClient {
  connect(transport: object): Promise<void>;
  close(): Promise<void>;
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  callTool(params: object): Promise<object>;
  listPrompts(): Promise<{ readonly prompts: readonly { readonly name: string }[] }>;
  getPrompt(params: object): Promise<{ readonly messages: readonly { readonly content: object }[] }>;
  listResources(): Promise<{ readonly resources: readonly { readonly uri: string }[] }>;
  readResource(params: object): Promise<{ readonly contents: readonly object[] }>;
  getNegotiatedProtocolVersion?(): string | undefined;
}

/** The classes of one line of the SDK. */
export interface SdkClasses {
  readonly Client: new (info: { name: string; version: string }, options?: object) => object;
  readonly StdioClientTransport: new (server: { command: string; args: string[] }) => object;
  readonly StreamableHTTPClientTransport: new (url: URL, options: object) => object;
}

export const firstSdk: SdkClasses = { Client, StdioClientTransport, StreamableHTTPClientTransport };

/** Lists, calls, gets and reads with the client of an SDK. */
export async function useSdk(classes: SdkClasses, target: ClientTarget, options?: object): Promise<ClientOutcome> {
  const transport =
    "url" in target
      ? new classes.StreamableHTTPClientTransport(new URL(target.url), {
          requestInit: { headers: { authorization: `Bearer ${target.token}` } },
        })
      : new classes.StdioClientTransport({ command: target.command, args: [...target.args] });
  const client = new classes.Client({ name: "client", version: "1.0.0" }, options) as SdkClient;
  await client.connect(transport);
  try {
    const { tools } = await client.listTools();
    const called = await client.callTool({ name: "sum", arguments: { a: 1, b: 2 } });
    const { prompts } = await client.listPrompts();
    const { messages } = await client.getPrompt({ name: "greet", arguments: { name: "Ada", times: "3" } });
    const { resources } = await client.listResources();
    const { contents } = await client.readResource({ uri: "text:note" });
    return {
      protocol: client.getNegotiatedProtocolVersion?.(),
      tools: tools.map(({ name }) => name),
      called: fieldOf(called, "structuredContent"),
      prompts: prompts.map(({ name }) => name),
      prompt: messages.map(({ content }) => fieldOf(content, "text")),
      resources: resources.map(({ uri }) => uri),
      read: fieldOf(contents[0], "text"),
    };
  } finally {
    await client.close();
  }
}

export function fieldOf(value: unknown, field: string): unknown {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>)[field] : undefined;
}
