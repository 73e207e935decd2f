import { inspect } from "node:util";
import { isRecord } from "./rpc/message.ts";
import type { CheckedTarget } from "./target/target.ts";

/** Takes what we have sent to a server out of what it says, before a person or a log sees that. */
export interface Redactor {
  /** The length of the longest secret: where a text was cut, so much at the cut may be a part of one. */
  readonly longest: number;
  /** The text with `***` in place of every secret. Give it whole: of a text that was cut, a part of a secret may be left. */
  text(text: string): string;
  /** The same for every text in a JSON value. */
  value(value: unknown): unknown;
  /** The error itself where there is no secret in it, in what it carries or in its causes; else one with no more than message and code. */
  error(error: unknown): unknown;
}

const minLength = 6;
const mask = "***";
const maxDepth = 8;

/** Knows no secret. */
export const noRedactor: Redactor = {
  longest: 0,
  text: (text) => text,
  value: (value) => value,
  error: (error) => error,
};

/** A redactor of what a target sends: the values of its headers, user info, query and environment, of 6 characters or more. */
export function redactorOf(target: CheckedTarget): Redactor {
  const sent = target.kind === "http" ? sentOverHttp(target) : Object.values(target.env);
  const secrets = [...new Set(sent.flatMap(forms))].filter((secret) => secret.length >= minLength);
  if (secrets.length === 0) return noRedactor;
  // The longest first: one may be a part of another.
  secrets.sort((a, b) => b.length - a.length);
  const pattern = new RegExp(secrets.map((secret) => secret.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|"), "g");
  const redact = (text: string) => text.replace(pattern, mask);
  return {
    longest: secrets[0]?.length ?? 0,
    text: redact,
    value: (value) => redactValue(value, redact, 0),
    error: (error) => (holds(error, redact) ? cleanError(error, redact) : error),
  };
}

/** An error that says no more than its message and its code. */
function cleanError(error: unknown, redact: (text: string) => string): Error {
  const { message, code } = (typeof error === "object" && error !== null ? error : {}) as Partial<
    Readonly<Record<"message" | "code", unknown>>
  >;
  const clean = new Error(redact(typeof message === "string" ? message : String(error)));
  return typeof code === "string" || typeof code === "number" ? Object.assign(clean, { code }) : clean;
}

function sentOverHttp({ headers, url }: Extract<CheckedTarget, { kind: "http" }>): string[] {
  const values = Object.values(headers);
  const credentials = values.flatMap((value) => {
    const [, scheme = "", rest = ""] = /^(\S+)\s+(.+)$/.exec(value) ?? [];
    if (!/^basic$/i.test(scheme)) return [rest];
    const pair = Buffer.from(rest, "base64").toString();
    const colon = pair.indexOf(":");
    return [rest, pair, pair.slice(0, Math.max(0, colon)), pair.slice(colon + 1)];
  });
  return [...values, ...credentials, ...url.searchParams.values()];
}

/** How a value may come back: as it is, in JSON, in a URL, or line by line. */
function forms(value: string): string[] {
  return [
    value,
    JSON.stringify(value).slice(1, -1),
    encoded(value),
    ...value.split(/\r?\n/).map((line) => line.trim()),
  ];
}

function encoded(value: string): string {
  return encodeURIComponent(value.toWellFormed());
}

function redactValue(value: unknown, redact: (text: string) => string, depth: number): unknown {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null) return value;
  // Nobody reads so deep, and it must not end our stack.
  if (depth > maxDepth * 4) return mask;
  if (Array.isArray(value)) return value.map((entry) => redactValue(entry, redact, depth + 1));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [redact(key), redactValue(entry, redact, depth + 1)]),
  );
}

function holds(error: unknown, redact: (text: string) => string): boolean {
  try {
    const shown = inspect(error, {
      depth: maxDepth,
      maxStringLength: Number.POSITIVE_INFINITY,
      maxArrayLength: Number.POSITIVE_INFINITY,
      breakLength: Number.POSITIVE_INFINITY,
    });
    return redact(shown) !== shown;
  } catch {
    // What cannot be looked at is not handed on.
    return true;
  }
}
