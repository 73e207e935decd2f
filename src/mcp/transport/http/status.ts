import type { Redactor } from "../../redact.ts";

/** A server answered with a status that is no success. */
export class HttpStatusError extends Error {
  override readonly name = "HttpStatusError";
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  /** What it says a request has to bring along: the header `WWW-Authenticate`. */
  readonly challenge: string | undefined;

  constructor(
    message: string,
    options: {
      readonly status: number;
      readonly retryAfterMs: number | undefined;
      readonly challenge?: string | undefined;
    },
  ) {
    super(message);
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
    this.challenge = options.challenge;
  }
}

/** A server answered with something that is not MCP at all. */
export class NotMcpError extends Error {
  override readonly name = "NotMcpError";
}

/** For an answer of a media type that MCP does not have; empty for none. */
export function notMcp(type: string, redactor: Redactor): NotMcpError {
  const said = type === "" ? "without a content type" : redactor.text(type);
  return new NotMcpError(`answered ${said}: this is no MCP endpoint`);
}

const quotedLength = 300;

/** Describes an answer that is no success; `text` is its body. */
export function statusError(response: Response, text: string, redactor: Redactor): HttpStatusError {
  const said = redactor.text(text).trim();
  const quote = said === "" || isHtml(response) || said.startsWith("<") ? "" : `: ${said.slice(0, quotedLength)}`;
  const status = `${response.status} ${redactor.text(response.statusText)}`.trim();
  return new HttpStatusError(`answered ${status}${quote}`, {
    status: response.status,
    retryAfterMs: retryAfterMs(response.headers.get("retry-after"), Date.now()),
    challenge: redactor.text(response.headers.get("www-authenticate") ?? "") || undefined,
  });
}

/** What the SDK makes of an answer it does not take: a redirect it does not follow, most often. */
export function sdkStatusError(
  { code, message }: { readonly code: number | undefined; readonly message: string },
  redactor: Redactor,
): HttpStatusError {
  const said = redactor
    .text(message)
    .replace(/^Streamable HTTP error: (?:Error POSTing to endpoint: )?/, "")
    .replace(/ \(redirectPolicy: [^)]*\)$/, "");
  const what = /^Redirect\b/.test(said) ? redirectOf(said) : `: ${said}`;
  return new HttpStatusError(`answered ${code ?? "no status"}${what}`, { status: code ?? 0, retryAfterMs: undefined });
}

/** Says in our words what the SDK says of a redirect it does not follow. */
function redirectOf(said: string): string {
  const to = /\bhttps?:\/\/[^\s;]+/.exec(said)?.[0];
  return to === undefined
    ? ", a redirect that is not followed: give the URL it leads to"
    : `, a redirect that is not followed: if you trust it, give ${to} as the URL`;
}

/** The media type of an answer, without parameters, in lower case. */
export function mediaTypeOf(response: Response): string {
  return (response.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

function isHtml(response: Response): boolean {
  return mediaTypeOf(response) === "text/html";
}

/** `Retry-After` in milliseconds: seconds or a date (RFC 9110, section 10.2.3). */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
