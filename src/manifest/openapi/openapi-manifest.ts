import type { Tool } from "../../core/item.ts";
import { glob } from "../../lib/glob.ts";
import { tokensInPath } from "../../lib/token-shape.ts";
import { variableValues } from "../../lib/variables.ts";
import { headerNameFault, isHeaderText } from "../http/request-message.ts";
import type { ManifestContext, ParsedManifest } from "../manifest-port.ts";
import { DocumentMistake } from "./openapi-document.ts";
import type { OpenApiSpec } from "./openapi-spec.ts";
import { type OpenApiPlan, openApiTools } from "./openapi-tools.ts";
import { type ReadDocument, readDocument } from "./read-document.ts";
import type { Credential } from "./security.ts";

const maxBytes = 10 * 2 ** 20;
const path = ["spec", "document"];
const notOneLine = "has a line break, or a character beyond Latin-1, which no header can have";

/**
 * The tools of a manifest of `kind: OpenAPI`: one for each operation of its document.
 *
 * @throws ToolkitError `INVALID_MANIFEST`
 */
export async function toolsOfDocument(
  manifest: ParsedManifest<OpenApiSpec>,
  context: ManifestContext,
): Promise<readonly Tool[]> {
  const document = await readDocument(manifest, context);
  const plan = planOf(manifest, context, document);
  try {
    const { tools, mistakes } = await openApiTools(document.value, plan, context.signal);
    const [first] = mistakes;
    if (tools.length === 0 && first !== undefined) throw first;
    for (const mistake of mistakes.slice(0, maxMistakes)) context.report(document.problem(mistake));
    const more = mistakes.length - maxMistakes;
    if (more > 0) context.report(manifest.problem(path, `${more} more operations of the document have mistakes.`, ""));
    if (tools.length > 0) return tools;
  } catch (error) {
    throw error instanceof DocumentMistake ? document.problem(error) : error;
  }
  const hint = "Look at spec.include and spec.exclude, and at paths of the document.";
  throw manifest.problem(path, "No operation of the document becomes a tool.", hint);
}

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
  for (const [name, text] of headers) {
    const fault = headerNameFault(name) ?? (isHeaderText(text) ? undefined : notOneLine);
    if (fault !== undefined) throw problem(["spec", "headers", name], `${JSON.stringify(name)} ${fault}.`, "");
  }
  const written = spec.server === undefined ? undefined : context.expand(["spec", "server"], spec.server);
  const server = written === undefined ? undefined : URL.parse(written);
  if (server === null || (server !== undefined && !/^https?:$/.test(server.protocol)))
    throw problem(["spec", "server"], "The server must be an http or https URL.", "Write https://host/path.");
  if (server !== undefined && (server.username !== "" || server.password !== ""))
    throw problem(["spec", "server"], "The server holds a user name or a password.", "Write them into spec.auth.");
  return {
    server,
    variables: Object.fromEntries(texts("server_variables", spec.server_variables)),
    documentUrl: url,
    include: spec.include,
    exclude: spec.exclude,
    auth: credentialsOf(spec, context, problem),
    headers: Object.fromEntries(headers),
    secrets: [...headers.map(([, text]) => text), ...secretsOfServer(spec, context, server)],
    hasOutputs: spec.output_schemas !== false,
    maxBytes: spec.max_bytes ?? maxBytes,
    timeoutMs: spec.timeout_ms === 0 ? undefined : spec.timeout_ms,
    redact: spec.redact ?? [],
    masked: (spec.redact ?? []).map(glob),
    labels: spec.labels,
  };
}

/** The values of variables in the address of the server, and keys in its path: many services answer an error with the path that it is about. */
function secretsOfServer(
  { server: written = "" }: OpenApiSpec,
  { env }: ManifestContext,
  server: URL | undefined,
): readonly string[] {
  const secrets = [...variableValues(written, env), ...tokensInPath(server?.pathname ?? "")];
  return secrets.filter((secret) => server?.origin.includes(secret) !== true);
}

function credentialsOf(
  { auth = {} }: OpenApiSpec,
  context: ManifestContext,
  problem: ParsedManifest["problem"],
): Readonly<Record<string, Credential>> {
  const credentials = Object.entries(auth).map(([name, credential]) => {
    const at = ["spec", "auth", name];
    const part = (place: readonly string[], written: string) => {
      const text = context.expand(place, written);
      if (!isHeaderText(text)) throw problem(place, `${JSON.stringify(name)} ${notOneLine}.`, "");
      return text;
    };
    if (typeof credential === "string") return [name, part(at, credential)];
    const { username, password } = credential;
    return [name, { username: part([...at, "username"], username), password: part([...at, "password"], password) }];
  });
  return Object.fromEntries(credentials);
}
