import type { ManifestContext, ManifestKind, ParsedManifest } from "../manifest-port.ts";
import { type OpenApiSpec, openApiSpec } from "./openapi-spec.ts";
import type { OpenApiPlan } from "./openapi-tools.ts";
import type { ReadDocument } from "./read-document.ts";
import type { Credential } from "./security.ts";

const maxBytes = 10 * 2 ** 20;
const path = ["spec", "document"];

/** `kind: OpenAPI`: one document, a tool for each of its operations. */
export const openApiKind: ManifestKind<typeof openApiSpec> = {
  spec: openApiSpec,
  async tools(manifest, context) {
    // Loaded with the first such manifest.
    const [{ readDocument }, { openApiTools }, { DocumentMistake }] = await Promise.all([
      import("./read-document.ts"),
      import("./openapi-tools.ts"),
      import("./openapi-document.ts"),
    ]);
    const document = await readDocument(manifest, context);
    const plan = planOf(manifest, context, document);
    try {
      const { tools, mistakes } = await openApiTools(document.value, plan, context.signal);
      const [first] = mistakes;
      if (tools.length === 0 && first !== undefined) throw first;
      for (const mistake of mistakes.slice(0, maxMistakes)) context.report(document.problem(mistake));
      const more = mistakes.length - maxMistakes;
      if (more > 0)
        context.report(manifest.problem(path, `${more} more operations of the document have mistakes.`, ""));
      if (tools.length > 0) return tools;
    } catch (error) {
      throw error instanceof DocumentMistake ? document.problem(error) : error;
    }
    const hint = "Look at spec.include and spec.exclude, and at paths of the document.";
    throw manifest.problem(path, "No operation of the document becomes a tool.", hint);
  },
};

/** So many mistakes of one document are named: the place of each is looked for in the whole text. */
const maxMistakes = 10;

function planOf(
  { spec, problem }: ParsedManifest<OpenApiSpec>,
  context: ManifestContext,
  { url }: ReadDocument,
): OpenApiPlan {
  const texts = (
    field: string,
    values: Readonly<Record<string, string>> = {},
  ): readonly (readonly [string, string])[] =>
    Object.entries(values).map(([name, text]) => [name, context.expand(["spec", field, name], text)]);
  const headers = texts("headers", spec.headers).map(([name, text]) => [name.toLowerCase(), text] as const);
  for (const [name, text] of headers)
    if (!/^[!#$%&'*+.^`|~\w-]+$/.test(name) || /[\r\n\0]/.test(text))
      throw problem(
        ["spec", "headers", name],
        "This is no header of HTTP.",
        "Write a name of letters and dashes, and a value on one line.",
      );
  const written = spec.server === undefined ? undefined : context.expand(["spec", "server"], spec.server);
  const server = written === undefined ? undefined : URL.parse(written);
  if (server === null || (server !== undefined && !/^https?:$/.test(server.protocol)))
    throw problem(["spec", "server"], "The server must be an http or https URL.", "Write https://host/path.");
  return {
    server,
    variables: Object.fromEntries(texts("server_variables", spec.server_variables)),
    documentUrl: url,
    include: spec.include,
    exclude: spec.exclude,
    auth: credentialsOf(spec, context),
    headers: Object.fromEntries(headers),
    secrets: headers.map(([, text]) => text),
    hasOutputs: spec.output_schemas !== false,
    maxBytes: spec.max_bytes ?? maxBytes,
    timeoutMs: spec.timeout_ms === 0 ? undefined : spec.timeout_ms,
    redact: spec.redact ?? [],
    labels: spec.labels,
  };
}

function credentialsOf({ auth = {} }: OpenApiSpec, context: ManifestContext): Readonly<Record<string, Credential>> {
  const credentials = Object.entries(auth).map(([name, credential]) => {
    const at = ["spec", "auth", name];
    if (typeof credential === "string") return [name, context.expand(at, credential)];
    const part = (field: "username" | "password") => context.expand([...at, field], credential[field]);
    return [name, { username: part("username"), password: part("password") }];
  });
  return Object.fromEntries(credentials);
}
