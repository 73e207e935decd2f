import { inspect } from "node:util";
import { isRecord } from "../lib/value.ts";
import type { CheckedTarget } from "./target/parse-target.ts";

/** Takes secrets that were sent to a server out of its messages, before a person or a log sees them. */
export interface Redactor {
  /** The length of the longest secret: where a text was cut, so much at the cut may be a part of one. */
  readonly longest: number;
  /** The text with `***` in place of every secret. Give it whole: of a text that was cut, a part of a secret may be left. */
  text(text: string): string;
  /** The same for every text in a JSON value. */
  value(value: unknown): unknown;
  /** The error itself where there is no secret in it, in what it carries or in its causes; else one with no more than message and code. */
  error(error: unknown): unknown;
  /** From now on this is a secret too. Of those that come and go the last thousand are known. */
  conceal(secret: string): void;
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
  conceal: () => {},
};

/** A redactor of what a target sends: the values of its headers, user info, query and environment, of 6 characters or more. */
export function redactorOf(target: CheckedTarget): Redactor {
  return new SecretRedactor(target.kind === "http" ? sentOverHttp(target) : Object.values(target.env));
}

// A server echoes what it was sent lately.
const maxPassing = 1_000;

class SecretRedactor implements Redactor {
  readonly #lasting: readonly string[];
  /** Those that come and go, the oldest first. */
  readonly #passing = new Set<string>();
  #pattern: RegExp | undefined;
  #longest = 0;
  /** The pattern has to be made anew when it is needed. */
  #outdated = true;

  constructor(lasting: readonly string[]) {
    this.#lasting = lasting;
  }

  get longest(): number {
    this.#update();
    return this.#longest;
  }

  conceal(secret: string): void {
    if (this.#passing.has(secret)) return;
    this.#passing.add(secret);
    const [oldest] = this.#passing;
    if (this.#passing.size > maxPassing && oldest !== undefined) this.#passing.delete(oldest);
    this.#outdated = true;
  }

  text(text: string): string {
    this.#update();
    return this.#pattern === undefined ? text : text.replace(this.#pattern, mask);
  }

  value(value: unknown): unknown {
    this.#update();
    return this.#pattern === undefined ? value : redactValue(value, (text) => this.text(text), 0);
  }

  error(error: unknown): unknown {
    this.#update();
    if (this.#pattern === undefined) return error;
    const redact = (text: string) => this.text(text);
    return holds(error, redact) ? cleanError(error, redact) : error;
  }

  #update(): void {
    if (!this.#outdated) return;
    this.#outdated = false;
    const sent = [...this.#lasting, ...[...this.#passing].flatMap(partsOf)];
    const secrets = [...new Set(sent.flatMap(forms))].filter((secret) => secret.length >= minLength);
    // The longest first: one may be a part of another.
    secrets.sort((a, b) => b.length - a.length);
    const escaped = secrets.map((secret) => secret.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
    this.#pattern = secrets.length === 0 ? undefined : new RegExp(escaped.join("|"), "g");
    this.#longest = secrets[0]?.length ?? 0;
  }
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
  return [...Object.values(headers).flatMap(partsOf), ...url.searchParams.values()];
}

/** The secrets in the value of a header: it, and its credentials without their scheme. */
function partsOf(value: string): string[] {
  const [, scheme = "", rest = ""] = /^(\S+)\s+(.+)$/.exec(value) ?? [];
  if (!/^basic$/i.test(scheme)) return [value, rest];
  const pair = Buffer.from(rest, "base64").toString();
  const colon = pair.indexOf(":");
  return [value, rest, pair, pair.slice(0, Math.max(0, colon)), pair.slice(colon + 1)];
}

/** The forms in which a value may come back: as it is, in JSON, in a URL, or line by line. */
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
  // No reader looks so deep, and it must not end the stack.
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
    // An error that cannot be inspected is not passed on.
    return true;
  }
}
