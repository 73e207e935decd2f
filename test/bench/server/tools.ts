import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

/** The schema of what the tools of the benches take and give. */
export const messageSchema = {
  type: "object" as const,
  properties: { text: { type: "string" }, count: { type: "integer", minimum: 0 } },
  required: ["text"],
  additionalProperties: false,
};

/** What the benches call their tools with. */
export const message = { text: "hello", count: 3 };

/** A server with `echo` and as many more tools as make the number. Each gives back its input. */
export function createServer(name: string, tools = 1): Server {
  const server = new Server({ name, version: "1.0.0" }, { capabilities: { tools: { listChanged: true } } });
  const definitions = Array.from({ length: tools }, (_, at) => ({
    name: at === 0 ? "echo" : `tool_${at}`,
    description: "Gives back what it is given.",
    inputSchema: messageSchema,
    outputSchema: messageSchema,
  }));
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: definitions }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
    content: [{ type: "text", text: JSON.stringify(params.arguments) }],
    structuredContent: params.arguments,
  }));
  return server;
}
