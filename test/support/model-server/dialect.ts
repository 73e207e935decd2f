import { isRecord } from "../../../src/lib/value.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** The answer of a model, in no provider's form. */
export interface Answer {
  readonly reasoning?: string;
  readonly text?: string;
  readonly toolCalls?: readonly { readonly name: string; readonly input: unknown }[];
  /** Default: `tool` where there are calls, else `stop`. */
  readonly finish?: "stop" | "length" | "filter";
  readonly usage?: Usage;
}

/** In tokens. */
export interface Usage {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly reasoning: number;
}

/** An answer, with all that a provider adds. */
export interface Told extends Required<Omit<Answer, "finish">> {
  readonly finish: "stop" | "length" | "filter" | "tool";
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly input: unknown }[];
  /** Of this answer, among all of the server. */
  readonly number: number;
}

/** A request, as it came over the wire. */
export interface WireRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Fields;
}

/** A piece of a stream: one event, with its name where the API gives it one. */
export interface Frame {
  readonly event?: string;
  readonly data: unknown;
}

/** The form of one API over HTTP. */
export interface Dialect {
  readonly path: RegExp;
  /** The id of a call; each API has its own form. */
  callId(number: number): string;
  isStream(request: WireRequest): boolean;
  /** @throws Refusal for what the API documents as not allowed */
  check(request: WireRequest): void;
  whole(told: Told, request: WireRequest): unknown;
  frames(told: Told, request: WireRequest): Iterable<Frame>;
  /** The body of an answer with a status of an error. */
  error(status: number, message: string): unknown;
}

/** The refusal of a request. */
export class Refusal extends Error {
  readonly status: number;

  constructor(message: string, status = 400) {
    super(message);
    this.status = status;
  }
}

/** Refuses the request unless the condition holds. */
export function need(condition: unknown, message: string, status?: number): asserts condition {
  if (!condition) throw new Refusal(message, status);
}

export function fieldsIn(value: unknown, what: string): Fields {
  need(isRecord(value), `${what}: Input should be an object`);
  return value;
}

export function listIn(value: unknown, what: string): readonly Fields[] {
  need(Array.isArray(value), `${what}: Input should be a list`);
  return value.map((each, index) => fieldsIn(each, `${what}.${index}`));
}

/** Refuses fields the API does not know. */
export function onlyFields(fields: Fields, known: readonly string[], what: string): void {
  for (const name of Object.keys(fields)) need(known.includes(name), `${what}.${name}: Extra inputs are not permitted`);
}

/** The tools of a request, by their names. */
export function checkTool(name: unknown, schema: unknown, form: RegExp, what: string): void {
  need(typeof name === "string" && form.test(name), `${what}.name: String should match pattern '${form.source}'`);
  need(isRecord(schema) && schema.type === "object", `${what}: the schema must be of type "object"`);
}

/** That every object of a schema names all its properties and takes no others, as strict structured output demands. */
export function checkStrict(schema: unknown, what: string): void {
  if (!isRecord(schema)) return;
  if (schema.type === "object") {
    need(
      schema.additionalProperties === false,
      `${what}: 'additionalProperties' is required to be supplied and to be false`,
    );
    const names = Object.keys(isRecord(schema.properties) ? schema.properties : {});
    const required: unknown = schema.required ?? [];
    need(
      Array.isArray(required) && names.every((name) => required.includes(name)),
      `${what}: 'required' is required to be supplied and to be an array including every key in properties`,
    );
  }
  for (const [key, inner] of Object.entries(schema)) {
    if (key !== "enum" && key !== "const" && key !== "default") {
      for (const each of Array.isArray(inner) ? inner : [inner]) checkStrict(each, `${what}.${key}`);
    }
  }
}

/** A text, in pieces as a model gives it. */
export function* pieces(text: string): Generator<string> {
  for (let start = 0; start < text.length; start += 7) yield text.slice(start, start + 7);
}

export function isBase64(value: unknown): boolean {
  return typeof value === "string" && value !== "" && Buffer.from(value, "base64").toString("base64") === value;
}
