import { z } from "zod";

/*
 * The form of a manifest. Every description here is shown by editors: docs/reference/manifest.schema.json is made from it. The fields of
 * PromptKit keep their names; those that it does not have say so in docs/manifests.md.
 */

const text = z.string();
const texts = z.array(text);
const named = z.record(text, text);
/** 0 is what PromptKit writes for one that is left out. */
const milliseconds = z.number().min(0);
const schema = z.record(text, z.unknown());

const media = z.looseObject({
  file_path: text.optional().describe("A file beside the manifest."),
  url: text.optional().describe("An http(s) URL that is read at each call."),
  data: text.optional().describe("The bytes in base64."),
  mime_type: text.describe("Such as image/png."),
  caption: text.optional(),
});

const part = z.strictObject({
  type: text.describe("text, image, audio, video or document."),
  text: text.optional(),
  media: media.optional(),
});

const recordings = z
  .union([
    text,
    z.strictObject({ from: text, tool: text.optional().describe("The name or ref of the tool on a tape.") }),
  ])
  .describe(
    "A tape of the recorder, or a folder of recorded answers beside the manifest. They are found by the arguments.",
  );

const request = z.strictObject({
  query_params: texts.optional().describe("Arguments that are sent in the query."),
  header_params: named.optional().describe("Headers from templates of arguments: {{.token}}."),
  body_mapping: text.optional().describe("JMESPath: the body from the arguments."),
  exclude: texts.optional().describe("Arguments that are not sent."),
  static_query: named.optional(),
  static_headers: named.optional(),
  static_body: schema.optional(),
});

const http = z.strictObject({
  url: text.describe("The URL; {{.city}} is the argument city, ${VAR} a variable of the environment."),
  method: text.optional(),
  headers: named.optional().describe("Headers; ${VAR} is read from the environment."),
  headers_from_env: texts.optional().describe("Header=VAR; a name alone declares a variable that is needed."),
  timeout_ms: milliseconds.optional(),
  redact: texts.optional().describe("Fields of results that are masked."),
  request: request.optional(),
  response: z.strictObject({ body_mapping: text.optional().describe("JMESPath on the answer.") }).optional(),
  multimodal: z.strictObject({ enabled: z.boolean(), accept_types: texts.optional() }).optional(),
  max_bytes: z.int().min(1).optional().describe("The largest answer, in bytes."),
});

const exec = z.strictObject({
  command: text.min(1).describe("The program. No shell is between."),
  args: texts.optional().describe("Its arguments; {{.x}} is the argument x of the call. Each stays one argument."),
  env: texts.optional().describe("Names of variables that the program gets, beside PATH."),
  runtime: z
    .enum(["exec", "server"])
    .optional()
    .describe("exec: a process for each call. server: one process, asked in JSON-RPC, a message a line."),
  timeout_ms: milliseconds.optional(),
  cwd: text.optional().describe("The folder it runs in. Default: that of the manifest."),
  wrap: texts.optional().describe("A command that starts the program, such as a sandbox."),
  sandbox: text.optional().describe("The name of a sandbox of the option `sandboxes`."),
  max_output_bytes: z.int().min(1).optional().describe("The most that it may write, in bytes. Default 1 MiB."),
});

const client = z.strictObject({
  consent: z
    .strictObject({
      required: z.boolean(),
      message: text.optional(),
      decline_strategy: text.optional().describe("error (the default), fallback, retry, reject or skip."),
    })
    .optional()
    .describe("The person is asked before the client does it."),
  timeout_ms: milliseconds.optional(),
  categories: texts.optional(),
  validate_output: z.boolean().optional(),
});

const mcp = z.strictObject({
  tool: text.min(1).describe("The ref of the tool that is called: namespace.name."),
  defaults: schema.optional().describe("Arguments that are added where the caller gives none."),
  fixed: schema.optional().describe("Arguments that the caller cannot change."),
});

const a2a = z.looseObject({
  agent_url: text.min(1).describe("The URL of the agent, or of its card."),
  skill_id: text.optional(),
  timeout_ms: milliseconds.optional(),
  headers: named.optional(),
  headers_from_env: texts.optional(),
  egress: z
    .strictObject({ allow: texts.optional() })
    .optional()
    .describe("Origins and CIDR blocks that the card may lead to beside its own origin and public addresses."),
});

const hints = z.strictObject({
  title: text.optional(),
  readOnlyHint: z.boolean().optional(),
  destructiveHint: z.boolean().optional(),
  idempotentHint: z.boolean().optional(),
  openWorldHint: z.boolean().optional(),
});

/** Each is an attribute of every span and measurement. */
const labels = z
  .record(text.max(64), text.max(256))
  .refine((given) => Object.keys(given).length <= 32, "there may be 32 labels, of 64 characters with values of 256");

/** The names of the fields of `spec` that belong to a mode. */
export const modeFields = { live: "http", exec: "exec", client: "client", mcp: "mcp", a2a: "a2a" } as const;

const toolFields = {
  name: text.optional().describe("The name of the tool. Default: metadata.name."),
  namespace: text.optional().describe("Written by PromptKit; metadata.namespace is what counts."),
  title: text.optional().describe("For people."),
  description: text.optional().describe("For models: what it does, and when to use it."),
  mode: text.optional().describe("mock, live, exec, client, mcp or a2a, or a mode that the program adds."),
  timeout_ms: milliseconds.optional().describe("The longest silence of the tool, in milliseconds. Default 60,000."),
  input_schema: z.union([schema, z.boolean()]).optional().describe("JSON Schema of the arguments."),
  output_schema: z.union([schema, z.boolean()]).optional().describe("JSON Schema of the result."),
  labels: labels.optional().describe("Carried to events, metrics and spans."),
  annotations: hints.optional().describe("What the tool says of its behaviour."),
  mock_result: z.unknown().optional().describe("The result, whatever the arguments."),
  mock_result_file: text.optional().describe("A file of JSON beside the manifest that is the result."),
  mock_parts: z.array(part).optional().describe("Texts and media of the result."),
  mock_template: text.optional().describe("A template of the arguments that gives JSON: {{.city}} or {{city}}."),
  mock_template_file: text.optional().describe("A file with such a template."),
  mock_recordings: recordings.optional(),
  http: http.optional(),
  exec: exec.optional(),
  client: client.optional(),
  mcp: mcp.optional(),
  a2a: a2a.optional(),
};

/** The `spec` of a tool. Fields that a mode of the program's own reads are kept. */
export const toolSpec = z.looseObject(toolFields);

/** The names of the fields of a `spec` that every mode knows. */
export const knownToolFields: readonly string[] = Object.keys(toolFields);

/** The `spec` of a tool, as it is written. */
export type ToolSpec = z.infer<typeof toolSpec>;

/** The names of Kubernetes objects have more fields, which mean nothing here. */
const metadataSchema = z.looseObject({
  name: text.optional(),
  namespace: text.optional().describe("The namespace of its tools. Default: manifest."),
  labels: named.optional(),
  annotations: named.optional(),
});

/** The parts of a manifest around its `spec`, whose form is that of its kind. */
export const manifestSchema = z.strictObject({
  $schema: text.optional().describe("For editors."),
  apiVersion: text.optional().describe("Any."),
  kind: text.describe("Tool or OpenAPI."),
  metadata: metadataSchema.optional(),
  spec: schema,
});
