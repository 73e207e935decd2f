import { LoadAPIKeyError } from "@ai-sdk/provider";
import { messageOf, ToolkitError } from "../../core/error.ts";
import { isRecord } from "../../lib/value.ts";
import { refOf } from "./model-ref.ts";
import { modelRedactor } from "./model-secrets.ts";
import type { ChosenModel } from "./models.ts";

/** What can be told of a failure of a provider, whatever it threw. */
export interface ProviderFault {
  readonly status: number | undefined;
  /** The same request may do better later. */
  readonly mayPass: boolean;
  /** How long the provider wants to be left alone, in milliseconds. */
  readonly retryAfterMs: number | undefined;
}

/** So much of what a provider says is told, in characters. */
const maxMessage = 500;
const maxCauses = 5;

/** What fails so was not answered, and a new connection may be. */
const networkCodes = /^(ECONN|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_)/;

/** The model's stream ended before its answer did. */
export class CutShort extends Error {
  override readonly name = "CutShort";

  constructor() {
    super("The answer ended before it was finished.");
  }
}

/** Reads what a model threw, or gave as a part of its stream. */
export function readFault(error: unknown, now: number): ProviderFault {
  const fields = isRecord(error) ? error : {};
  const status = typeof fields.statusCode === "number" ? fields.statusCode : undefined;
  const headers = isRecord(fields.responseHeaders) ? fields.responseHeaders : {};
  const retryAfterMs = askedInHeaders(headers, now) ?? askedInBody(fields.responseBody);
  return { status, mayPass: mayPass(error, status, headers), retryAfterMs };
}

function mayPass(error: unknown, status: number | undefined, headers: Readonly<Record<string, unknown>>): boolean {
  const fields = isRecord(error) ? error : {};
  // Providers that know better say so.
  if (headers["x-should-retry"] === "true") return true;
  if (headers["x-should-retry"] === "false" || isOutOfMoney(fields)) return false;
  if (status === 408 || status === 429 || (status !== undefined && status >= 500)) return true;
  if (status === undefined && (error instanceof CutShort || isNetworkError(error))) return true;
  return fields.isRetryable === true;
}

/** Who has used up what was paid for is told 429 as well, and waits in vain. */
function isOutOfMoney(fields: Readonly<Record<string, unknown>>): boolean {
  return `${String(fields.responseBody)} ${String(fields.code)}`.includes("insufficient_quota");
}

function isNetworkError(error: unknown): boolean {
  for (const each of chain(error)) {
    const { code } = each as { readonly code?: unknown };
    if (typeof code === "string" && networkCodes.test(code)) return true;
    // What fetch says of a connection that broke, without a code.
    if (each instanceof TypeError && /^(fetch failed|terminated|network error)$/i.test(each.message)) return true;
  }
  return false;
}

/** RFC 9110, 10.2.3: seconds or a date; and the header in milliseconds that OpenAI and Anthropic send. */
function askedInHeaders(headers: Readonly<Record<string, unknown>>, now: number): number | undefined {
  const exact = Number(headers["retry-after-ms"] ?? Number.NaN);
  if (exact >= 0) return exact;
  const given = headers["retry-after"];
  if (typeof given !== "string" || given.trim() === "") return undefined;
  const seconds = Number(given);
  if (seconds >= 0) return seconds * 1_000;
  const date = Date.parse(given);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** `google.rpc.RetryInfo`: the wait stands in the body. */
function askedInBody(body: unknown): number | undefined {
  const [, seconds] = typeof body === "string" ? (/"retryDelay"\s*:\s*"([\d.]+)s"/.exec(body) ?? []) : [];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}

/**
 * The error for what a model failed with. It says what the provider said, shortened and without keys; the request, the headers and the
 * body do not hang on it.
 *
 * @param after - what was tried before, for the message, as a sentence
 */
export async function modelFailed(
  chosen: ChosenModel,
  error: unknown,
  fault: ProviderFault,
  after = "",
): Promise<ToolkitError<"MODEL_FAILED" | "UNAUTHORIZED">> {
  const { provider, modelId: model } = chosen;
  const redact = await modelRedactor(chosen.model);
  const said = shortened(redact(saidBy(error)));
  const cause = cleanCause(error, redact);
  if (LoadAPIKeyError.isInstance(error)) {
    return new ToolkitError(
      "UNAUTHORIZED",
      `There is no key for the provider ${provider}: ${said}`,
      { target: provider },
      { cause },
    );
  }
  const { status, retryAfterMs } = fault;
  const how = status === undefined ? "failed" : `answered ${status}`;
  const message = `The model ${refOf(chosen)} ${how}: ${said}${after === "" ? "" : ` ${after}`}`;
  const details = {
    provider,
    model,
    ...(status === undefined ? {} : { status }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
  return new ToolkitError("MODEL_FAILED", message, details, { cause });
}

/** What is a part of a stream is no Error, and says no less. */
function saidBy(error: unknown): string {
  return isRecord(error) && typeof error.message === "string" && error.message !== ""
    ? error.message
    : messageOf(error);
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  const cut = line.length > maxMessage ? `${line.slice(0, maxMessage)}…` : line;
  return /[.!?…]$/.test(cut) ? cut : `${cut}.`;
}

/** Name, message, code and where it was thrown; nothing else of what an error carries. */
function cleanCause(error: unknown, redact: (text: string) => string): Error | undefined {
  let clean: Error | undefined;
  for (const each of [...chain(error)].reverse()) {
    const { name, code } = each as { readonly name?: unknown; readonly code?: unknown };
    const message = shortened(redact(saidBy(each)));
    const copy = new Error(message, clean === undefined ? undefined : { cause: clean });
    if (typeof name === "string") copy.name = redact(name);
    if (typeof code === "string") Object.assign(copy, { code: redact(code) });
    const frames = each instanceof Error ? (each.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line)) : [];
    copy.stack = [`${copy.name}: ${message}`, ...frames.map(redact)].join("\n");
    clean = copy;
  }
  return clean;
}

/** An error and its causes, the outermost first. */
function* chain(error: unknown): Generator<object> {
  let each = error;
  for (let depth = 0; depth < maxCauses; depth++) {
    if (typeof each !== "object" || each === null) {
      if (depth === 0) yield new Error(messageOf(each));
      return;
    }
    yield each;
    each = (each as { readonly cause?: unknown }).cause;
  }
}
