import { type LanguageModelV4, LoadAPIKeyError } from "@ai-sdk/provider";
import { messageOf, ToolkitError } from "../../core/error.ts";
import { retryAfterMs } from "../../lib/fetch/send-failure.ts";
import { isRecord } from "../../lib/value.ts";
import { type ChosenModel, modelRefOf } from "./models.ts";
import { IncompleteAnswer } from "./part-reader.ts";

/** The facts about a failure of a provider that decide on a retry. */
export interface ProviderFault {
  readonly status: number | undefined;
  /** The same request may succeed later. */
  readonly isTransient: boolean;
  /** The wait that the provider asks for, in milliseconds. */
  readonly retryAfterMs: number | undefined;
}

/** Limit of a provider's message in an error, in characters. */
const maxMessage = 500;
const maxCauses = 5;

/** Codes of connections that failed without an answer. */
const networkCodes = /^(ECONN|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_)/;

/** Classifies an error that a model threw, or sent as a part of its stream. */
export function toProviderFault(error: unknown, now: number): ProviderFault {
  const fields = isRecord(error) ? error : {};
  const status = typeof fields.statusCode === "number" ? fields.statusCode : undefined;
  const headers = isRecord(fields.responseHeaders) ? fields.responseHeaders : {};
  const retryAfterMs = retryAfterOfHeaders(headers, now) ?? retryAfterOfBody(fields.responseBody);
  return { status, isTransient: isTransient(error, status, headers), retryAfterMs };
}

function isTransient(error: unknown, status: number | undefined, headers: Readonly<Record<string, unknown>>): boolean {
  const fields = isRecord(error) ? error : {};
  // The answer of the provider itself.
  if (headers["x-should-retry"] === "true") return true;
  if (headers["x-should-retry"] === "false" || isOutOfQuota(fields)) return false;
  if (status === 408 || status === 429 || (status !== undefined && status >= 500)) return true;
  if (status === undefined && (error instanceof IncompleteAnswer || isNetworkError(error))) return true;
  return fields.isRetryable === true;
}

/** An exhausted budget is answered with 429 too, and no wait helps. */
function isOutOfQuota(fields: Readonly<Record<string, unknown>>): boolean {
  return `${String(fields.responseBody)} ${String(fields.code)}`.includes("insufficient_quota");
}

function isNetworkError(error: unknown): boolean {
  for (const each of chain(error)) {
    const { code } = each as { readonly code?: unknown };
    if (typeof code === "string" && networkCodes.test(code)) return true;
    // The messages of fetch for a broken connection, which has no code.
    if (each instanceof TypeError && /^(fetch failed|terminated|network error)$/i.test(each.message)) return true;
  }
  return false;
}

/** RFC 9110, 10.2.3: seconds or a date; and the header in milliseconds that OpenAI and Anthropic send. */
function retryAfterOfHeaders(headers: Readonly<Record<string, unknown>>, now: number): number | undefined {
  const exact = Number(headers["retry-after-ms"] ?? Number.NaN);
  if (exact >= 0) return exact;
  const given = headers["retry-after"];
  return typeof given === "string" ? retryAfterMs(given, now) : undefined;
}

/** `google.rpc.RetryInfo`: Google puts the wait into the body. */
function retryAfterOfBody(body: unknown): number | undefined {
  const [, seconds] = typeof body === "string" ? (/"retryDelay"\s*:\s*"([\d.]+)s"/.exec(body) ?? []) : [];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}

/**
 * The error for a failure of a model. It has the message of the provider, shortened and without keys, and neither the request nor headers
 * nor body.
 *
 * @param after - a sentence on the attempts made before, for the message
 */
export async function modelFailed(
  chosen: ChosenModel,
  error: unknown,
  fault: ProviderFault,
  after = "",
): Promise<ToolkitError<"MODEL_FAILED" | "UNAUTHORIZED">> {
  const { provider, modelId: model } = chosen;
  const redact = await modelRedactor(chosen.model);
  const reason = shortened(redact(messageIn(error)));
  const cause = cleanCause(error, redact);
  if (LoadAPIKeyError.isInstance(error)) {
    return new ToolkitError(
      "UNAUTHORIZED",
      `There is no key for the provider ${provider}: ${reason}`,
      { target: provider },
      { cause },
    );
  }
  const { status, retryAfterMs } = fault;
  const how = status === undefined ? "failed" : `answered ${status}`;
  const message = `The model ${modelRefOf(chosen)} ${how}: ${reason}${after === "" ? "" : ` ${after}`}`;
  const details = {
    provider,
    model,
    ...(status === undefined ? {} : { status }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
  return new ToolkitError("MODEL_FAILED", message, details, { cause });
}

/** The message of an error, also of a part of a stream, which is no Error. */
function messageIn(error: unknown): string {
  return isRecord(error) && typeof error.message === "string" && error.message !== ""
    ? error.message
    : messageOf(error);
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  const cut = line.length > maxMessage ? `${line.slice(0, maxMessage)}…` : line;
  return /[.!?…]$/.test(cut) ? cut : `${cut}.`;
}

/** A copy with name, message, code and stack alone. */
function cleanCause(error: unknown, redact: (text: string) => string): Error | undefined {
  let clean: Error | undefined;
  for (const each of [...chain(error)].reverse()) {
    const { name, code } = each as { readonly name?: unknown; readonly code?: unknown };
    const message = shortened(redact(messageIn(each)));
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

const mask = "***";
/** A shorter value is no key, and masking it would garble the message. */
const minLength = 8;
const secretName = /key|token|secret|authorization|password|cookie/i;

/** Forms of keys of all providers. The group before the key is kept. */
const forms: readonly RegExp[] = [
  /()\b(?:sk|pk|rk|gsk|xai|hf|nvapi|key)[-_][\w*-]{8,}/g,
  /()\bAIza[\w-]{10,}/g,
  /()\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g,
  /(\b(?:Bearer|Basic)\s+)[^\s"',;]{6,}/gi,
  /([?&](?:key|api[-_]?key|access[-_]?token|token|auth)=)[^&#\s"']+/gi,
  /((?:api[-_]?key|authorization|access[-_]?token)"?\s*[:=]\s*"?)[^\s"',;}]{6,}/gi,
  /(https?:\/\/)[^\s/@"']+@/gi,
];

/**
 * Makes a function that masks keys in the messages of a provider: those that the model sends, those in the environment, and texts in the
 * form of a key. It runs after a failure alone, so it need not be fast.
 */
async function modelRedactor(model: LanguageModelV4): Promise<(text: string) => string> {
  const secrets = [...new Set([...(await sentBy(model)), ...inEnvironment()])].sort((a, b) => b.length - a.length);
  return (text) => {
    const known = secrets.reduce((rest, secret) => rest.replaceAll(secret, mask), text);
    return forms.reduce((rest, form) => rest.replace(form, (_, kept: string) => `${kept}${mask}`), known);
  };
}

function inEnvironment(): string[] {
  return Object.entries(process.env).flatMap(([name, value = ""]) =>
    secretName.test(name) && value.length >= minLength ? [value] : [],
  );
}

/** The keys in the headers of a model: the packages of the AI SDK keep them in an undocumented field. */
async function sentBy(model: LanguageModelV4): Promise<string[]> {
  try {
    const { config } = model as { readonly config?: unknown };
    const given: unknown = isRecord(config) ? config.headers : undefined;
    const headers: unknown = await (typeof given === "function" ? given() : given);
    if (!isRecord(headers)) return [];
    return Object.entries(headers).flatMap(([name, value]) => {
      if (typeof value !== "string" || !secretName.test(name)) return [];
      const bare = value.replace(/^\w+\s+/, "");
      return [value, bare].filter((text) => text.length >= minLength);
    });
  } catch {
    return [];
  }
}
