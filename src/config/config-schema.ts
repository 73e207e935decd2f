import { z } from "zod";

/*
 * The form of `toolweave.yaml`. Every description here is shown by editors: docs/reference/toolweave.schema.json is made from it.
 */

const milliseconds = z.number().positive();
const count = z.int().min(1);
const texts = z.array(z.string());
const values = z.record(z.string(), z.string());

const login = z
  .strictObject({
    scope: z
      .string()
      .optional()
      .describe("The scopes to ask for, separated by blanks. Default: those the server says it needs."),
    clientName: z.string().optional().describe("The name that a person is shown where the service registers itself."),
    redirectPort: z
      .int()
      .min(0)
      .max(65_535)
      .optional()
      .describe("The port of the browser's way back. Default: any that is free."),
  })
  .describe("Log in with a browser (OAuth 2.1). Tokens are kept beside this file in .toolweave/tokens.json.");

const connectorFields = {
  url: z.string().optional().describe("The http or https URL of a server. ${VAR} is read from the environment."),
  headers: values
    .optional()
    .describe("Sent with every request. ${VAR} and ${VAR:-default} are read from the environment."),
  command: z.string().optional().describe("The program of a server that is started here and spoken to over stdio."),
  args: texts.optional().describe("The arguments of the program."),
  env: values.optional().describe("Variables of the program, beside those every program needs."),
  inheritEnv: z
    .union([texts, z.literal(false)])
    .optional()
    .describe("Names of variables it inherits too, or globs on them."),
  cwd: z.string().optional().describe("The folder it runs in. Default: the folder of this file."),
  wrap: texts.optional().describe("A command that starts the program, such as a sandbox."),
  type: z
    .enum(["stdio", "http", "streamable-http", "streamableHttp", "sse", "a2a"])
    .optional()
    .describe("The transport; `a2a` for an agent, whose url is that of its card. Default: it is found out."),
  signature: z
    .strictObject({
      keys: z
        .array(z.looseObject({ kty: z.string() }))
        .describe("The public keys that may have signed it, as JSON Web Keys."),
      required: z.boolean().optional().describe("Refuse a card without a signature too. Default true."),
    })
    .optional()
    .describe("The keys by which the card of an agent must be signed. Default: signatures are not looked at."),
  disabled: z.boolean().optional().describe("Leave this server out."),
  enabled: z.boolean().optional().describe("False leaves this server out."),
  auth: z
    .union([z.literal("oauth"), login])
    .optional()
    .describe("Log in with a browser: `oauth`, or its options."),
  trust: z
    .enum(["standard", "untrusted"])
    .optional()
    .describe("An untrusted server has tight limits, and only what `allow` names may be used."),
  allow: texts
    .optional()
    .describe("The tools, prompts and resources that may be used: names, URIs, or globs on them. Default: all."),
  pins: z
    .union([z.boolean(), z.enum(["report", "quarantine"])])
    .optional()
    .describe("Keep what the server offers in toolweave.lock, and report or quarantine what changes."),
  lazy: z.boolean().optional().describe("Connect when it is first needed."),
  elicitation: z.boolean().optional().describe("Whether the server may ask a person. Default true."),
  sampling: z.boolean().optional().describe("Whether the server may ask a model. Default true."),
  callerRoots: z
    .boolean()
    .optional()
    .describe("Whether the server gets the roots of the caller it works for. Default false."),
  timeoutMs: milliseconds
    .optional()
    .describe("The longest silence of one of its tools, in milliseconds. Default 60,000."),
  connectTimeoutMs: milliseconds
    .optional()
    .describe("The longest attempt to connect, in milliseconds. Default 30,000."),
  pollMs: milliseconds
    .optional()
    .describe("How often lists are read again that the server does not announce, in milliseconds. Default 60,000."),
  healthCheckMs: milliseconds
    .optional()
    .describe("The longest silence until the server is taken for lost, in milliseconds."),
  retryMs: milliseconds.optional().describe("The first wait after a failed attempt, in milliseconds. Default 2,000."),
  maxRetryMs: milliseconds
    .optional()
    .describe("The longest wait between two attempts, in milliseconds. Default 1,200,000."),
  maxAttempts: count.optional().describe("Failed attempts in a row after which it is given up. Default: never."),
  maxConcurrentCalls: count.optional().describe("The most calls in flight. Default 1,000."),
  maxMessageBytes: count.optional().describe("The largest message of the server, in bytes. Default 64 MiB."),
  maxListSize: count.optional().describe("The most entries of a list. Default 10,000."),
};

const connector = z
  .union([
    z.string().min(1).describe("A URL, or a command line."),
    z.strictObject(connectorFields).describe("A server, by its URL or its command."),
  ])
  .describe("An MCP server: a URL, a command line, or an object with `url` or `command`.");

/** Other clients have fields of their own there: those are ignored. */
const foreignServers = z.record(z.string(), z.looseObject(connectorFields));

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
      egress: z
        .strictObject({ allow: texts.optional() })
        .optional()
        .describe("Origins and CIDR blocks that may be reached beside public addresses."),
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
  connectors: z.record(z.string(), connector).optional().describe("MCP servers, by the namespace of their tools."),
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
  packs: packs.optional().describe("Packs of tools that are part of toolweave; each has its name as namespace."),
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

/** An entry of `connectors` that is no shorthand. */
export type WrittenConnector = z.infer<z.ZodObject<typeof connectorFields>>;

/** The schema of the file for editors. */
export function editorSchema(): object {
  return { ...z.toJSONSchema(configSchema, { io: "input" }), title: "toolweave.yaml" };
}
