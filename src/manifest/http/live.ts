import { messageOf, type ToolkitError } from "../../core/error.ts";
import { parseSelection, type SelectNode } from "../../lib/json-select/select-json.ts";
import { isCredential, tokensInPath } from "../../lib/token-shape.ts";
import { type FieldPath, isRecord } from "../../lib/value.ts";
import { variableValues } from "../../lib/variables.ts";
import type { ManifestContext, ManifestExecutor, ManifestTool } from "../manifest-port.ts";
import type { ToolSpec } from "../manifest-schema.ts";
import { mapped } from "./http-answer.ts";
import type { HttpBody, HttpOperation, HttpParameter, UrlTemplate, ValueTemplate } from "./http-operation.ts";
import { headerFromEnv, headerNameFault, isHeaderText } from "./request-message.ts";
import { annotationsOf, isRepeatable, optionsOf, sendOperation } from "./send-operation.ts";
import { argumentsIn, parseTemplate, parseUrlTemplate, TemplateFault } from "./url-template.ts";

type HttpSpec = NonNullable<ToolSpec["http"]>;

const defaultMaxBytes = 10 * 2 ** 20;
const at: FieldPath = ["spec", "http"];
const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]);
const methodsWithBody: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** The mode `live`: a request of HTTP. */
export const live: ManifestExecutor = async (manifest, context) => {
  const { http } = manifest.spec;
  if (http === undefined)
    throw manifest.problem(["spec"], "A tool of the mode live has no http.", "Write http: { url, method }.");
  const operation = await new LiveManifest(manifest, http, context).operation();
  return {
    run: (input, call) => sendOperation(operation, input, call),
    annotations: annotationsOf(operation.method),
    options: optionsOf(operation),
  };
};

/** The part `http` of a manifest, as it is read. */
class LiveManifest {
  readonly #manifest: ManifestTool;
  readonly #http: HttpSpec;
  readonly #context: ManifestContext;
  /** The values of variables, and headers that look like credentials. */
  readonly #secrets = new Set<string>();

  constructor(manifest: ManifestTool, http: HttpSpec, context: ManifestContext) {
    this.#manifest = manifest;
    this.#http = http;
    this.#context = context;
  }

  /** @throws ToolkitError `INVALID_MANIFEST` */
  async operation(): Promise<HttpOperation> {
    const { timeout_ms = 0, redact = [], response, multimodal, max_bytes = defaultMaxBytes } = this.#http;
    const { annotations } = this.#manifest.spec;
    const method = this.#method();
    const url = this.#template([...at, "url"], this.#expanded([...at, "url"], this.#http.url), parseUrlTemplate);
    const headers = this.#headers();
    const parameters = this.#parameters(method, url);
    const sent = [...argumentsOf(url), ...parameters.flatMap(({ value }) => argumentsIn(value))];
    const body = await this.#body(method, sent);
    this.#assertNoLeak(url);
    const types = multimodal?.enabled === true ? (multimodal.accept_types ?? []) : undefined;
    return {
      name: this.#manifest.name,
      method,
      url,
      parameters,
      headers,
      body,
      answer: {
        accept: types === undefined || types.length === 0 ? undefined : types.join(", "),
        reading: "lenient",
        mapping: await this.#selection([...at, "response", "body_mapping"], response?.body_mapping),
        redact,
        described: types,
        maxBytes: max_bytes,
        maxBytesField: "http.max_bytes",
      },
      secrets: this.#secretsBeside(url),
      timeoutMs: timeout_ms > 0 ? timeout_ms : undefined,
      isRepeatable: annotations?.idempotentHint ?? (annotations?.readOnlyHint === true || isRepeatable(method)),
    };
  }

  #method(): string {
    const written = this.#http.method ?? "";
    const method = written === "" ? "POST" : written.toUpperCase();
    if (methods.has(method)) return method;
    const what = `${JSON.stringify(written)} is no method that is sent.`;
    throw this.#problem([...at, "method"], what, `Write one of ${[...methods].join(", ")}.`);
  }

  /** Those of the operator. Later ones win. */
  #headers(): Record<string, string> {
    const { headers = {}, headers_from_env = [], request } = this.#http;
    const all: Record<string, string> = {};
    for (const [name, value] of Object.entries(request?.static_headers ?? {}))
      this.#setHeader(all, [...at, "request", "static_headers", name], name, value);
    for (const [name, value] of Object.entries(headers)) this.#setHeader(all, [...at, "headers", name], name, value);
    for (const [index, entry] of headers_from_env.entries()) {
      const path = [...at, "headers_from_env", index];
      const { name, value } = headerFromEnv(entry);
      if (name === undefined) this.#expanded(path, value);
      else this.#setHeader(all, path, name, value);
    }
    return all;
  }

  #setHeader(all: Record<string, string>, path: FieldPath, name: string, written: string): void {
    this.#assertHeaderName(path, name);
    const value = this.#expanded(path, written).trim();
    // The value may be a secret.
    if (!isHeaderText(value))
      throw this.#problem(path, `The header ${name} has a character that no header may have.`, "Encode it.");
    if (isCredential(name, value)) this.#secrets.add(value);
    all[name.toLowerCase()] = value;
  }

  #assertHeaderName(path: FieldPath, name: string): void {
    const fault = headerNameFault(name);
    if (fault !== undefined) throw this.#problem(path, `${JSON.stringify(name)} ${fault}.`, "Leave it out.");
  }

  #parameters(method: string, url: UrlTemplate): readonly HttpParameter[] {
    const { request } = this.#http;
    const { query_params = [], header_params = {}, static_query = {} } = request ?? {};
    const names = request === undefined && !methodsWithBody.has(method) ? [restOf(url)] : [];
    const fromArguments = query_params.map(
      (name): HttpParameter => ({ in: "query", name, value: [{ argument: [name] }] }),
    );
    const fromTemplates = Object.entries(header_params).map(([name, text]): HttpParameter => {
      const path = [...at, "request", "header_params", name];
      this.#assertHeaderName(path, name);
      return { in: "header", name, value: this.#template(path, this.#expanded(path, text), parseTemplate) };
    });
    const fixed = Object.entries(static_query).map(
      ([name, text]): HttpParameter => ({
        in: "query",
        name,
        value: [this.#expanded([...at, "request", "static_query", name], text)],
      }),
    );
    return [...names, ...fromArguments, ...fromTemplates, ...fixed];
  }

  /** The arguments that nothing else takes, and what is static. */
  async #body(method: string, sent: readonly string[]): Promise<HttpBody | undefined> {
    if (!methodsWithBody.has(method)) return undefined;
    const { name } = this.#manifest;
    const { exclude = [], body_mapping, static_body } = this.#http.request ?? {};
    const taken = new Set([...sent, ...exclude]);
    const path: FieldPath = [...at, "request"];
    const fixed = this.#expandedBody([...path, "static_body"], static_body ?? {});
    const mapping = await this.#selection([...path, "body_mapping"], body_mapping);
    return {
      mediaType: "application/json",
      value(input) {
        const rest = Object.entries(input).filter(([member]) => !taken.has(member));
        const all = Object.fromEntries([...rest, ...Object.entries(fixed)]);
        if (Object.keys(all).length === 0) return undefined;
        return mapping === undefined
          ? all
          : mapped(mapping, all, { code: "INVALID_INPUT", of: `the arguments of ${name}` });
      },
    };
  }

  #expandedBody(path: FieldPath, value: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const expanded = (each: unknown, place: FieldPath): unknown => {
      if (typeof each === "string") return this.#expanded(place, each);
      if (Array.isArray(each)) return each.map((entry, index) => expanded(entry, [...place, index]));
      return isRecord(each) ? this.#expandedBody(place, each) : each;
    };
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, expanded(each, [...path, name])]));
  }

  #expanded(path: FieldPath, text: string): string {
    const expanded = this.#context.expand(path, text);
    if (expanded === text) return text;
    for (const value of variableValues(text, this.#context.env)) this.#secrets.add(value);
    return expanded;
  }

  #template<T>(path: FieldPath, text: string, parse: (text: string) => T): T {
    try {
      return parse(text);
    } catch (cause) {
      if (!(cause instanceof TemplateFault)) throw cause;
      throw this.#problem(path, cause.message, cause.hint);
    }
  }

  async #selection(path: FieldPath, expression: string | undefined): Promise<SelectNode | undefined> {
    if (expression === undefined || expression === "") return undefined;
    try {
      return await parseSelection(expression);
    } catch (cause) {
      throw this.#problem(path, `The mapping ${messageOf(cause)}.`, "Write an expression of JMESPath.");
    }
  }

  /** A host that an argument chooses must not be sent what the operator keeps secret, unless the operator wrote its domain. */
  #assertNoLeak({ isOwn, origin }: UrlTemplate): void {
    const end = origin.at(-1);
    const isOfDomain = typeof end === "string" && /^\.(?:[^.:]+\.)+[^.:]+(?::\d+)?$/.test(end);
    if (isOwn || isOfDomain || this.#secrets.size === 0) return;
    const what = "An argument chooses the host, and would so choose who gets credentials and the values of variables.";
    throw this.#problem([...at, "url"], what, "Write the host, or its domain: https://{{.region}}.example.com.");
  }

  #secretsBeside(url: UrlTemplate): readonly string[] {
    const shown = url.origin.map(textOfPart).join("");
    return [...this.#secrets, ...this.#writtenKeys(url)].filter((secret) => !shown.includes(secret));
  }

  /** Keys that are written into the path or the query: many services answer an error with the URL that it is about. */
  #writtenKeys({ path, query }: UrlTemplate): readonly string[] {
    const fixed = Object.entries(this.#http.request?.static_query ?? {});
    const written = [...fixed, ...new URLSearchParams(query.map(textOfPart).join(""))];
    const keys = written.flatMap(([name, value]) => (isCredential(name, value) ? value : []));
    return [...keys, ...path.flatMap((part) => tokensInPath(textOfPart(part)))];
  }

  #problem(path: FieldPath, what: string, hint: string): ToolkitError {
    return this.#manifest.problem(path, what, hint);
  }
}

function argumentsOf({ origin, path, query }: UrlTemplate): readonly string[] {
  return argumentsIn(origin, path, query);
}

/** All arguments that are not in the URL, as PromptKit sends them where a GET has no mapping. None replaces a parameter that is written. */
function restOf(url: UrlTemplate): HttpParameter {
  const written = new URLSearchParams(url.query.map(textOfPart).join(""));
  const except = new Set([...argumentsOf(url), ...written.keys()]);
  return { in: "query", name: "arguments", value: [{ argument: [], except, style: "form", explode: true }] };
}

function textOfPart(part: ValueTemplate[number]): string {
  return typeof part === "string" ? part : "";
}
