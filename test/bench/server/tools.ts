import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  CallToolRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";

/** The schema of what the tools of the benches take and give. */
export const messageSchema = {
  type: "object" as const,
  properties: { text: { type: "string" }, count: { type: "integer", minimum: 0 } },
  required: ["text"],
  additionalProperties: false,
};

/** The input with which the benches call their tools. */
export const message = { text: "hello", count: 3 };

/** The items of a bench server. */
export interface Offer {
  /** The number of tools: `echo`, then `tool_1`, `tool_2` and so on. Default: 1. */
  readonly tools?: number;
  /**
   * Whether they declare an output schema. Default: true. Not where lists are compared: the SDK's client compiles each output
   * schema at each list, which would make everybody else look fast.
   */
  readonly output?: boolean;
  /** The number of prompts, and of resources, beside one template. Default: none, and no capability for them. */
  readonly others?: number;
  /** Called at each list, where the server is in this process. */
  readonly onList?: () => void;
}

/** The capabilities of a server with this offer. */
export function capabilitiesOf({ others = 0 }: Offer) {
  const changes = { listChanged: true };
  return { tools: changes, ...(others === 0 ? {} : { prompts: changes, resources: changes }) };
}

/** The results of the lists of a server with this offer, by method. */
export function listsOf({ tools = 1, output = true, others = 0 }: Offer) {
  const numbers = Array.from({ length: others }, (_, at) => at + 1);
  return {
    "tools/list": {
      tools: Array.from({ length: tools }, (_, at) => ({
        name: at === 0 ? "echo" : `tool_${at}`,
        description: "Gives back what it is given.",
        inputSchema: messageSchema,
        ...(output ? { outputSchema: messageSchema } : {}),
      })),
    },
    "prompts/list": {
      prompts: numbers.map((at) => ({
        name: `prompt_${at}`,
        description: "Asks for something.",
        arguments: [{ name: "topic", description: "The topic of it.", required: true }],
      })),
    },
    "resources/list": {
      resources: numbers.map((at) => ({ uri: `bench://notes/${at}`, name: `note_${at}`, mimeType: "text/plain" })),
    },
    "resources/templates/list": {
      resourceTemplates: [{ uriTemplate: "bench://notes/{id}", name: "note", mimeType: "text/plain" }],
    },
  };
}

/** A server whose tools give back their input. */
export function createServer(name: string, offer: Offer = {}): Server {
  const { others = 0, onList } = offer;
  const server = new Server({ name, version: "1.0.0" }, { capabilities: capabilitiesOf(offer) });
  const lists = listsOf(offer);
  server.setRequestHandler(ListToolsRequestSchema, () => {
    onList?.();
    return lists["tools/list"];
  });
  if (others > 0) {
    server.setRequestHandler(ListPromptsRequestSchema, () => lists["prompts/list"]);
    server.setRequestHandler(ListResourcesRequestSchema, () => lists["resources/list"]);
    server.setRequestHandler(ListResourceTemplatesRequestSchema, () => lists["resources/templates/list"]);
  }
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
    content: [{ type: "text", text: JSON.stringify(params.arguments) }],
    structuredContent: params.arguments,
  }));
  return server;
}
