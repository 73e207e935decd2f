import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { isRecord } from "../../../src/lib/value.ts";
import { madeValue, variants } from "./made-value.ts";

type Fields = Record<string, unknown>;

/** A request that the server took, as it read it. */
export interface ServedRequest {
  readonly operation: string;
  readonly values: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  readonly headers: IncomingMessage["headers"];
  readonly query: URLSearchParams;
}

/** A service that is made from a document: it checks every request by it, and answers values that are made from it. */
export interface DocumentServer {
  readonly origin: string;
  readonly requests: ServedRequest[];
  /** The reasons why requests were refused. */
  readonly refusals: string[];
  close(): Promise<void>;
}

interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: RegExp;
  readonly names: readonly string[];
  readonly literal: number;
  readonly fields: Fields;
  readonly parameters: readonly Fields[];
}

/**
 * Serves a document on a port of its own. It shares no code with what is tested: paths, styles and bodies are read here by the words of the
 * specification, and values checked by ajv.
 */
export async function serveDocument(document: Fields, base = ""): Promise<DocumentServer> {
  const service = new Service(document, base);
  const server = createServer((request, response) => void service.answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    requests: service.requests,
    refusals: service.refusals,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

class Refused extends Error {}

class Service {
  readonly requests: ServedRequest[] = [];
  readonly refusals: string[] = [];
  readonly #document: Fields;
  readonly #operations: readonly Operation[];
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: true, logger: false });
  readonly #checks = new Map<string, ValidateFunction>();

  constructor(document: Fields, base: string) {
    this.#document = plainSchemas(document) as Fields;
    this.#ajv.addSchema({ ...(plainSchemas(document, "readOnly") as Fields), $id: home("readOnly") });
    this.#ajv.addSchema({ ...(plainSchemas(document, "writeOnly") as Fields), $id: home("writeOnly") });
    formats.default(this.#ajv);
    this.#operations = this.#listed(base);
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const url = new URL(request.url ?? "", "http://host");
      const found = this.#operations
        .filter((each) => each.method === request.method && each.path.test(url.pathname))
        .sort((one, other) => other.literal - one.literal)[0];
      if (found === undefined) throw new Refused(`there is no ${request.method} ${url.pathname}`);
      const values = await this.#values(found, url, request);
      const body = await this.#body(found, Buffer.concat(chunks), String(request.headers["content-type"] ?? ""));
      this.requests.push({ operation: found.id, values, body, headers: request.headers, query: url.searchParams });
      this.#send(found, request, response);
    } catch (error) {
      const why = `${request.method} ${request.url}: ${(error as Error).message}`;
      this.refusals.push(why);
      response.writeHead(error instanceof Refused ? 400 : 500, { "content-type": "text/plain" }).end(why);
    }
  }

  #listed(base: string): readonly Operation[] {
    return Object.entries(this.#document.paths as Fields).flatMap(([path, written]) => {
      const item = this.#resolved(written);
      return ["get", "put", "post", "delete", "options", "head", "patch"].flatMap((method) => {
        if (!isRecord(item[method])) return [];
        const fields = this.#resolved(item[method]);
        const own = new Map<string, Fields>();
        for (const each of [...((item.parameters as unknown[]) ?? []), ...((fields.parameters as unknown[]) ?? [])]) {
          const parameter = this.#resolved(each);
          own.set(`${parameter.in} ${parameter.name}`, parameter);
        }
        const pattern = (base + path)
          .split(/(\{[^}]*\})/)
          .map((part) => (part.startsWith("{") ? "([^/]+?)" : part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")));
        const names = [...path.matchAll(/\{([^}]*)\}/g)].map(([, name = ""]) => name);
        const id = `${method} ${path}`;
        return [
          {
            id,
            method: method.toUpperCase(),
            path: new RegExp(`^${pattern.join("")}$`),
            names,
            literal: path.replace(/\{[^}]*\}/g, "").length,
            fields,
            parameters: [...own.values()],
          },
        ];
      });
    });
  }

  #resolved(value: unknown): Fields {
    let found = value as Fields;
    while (typeof found.$ref === "string") found = pointedAt(this.#document, found.$ref) as Fields;
    return found;
  }

  async #values(operation: Operation, url: URL, request: IncomingMessage): Promise<Fields> {
    const segments = operation.path.exec(url.pathname)?.slice(1) ?? [];
    const pathValues = new Map(operation.names.map((name, index) => [name, segments[index] ?? ""]));
    const cookies = new Map(
      (request.headers.cookie ?? "")
        .split("; ")
        .map((pair) => [pair.slice(0, pair.indexOf("=")), decodeURIComponent(pair.slice(pair.indexOf("=") + 1))]),
    );
    const seen = new Set<string>();
    const values: Fields = {};
    for (const parameter of operation.parameters) {
      const { name, in: place } = parameter as { name: string; in: string };
      if (place === "header" && /^(?:accept|content-type|authorization)$/i.test(name)) continue;
      const value =
        place === "path"
          ? this.#pathValue(parameter, pathValues.get(name) ?? "")
          : place === "query"
            ? this.#queryValue(parameter, url, seen)
            : this.#separated(
                parameter,
                place === "header" ? (request.headers[name.toLowerCase()] as string | undefined) : cookies.get(name),
              );
      if (value === undefined) {
        if (parameter.required === true) throw new Refused(`${place} ${name} is missing`);
        continue;
      }
      this.#check(this.#schemaOf(parameter), value, `${place} ${name}`);
      values[`${place} ${name}`] = value;
    }
    for (const key of url.searchParams.keys())
      if (!seen.has(key) && !this.#isKey(key)) throw new Refused(`the query parameter ${key} is not known`);
    return values;
  }

  #isKey(name: string): boolean {
    const schemes = ((this.#document.components as Fields | undefined)?.securitySchemes ?? {}) as Fields;
    return Object.values(schemes).some(
      (scheme) => (scheme as Fields).in === "query" && (scheme as Fields).name === name,
    );
  }

  #schemaOf(parameter: Fields): unknown {
    const content = isRecord(parameter.content) ? Object.values(parameter.content)[0] : undefined;
    return isRecord(content) ? content.schema : (parameter.schema ?? {});
  }

  #pathValue(parameter: Fields, raw: string): unknown {
    const { style = "simple", explode = false, name } = parameter;
    const type = this.#type(parameter.schema);
    let text = raw;
    if (style === "label") text = text.slice(1);
    if (style === "matrix") {
      const items = text
        .slice(1)
        .split(";")
        .map((each) => each.slice(String(name).length + 1));
      if (type !== "array") return typed(decodeURIComponent(items[0] ?? ""), type);
      return (explode === true ? items : (items[0] ?? "").split(",")).map((each) =>
        this.#item(parameter, decodeURIComponent(each)),
      );
    }
    if (type === "array")
      return text
        .split(style === "label" && explode === true ? "." : ",")
        .map((each) => this.#item(parameter, decodeURIComponent(each)));
    if (type === "object")
      return this.#members(
        parameter,
        text.split(",").flatMap((each) => (explode === true ? each.split("=") : [each])),
      );
    return typed(decodeURIComponent(text), type);
  }

  #queryValue(parameter: Fields, url: URL, seen: Set<string>): unknown {
    const {
      name,
      style = "form",
      explode = style === "form" || style === "deepObject",
      content,
    } = parameter as { name: string; style?: string; explode?: boolean; content?: unknown };
    const type = this.#type(parameter.schema);
    if (style === "deepObject") {
      const pairs = [...url.searchParams].filter(([key]) => key.startsWith(`${name}[`));
      for (const [key] of pairs) seen.add(key);
      if (pairs.length === 0) return undefined;
      return this.#members(
        parameter,
        pairs.flatMap(([key, value]) => [key.slice(name.length + 1, -1), value]),
      );
    }
    seen.add(name);
    if (!url.searchParams.has(name)) return undefined;
    if (content !== undefined) return JSON.parse(url.searchParams.get(name) ?? "");
    if (type !== "array") return typed(url.searchParams.get(name) ?? "", type);
    if (explode) return url.searchParams.getAll(name).map((each) => this.#item(parameter, each));
    const raw = new RegExp(`[?&]${encodeURIComponent(name)}=([^&]*)`).exec(url.search)?.[1] ?? "";
    const separator = style === "spaceDelimited" ? /%20|\+/ : style === "pipeDelimited" ? /%7C|\|/ : ",";
    return raw.split(separator).map((each) => this.#item(parameter, decodeURIComponent(each)));
  }

  /** Of a header or cookie: a list has commas. */
  #separated(parameter: Fields, text: string | undefined): unknown {
    if (text === undefined) return undefined;
    if (this.#type(parameter.schema) !== "array") return typed(text, this.#type(parameter.schema));
    return text.split(",").map((each) => this.#item(parameter, each.trim()));
  }

  #item(parameter: Fields, text: string): unknown {
    return typed(text, this.#type(this.#resolved(parameter.schema).items));
  }

  #members(parameter: Fields, parts: readonly string[]): Fields {
    const { properties = {} } = this.#resolved(parameter.schema) as { properties?: Fields };
    const made: Fields = {};
    for (let at = 0; at < parts.length; at += 2)
      made[parts[at] ?? ""] = typed(decodeURIComponent(parts[at + 1] ?? ""), this.#type(properties[parts[at] ?? ""]));
    return made;
  }

  #type(schema: unknown): string | undefined {
    if (!isRecord(schema)) return undefined;
    const { type, anyOf, allOf } = this.#resolved(schema) as { type?: unknown; anyOf?: unknown[]; allOf?: unknown[] };
    return (
      ([type].flat().find((each) => each !== "null" && each !== undefined) as string | undefined) ??
      (anyOf ?? allOf ?? []).map((each) => this.#type(each)).find((each) => each !== undefined)
    );
  }

  async #body({ fields }: Operation, bytes: Buffer, contentType: string): Promise<unknown> {
    const body = fields.requestBody === undefined ? undefined : this.#resolved(fields.requestBody);
    if (bytes.length === 0 && contentType === "") {
      if (body?.required === true) throw new Refused("the body is missing");
      return undefined;
    }
    const type = contentType.split(";")[0] ?? "";
    const content = (body?.content ?? {}) as Fields;
    const media = content[type] ?? content["*/*"];
    if (!isRecord(media)) throw new Refused(`a body of ${contentType} is not known`);
    const value = await this.#bodyValue(media, bytes, type, contentType);
    if (value instanceof Uint8Array || typeof value === "string") return value;
    if (media.schema !== undefined) this.#check(media.schema, value, "the body");
    return value;
  }

  async #bodyValue(media: Fields, bytes: Buffer, type: string, contentType: string): Promise<unknown> {
    if (/[/+]json$/.test(type)) return JSON.parse(bytes.toString());
    if (type === "application/x-www-form-urlencoded")
      return this.#form(media, [...new URLSearchParams(bytes.toString())]);
    if (type === "multipart/form-data") {
      const form = await new Response(bytes, { headers: { "content-type": contentType } }).formData();
      const parts = await Promise.all(
        [...form].map(async ([name, part]) => {
          if (typeof part === "string") return [name, part] as const;
          return [name, part.type === "application/json" ? await part.text() : `file of ${part.size}`] as const;
        }),
      );
      return this.#form(media, parts);
    }
    return type.startsWith("text/") ? bytes.toString() : new Uint8Array(bytes);
  }

  #form(media: Fields, pairs: readonly (readonly [string, unknown])[]): Fields {
    const { properties = {} } = this.#resolved(media.schema) as { properties?: Fields };
    const encoding = (media.encoding ?? {}) as Record<string, Fields>;
    const made: Fields = {};
    for (const [name, value] of pairs) {
      const property = properties[name] === undefined ? {} : this.#resolved(properties[name]);
      const type = this.#type(property);
      if (type !== "array") made[name] = typeof value === "string" ? typed(value, type) : value;
      else if (encoding[name]?.explode === false) made[name] = String(value).split(",");
      else made[name] = [...((made[name] as unknown[]) ?? []), typed(String(value), this.#type(property.items))];
    }
    return made;
  }

  #check(schema: unknown, value: unknown, where: string, hidden: Hidden = "readOnly"): void {
    const key = hidden + JSON.stringify(schema);
    const check = this.#checks.get(key) ?? this.#ajv.compile(absolute(schema, home(hidden)) as object);
    this.#checks.set(key, check);
    if (!check(value))
      throw new Refused(`${where} ${this.#ajv.errorsText(check.errors)}: ${JSON.stringify(value)?.slice(0, 300)}`);
  }

  /** A value that fits a schema. */
  #made(schema: unknown): unknown {
    for (let variant = 0; ; variant += 1) {
      const value = madeValue(schema, this.#document, variant);
      try {
        this.#check(schema, value, "the answer", "writeOnly");
        return value;
      } catch (error) {
        if (variant === variants) throw error;
      }
    }
  }

  #send({ fields }: Operation, request: IncomingMessage, response: ServerResponse): void {
    const [status = "200", written = {}] =
      Object.entries((fields.responses ?? {}) as Fields).find(([each]) => /^2/.test(each)) ?? [];
    const content = Object.entries((this.#resolved(written).content ?? {}) as Record<string, Fields>);
    const accepted = String(request.headers.accept ?? "*/*").split(/,\s*/);
    const [type, media] = content.find(([each]) => accepted.includes(each)) ?? content[0] ?? [];
    const code = Number(status.replaceAll(/x/gi, "0"));
    if (type === undefined || request.method === "HEAD") {
      response.writeHead(type === undefined && code === 200 ? 200 : code).end();
      return;
    }
    if (!/[/+]json$/.test(type)) {
      response
        .writeHead(code, { "content-type": type })
        .end(type.startsWith("text/") ? "a text" : Buffer.from("89504e470d0a1a0a", "hex"));
      return;
    }
    const value = this.#made(media?.schema ?? {});
    response.writeHead(code, { "content-type": type }).end(JSON.stringify(value));
  }
}

function typed(text: string, type: string | undefined): unknown {
  if (type === "integer" || type === "number") return text === "" ? text : Number(text);
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  if (type === "object") return JSON.parse(text);
  return text;
}

function pointedAt(document: unknown, reference: string): unknown {
  return reference
    .slice(2)
    .split("/")
    .map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<unknown>((value, step) => (value as Fields)[step], document);
}

/** The mark of properties that are not sent, or not answered: they are not required there. */
type Hidden = "readOnly" | "writeOnly";

function home(hidden: Hidden): string {
  return `https://document.invalid/${hidden}`;
}

/** Schemas of 3.0 in the words of JSON Schema: `nullable` and limits that are true or false. */
function plainSchemas(value: unknown, hidden?: Hidden): unknown {
  if (Array.isArray(value)) return value.map((each) => plainSchemas(each, hidden));
  if (!isRecord(value)) return value;
  const changed = Object.entries(value).map(([key, each]) => [key, plainSchemas(each, hidden)]);
  const { nullable, $id: _, ...made } = Object.fromEntries(changed) as Fields;
  for (const [limit, plain] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    if (typeof made[limit] !== "boolean") continue;
    const bound = made[plain];
    if (made[limit] === true) delete made[plain];
    delete made[limit];
    if (made[plain] === undefined && bound !== undefined) made[limit] = bound;
  }
  if (hidden !== undefined && Array.isArray(made.required) && isRecord(value.properties)) {
    const properties = value.properties as Record<string, Fields>;
    made.required = made.required.filter((name) => properties[name]?.[hidden] !== true);
  }
  // Its branches may overlap: the discriminator tells them apart.
  if (isRecord(made.discriminator) && made.oneOf !== undefined) {
    made.anyOf = made.oneOf;
    delete made.oneOf;
  }
  return nullable === true ? { anyOf: [made, { type: "null" }] } : made;
}

/** References of a schema as ajv finds them in the document. */
function absolute(value: unknown, document: string): unknown {
  if (Array.isArray(value)) return value.map((each) => absolute(each, document));
  if (!isRecord(value)) return value;
  const changed = Object.entries(value).map(([key, each]) => {
    const isReference = key === "$ref" && typeof each === "string" && each.startsWith("#");
    return [key, isReference ? `${document}${each}` : absolute(each, document)];
  });
  return Object.fromEntries(changed);
}
