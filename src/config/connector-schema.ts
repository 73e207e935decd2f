import { z } from "zod";
import { isEgressRule } from "../core/egress.ts";

// The entries of `connectors`, and of the lists of servers that other clients write.

/** Schemas of fields that many parts of the file have. */
export const fieldSchemas = {
  milliseconds: z.number().positive(),
  count: z.int().min(1),
  texts: z.array(z.string()),
  values: z.record(z.string(), z.string()),
  egress: z.strictObject({
    allow: z
      .array(
        z.string().refine(isEgressRule, "it must be an origin (http://10.0.0.5:8080) or a CIDR block (10.0.0.0/8)"),
      )
      .optional()
      .describe("Origins (http://10.0.0.5:8080) and CIDR blocks (10.0.0.0/8)."),
  }),
};
const { milliseconds, count, texts, values, egress } = fieldSchemas;

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
  egress: egress
    .optional()
    .describe("For a URL: where its logins, and the card of an agent, may lead beside public addresses."),
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

export const connectorSchema = z
  .union([
    z.string().min(1).describe("A URL, or a command line."),
    z.strictObject(connectorFields).describe("A server, by its URL or its command."),
  ])
  .describe("An MCP server: a URL, a command line, or an object with `url` or `command`.");

/** Other clients have fields of their own there: those are ignored. */
export const foreignServers = z.record(z.string(), z.looseObject(connectorFields));

/** An entry of `connectors` that is no shorthand. */
export type WrittenConnector = z.infer<z.ZodObject<typeof connectorFields>>;
