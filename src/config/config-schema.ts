import { z } from "zod";
import { workflowSchema } from "../workflow/workflow-definition.ts";
import { connectorSchema, fieldSchemas, foreignServers } from "./connector-schema.ts";

/*
 * The form of `toolweave.yaml`. Every description here is shown by editors: docs/reference/toolweave.schema.json is made from it.
 */

const { milliseconds, count, texts, values, egress } = fieldSchemas;

const folder = z.strictObject({
  folder: z.string().min(1).describe("A folder of prompt files, beside this file."),
  namespace: z.string().optional().describe("The namespace of its prompts. Default: the name of the folder."),
  recursive: z.boolean().optional().describe("Read the folders inside it too."),
});

const resourceFile = z.strictObject({
  path: z.string().min(1).describe("A file beside this one, or a URL."),
  name: z.string().optional().describe("Default: the name of the file."),
  title: z.string().optional(),
  description: z.string().optional().describe("For models that choose what to read."),
});

const inFolder = {
  root: z.string().min(1).describe("The folder that is used, beside this file. Nothing leads out of it."),
  maxFileBytes: count.optional().describe("The largest file, in bytes. Default 5 MiB."),
  maxEntries: count.optional().describe("The most entries that one call looks at. Default 20,000."),
  searchMs: milliseconds.optional().describe("The longest time of one search, in milliseconds. Default 10,000."),
};

const manifestPlace = z.strictObject({
  path: z.string().min(1).describe("A folder of manifests, or a manifest, beside this file."),
  namespace: z.string().optional().describe("The namespace of its tools that name none. Default: manifest."),
  recursive: z.boolean().optional().describe("Read the folders inside it too."),
});

const packs = z.strictObject({
  fs: z
    .strictObject({
      ...inFolder,
      write: z.boolean().optional().describe("Whether files may be written. Default false."),
    })
    .optional()
    .describe("Reads, searches and writes files of one folder."),
  http: z
    .strictObject({
      allow: texts.optional().describe("The hosts that are asked, or globs on them: *.example.com. Default: all."),
      deny: texts.optional().describe("Hosts that are not asked, or globs on them."),
      egress: egress.optional().describe("Origins and CIDR blocks that may be reached beside public addresses."),
      maxBytes: count.optional().describe("The largest answer, in bytes. Default 5 MiB."),
      timeoutMs: milliseconds.optional().describe("The longest time of a request, in milliseconds. Default 30,000."),
    })
    .optional()
    .describe("Reads public web pages."),
  code: z.strictObject(inFolder).optional().describe("Describes the sources in one folder; executes nothing."),
});

const served = z.strictObject({
  name: z.string().optional().describe("The name that clients are given. Default: toolweave."),
  instructions: z.string().optional().describe("Instructions for the models of clients."),
  names: z
    .enum(["prefixed", "bare"])
    .optional()
    .describe("Names of tools: namespace__name, or as they are. Default: prefixed."),
  promptsAsTools: z.boolean().optional().describe("Serve each prompt as a tool too, which runs it. Default false."),
  protocol: z
    .enum(["auto", "2025-11-25", "2026-07-28"])
    .optional()
    .describe("The revisions of MCP that are served: both eras, or one alone. Default: auto."),
  discovery: z
    .enum(["all", "search"])
    .optional()
    .describe(
      "With search, clients see search_tools, describe_tool and call_tool in place of all tools. Default: all.",
    ),
  http: z
    .union([z.string(), z.int().min(0).max(65_535)])
    .optional()
    .describe("The port, or host:port, of `toolweave serve --http`. Default: 127.0.0.1:8808."),
  path: z.string().regex(/^\//, "it must begin with /").optional().describe("The path of the endpoint. Default: /mcp."),
  tokens: values
    .optional()
    .describe("Bearer tokens by principal; write ${VAR}. Without them, this machine alone is served."),
  allowedHosts: texts.optional().describe("Names in the Host of requests. Default: those of this machine."),
  allowedOrigins: texts.optional().describe("Origins of web pages that may make requests."),
  sessions: z.boolean().optional().describe("False serves each request by itself, for many replicas. Default true."),
  stateKey: z
    .union([z.string(), texts.min(1)])
    .optional()
    .describe(
      "The key of what clients without sessions carry while they are asked, at least 32 characters, or several of which the first seals; write ${VAR}. Replicas share it. Default: a random one.",
    ),
  inputTimeoutMs: count
    .optional()
    .describe("The time that such a client has to answer, in milliseconds. Default 600,000."),
  maxParkedCalls: count.optional().describe("The most calls that wait for such answers. Default 1,000."),
  maxParkedCallsPerPrincipal: count.optional().describe("The same for one principal. Default 100."),
  listTtlMs: z
    .int()
    .min(0)
    .optional()
    .describe("The time that such a client may take a list for current, in milliseconds. Default 0."),
});

const modelServer = z.strictObject({
  url: z.string().min(1).describe("A server of models, such as http://localhost:11434/v1."),
  api: z
    .enum(["chat", "anthropic"])
    .optional()
    .describe("OpenAI's Chat Completions (chat, the default) or Anthropic's Messages."),
  apiKey: z.string().optional().describe("Sent as a bearer token, to Anthropic's Messages as x-api-key; write ${VAR}."),
  headers: values.optional(),
});

/** The schema of the file. */
export const configSchema = z.strictObject({
  $schema: z.string().optional().describe("For editors."),
  connectors: z
    .record(z.string(), connectorSchema)
    .optional()
    .describe("MCP servers, by the namespace of their tools."),
  mcpServers: foreignServers.optional().describe("MCP servers as other clients write them."),
  mcp_servers: foreignServers.optional().describe("The same as mcpServers."),
  servers: foreignServers.optional().describe("The same, as VS Code writes it."),
  prompts: z
    .array(z.union([z.string().min(1), folder]))
    .optional()
    .describe("Folders of prompt files. They are followed while a service runs."),
  resources: z
    .array(z.union([z.string().min(1), resourceFile]))
    .optional()
    .describe("Files and URLs that tools and models may read."),
  manifests: z
    .array(z.union([z.string().min(1), manifestPlace]))
    .optional()
    .describe("Folders and files of tool manifests. They are followed while a service runs."),
  sandboxes: z
    .record(z.string(), texts.min(1))
    .optional()
    .describe("Commands that run the programs of manifests, by the name that exec.sandbox gives."),
  egress: egress
    .extend({
      mediaFromInput: z
        .boolean()
        .optional()
        .describe("Whether a prompt may fetch media by a URL of its input. Default false."),
    })
    .optional()
    .describe(
      "Where requests may go whose URL the operator did not write: of manifests, prompts and logins. Default: public addresses.",
    ),
  packs: packs.optional().describe("Packs of tools that are part of toolweave; each has its name as namespace."),
  workflows: z
    .array(
      z.union([
        z.string().min(1).describe("A workflow file, or a folder of such files, beside this file."),
        workflowSchema.omit({ $schema: true }).describe("A workflow written here."),
      ]),
    )
    .optional()
    .describe("Workflows: each is the tool workflow.<name>. Files are followed while a service runs."),
  policy: z
    .strictObject({
      allow: texts.optional().describe("Only these may be called: refs, or globs on them."),
      block: texts.optional().describe("These may not be called: names, refs, or globs on them."),
      ask: texts.optional().describe("A person must approve calls of these: names, refs, or globs on them."),
    })
    .optional()
    .describe("What may be called."),
  settings: z
    .record(
      z.string(),
      z.strictObject({
        timeoutMs: milliseconds.optional(),
        coerce: z.boolean().optional(),
        needsApproval: z.boolean().optional(),
        maxConcurrent: z.union([count, z.literal(false)]).optional(),
      }),
    )
    .optional()
    .describe("Settings of calls, by names, refs and globs on these."),
  store: z
    .string()
    .min(1)
    .optional()
    .describe("A file of SQLite beside this one, or postgres://user:password@host/database. Default: in memory."),
  models: z
    .strictObject({
      default: z.string().optional().describe("The model of prompts that name none: provider/name."),
      providers: z
        .record(z.string(), modelServer)
        .optional()
        .describe("Servers of models, by the name that prompts use."),
    })
    .optional()
    .describe(
      "The models that run prompts. anthropic, google, mistral, ollama and openai need no entry but their key in the environment.",
    ),
  timeoutMs: milliseconds.optional().describe("The longest silence of a tool, in milliseconds. Default 60,000."),
  server: served.optional().describe("How `toolweave serve` shows all this to MCP clients."),
});

/** A configuration as it is written, valid in itself. */
export type WrittenConfig = z.infer<typeof configSchema>;

/** The schema of the file for editors. */
export function editorSchema(): object {
  return { ...z.toJSONSchema(configSchema, { io: "input" }), title: "toolweave.yaml" };
}
