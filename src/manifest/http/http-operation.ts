import type { RetrySetting } from "../../core/call-settings.ts";
import type { SelectNode } from "../../lib/json-select/select-json.ts";

/**
 * The form in which a value is written. `plain`: a text, number or boolean as it is, anything else as JSON. `json`: JSON, texts too. The others are
 * those of OpenAPI.
 *
 * @see https://spec.openapis.org/oas/v3.1.1.html#style-values
 */
export type ValueStyle =
  | "plain"
  | "json"
  | "simple"
  | "label"
  | "matrix"
  | "form"
  | "spaceDelimited"
  | "pipeDelimited"
  | "deepObject";

/** A place in a template, where the text of an argument is put, encoded for that place. */
export interface ArgumentSlot {
  /** The member of the input, from the outside in: `["user", "id"]`. Empty for the whole input. */
  readonly argument: readonly string[];
  /** Members that are left out, where the argument is an object. */
  readonly except?: ReadonlySet<string> | undefined;
  /** Default: `plain`. */
  readonly style?: ValueStyle | undefined;
  /** Default: true for `form` and `deepObject`, else false. */
  readonly explode?: boolean | undefined;
  /** The name that `matrix` writes. Default: the last of `argument`. */
  readonly name?: string | undefined;
}

/** Texts as they are written by the operator, already encoded, and places for arguments. */
export type ValueTemplate = readonly (string | ArgumentSlot)[];

/** The URL of an operation, in parts: an argument stays in the part in which it stands. */
export interface UrlTemplate {
  /** Scheme, host and port: `["https://api.example.com"]`. One argument alone is a whole origin, and without a path a whole URL. */
  readonly origin: ValueTemplate;
  /**
   * The operator wrote the origin, without arguments: it may be private, and gets credentials. Any other is put to the egress policy, as is each
   * redirect that leaves the origin.
   */
  readonly isOwn: boolean;
  /** Begins with `/`. A segment that arguments make is never empty, `.` or `..`, and has no slash. Empty where the origin is a whole URL. */
  readonly path: ValueTemplate;
  /** Without its `?`; empty for none. */
  readonly query: ValueTemplate;
}

/** A query parameter, header or cookie. It is left out where an argument of its value is missing or null. */
export interface HttpParameter {
  readonly in: "query" | "header" | "cookie";
  readonly name: string;
  /** Texts and arguments, not encoded. One argument alone may, by its style, make several parameters. */
  readonly value: ValueTemplate;
}

/** The body of a request. */
export interface HttpBody {
  /** `application/json` or a `+json`, `application/x-www-form-urlencoded`, `multipart/form-data`, or another, whose value is a text or bytes. */
  readonly mediaType: string;
  /**
   * The value for an input; undefined for no body. Of a form an object: its members are fields, bytes among them files.
   *
   * @throws ToolkitError
   */
  value(input: Readonly<Record<string, unknown>>): unknown;
  /** The form of the fields of a form. Default: `form` with `explode`, objects as JSON. */
  readonly fields?:
    | Readonly<Record<string, { readonly style?: ValueStyle; readonly explode?: boolean; readonly mediaType?: string }>>
    | undefined;
}

/** The reading of an answer. */
export interface AnswerRule {
  /** The header `Accept`. Default: any type. */
  readonly accept?: string | undefined;
  /**
   * `declared`: by its media type, JSON as JSON, other text as text. `lenient`, as PromptKit has it: a text that is JSON is JSON whatever its type,
   * and any other is `{ "result": text }`.
   */
  readonly reading: "declared" | "lenient";
  /** Selects from the JSON, once it is redacted. */
  readonly mapping?: SelectNode | undefined;
  /** Members of JSON objects, at any depth, whose values become `[REDACTED]`: names, or globs on names. */
  readonly redact: readonly string[];
  /** Binary answers of these types come with a description in JSON; an empty list stands for images, audio and video. Undefined: without one. */
  readonly described?: readonly string[] | undefined;
  /** The largest answer, decoded, in bytes. */
  readonly maxBytes: number;
  /** The field of the manifest that has this limit. */
  readonly maxBytesField: "http.max_bytes" | "spec.max_bytes";
}

/** A request of HTTP with places for arguments, and the reading of its answer: all that a manifest says of one tool that calls a service. */
export interface HttpOperation {
  /** The tool, for messages. */
  readonly name: string;
  /** In upper case. */
  readonly method: string;
  readonly url: UrlTemplate;
  /** In the order in which they are set: of several with one name the last holds, except where one argument makes several. */
  readonly parameters: readonly HttpParameter[];
  /** Those of the operator, by name in lower case, variables put in. They win over those of `parameters`, and none leaves the origin. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: HttpBody | undefined;
  readonly answer: AnswerRule;
  /** Texts that are masked in messages: the values of variables, keys and tokens. */
  readonly secrets: readonly string[];
  /** The limit of one attempt, in milliseconds, whatever the limit of the call is. Default: that of the call alone. */
  readonly timeoutMs?: number | undefined;
  /** To send it twice does no more than to send it once: by its method (GET, HEAD, OPTIONS, PUT, DELETE), or since the operator says so. */
  readonly isRepeatable: boolean;
  /** Default: 4 attempts in all. */
  readonly retry?: RetrySetting | false | undefined;
}
