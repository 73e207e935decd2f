import { z } from "zod";

/*
 * The form of the `spec` of a manifest of kind OpenAPI. Every description here is shown by editors.
 */

const text = z.string().min(1);
const texts = z.array(text);
const named = z.record(text, z.string());

const rules = z.strictObject({
  operations: texts.optional().describe("Globs on operationIds, and on the names of tools: issues/*."),
  tags: texts.optional().describe("Globs on tags."),
  paths: texts.optional().describe("Globs on paths as the document writes them: /repos/*."),
  methods: texts.optional().describe("Methods: get, post."),
});

const login = z.strictObject({ username: z.string(), password: z.string() });

/** The form of the `spec` of `kind: OpenAPI`. */
export const openApiSpec = z.strictObject({
  document: z
    .union([text, z.record(text, z.unknown())])
    .describe("The document: a file beside the manifest, an http(s) URL, or the document itself."),
  server: text
    .optional()
    .describe("The URL that its operations are called at. Default: the first server of the document."),
  server_variables: named.optional().describe("Values of the variables of the document's server."),
  include: rules.optional().describe("The operations that become tools: those that fit each list. Default: all."),
  exclude: rules.optional().describe("Operations that do not: those that fit any list."),
  auth: z
    .record(text, z.union([text, login]))
    .optional()
    .describe(
      "By security scheme of the document: a key or token, or username and password. ${VAR} is read from the environment.",
    ),
  headers: named.optional().describe("Sent with every request. ${VAR} is read from the environment."),
  output_schemas: z
    .boolean()
    .optional()
    .describe("False leaves out the schemas of results, against which answers are checked."),
  timeout_ms: z
    .number()
    .min(0)
    .optional()
    .describe("The limit of each request, in milliseconds. Default: that of calls."),
  max_bytes: z.int().min(1).optional().describe("The largest answer, decoded, in bytes. Default 10 MiB."),
  redact: texts.optional().describe("Members of answers whose values are masked."),
  labels: named.optional().describe("Carried to events, metrics and spans."),
});

/** The `spec` of `kind: OpenAPI`. */
export type OpenApiSpec = z.output<typeof openApiSpec>;
