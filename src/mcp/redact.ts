import { shownValue } from "../lib/console-text.ts";
import { decoded } from "../lib/pointer.ts";
import { formsOf, partsOf } from "../lib/secret-forms.ts";
import { SecretIndex, searchSteps } from "../lib/secret-index.ts";
import {
  credentialName,
  headerScheme,
  isCredential,
  passwordIn,
  secretMask,
  tokensInPath,
} from "../lib/token-shape.ts";
import { isRecord } from "../lib/value.ts";
import type { CheckedTarget } from "./target/parse-target.ts";

/** Takes secrets that were sent to a server out of its messages, before a person or a log sees them. */
export interface Redactor {
  /** The length of the longest secret: where a text was cut, so much at the cut may be a part of one. */
  readonly longest: number;
  /**
   * The text with `***` in place of every secret, in upper or lower case. Give it whole: of a text that was cut, a part of a secret may be
   * left.
   */
  text(text: string): string;
  /** The same for every text in a JSON value. */
  value(value: unknown): unknown;
  /**
   * The part of an interface, such as a descriptor or a name, without secrets; itself where there is none in it. Everything that was sent
   * counts in `text`, and here only what is a credential by its name or its form: a schema with the word `production` keeps it, though the
   * environment of the child has it too.
   */
  described<T>(value: T): T;
  /** The error itself where there is no secret in it, in what it carries or in its causes; else one with no more than message and code. */
  error(error: unknown): unknown;
  /** From now on this is a secret too. Of those that come and go the last thousand are known, and of these a mebibyte. */
  conceal(secret: string): void;
}

const maxDepth = 8;

/** Knows no secret. */
export const noRedactor: Redactor = {
  longest: 0,
  text: (text) => text,
  value: (value) => value,
  described: (value) => value,
  error: (error) => error,
  conceal: () => {},
};

/**
 * A redactor of what a target sends: the values of its headers, user info, query and environment, the keys in its path, and the variables in
 * its URL that are named like credentials, of 6 characters or more.
 */
export function redactorOf(target: CheckedTarget): Redactor {
  return new SecretRedactor(
    target.kind === "http" ? sentOverHttp(target) : Object.entries(target.env).map(sentInEnvironment),
  );
}

// A server echoes what it was sent lately. An authorization server may choose tokens of 64 KiB, and another one for each request.
const maxPassing = 1_000;
const maxPassingLength = 1_048_576;

/** A value that is sent, and what of it is a credential. */
interface Sent {
  readonly all: readonly string[];
  readonly credentials: readonly string[];
}

class SecretRedactor implements Redactor {
  /** All that is secret, and what of it is a credential. */
  readonly #all = new SecretIndex();
  readonly #credentials = new SecretIndex();
  /** Those that come and go, the one that came longest ago first. */
  readonly #passing = new Set<string>();
  #passingLength = 0;

  constructor(lasting: readonly Sent[]) {
    for (const form of formsOf(lasting.flatMap(({ all }) => all))) this.#all.add(form);
    const credentials = formsOf(lasting.flatMap((sent) => sent.credentials));
    for (const form of credentials) if (!isOrdinary(form)) this.#credentials.add(form);
  }

  get longest(): number {
    return this.#all.longest;
  }

  conceal(secret: string): void {
    const isKnown = this.#passing.delete(secret);
    this.#passing.add(secret);
    if (isKnown) return;
    this.#passingLength += secret.length;
    for (const form of formsOf(partsOf(secret))) {
      this.#all.add(form);
      if (!isOrdinary(form)) this.#credentials.add(form);
    }
    for (const oldest of this.#passing) {
      if (this.#passing.size <= maxPassing && this.#passingLength <= maxPassingLength) return;
      // One alone is kept, whatever its length.
      if (oldest === secret) return;
      this.#forget(oldest);
    }
  }

  text(text: string): string {
    return this.#all.mask(text, secretMask, searchSteps());
  }

  value(value: unknown): unknown {
    if (this.#all.longest === 0) return value;
    const steps = searchSteps();
    return redactValue(value, (text) => this.#all.mask(text, secretMask, steps), 0);
  }

  described<T>(value: T): T {
    if (this.#credentials.longest === 0) return value;
    const steps = searchSteps();
    return redactDescribed(value, (text) => this.#credentials.mask(text, secretMask, steps)) as T;
  }

  error(error: unknown): unknown {
    if (this.#all.longest === 0) return error;
    const redact = (text: string) => this.text(text);
    return holds(error, redact) ? cleanError(error, redact) : error;
  }

  #forget(secret: string): void {
    this.#passing.delete(secret);
    this.#passingLength -= secret.length;
    for (const form of formsOf(partsOf(secret))) {
      this.#all.remove(form);
      if (!isOrdinary(form)) this.#credentials.remove(form);
    }
  }
}

/** A word or a number that an interface may have for another reason, though a poor password may be the same. */
function isOrdinary(text: string): boolean {
  return /^(?:[A-Za-z]{1,15}|[0-9]{1,9})$/.test(text);
}

/** An error that says no more than its message and its code. */
function cleanError(error: unknown, redact: (text: string) => string): Error {
  const { message, code } = (typeof error === "object" && error !== null ? error : {}) as Partial<
    Readonly<Record<"message" | "code", unknown>>
  >;
  const clean = new Error(redact(typeof message === "string" ? message : String(error)));
  return typeof code === "string" || typeof code === "number" ? Object.assign(clean, { code }) : clean;
}

function sentOverHttp({ headers, url, masked }: Extract<CheckedTarget, { kind: "http" }>): readonly Sent[] {
  const keys = [...tokensInPath(url.pathname), ...(masked?.secrets ?? [])].flatMap((key) => [key, decoded(key)]);
  return [
    ...[...Object.entries(headers), ...url.searchParams].map(([name, value]) => sentValue(name, value, partsOf(value))),
    { all: keys, credentials: keys },
  ];
}

/** Of a variable only one that holds a header has parts: another may be a sentence. */
function sentInEnvironment([name, value]: readonly [name: string, value: string]): Sent {
  const isHeader = credentialName.test(name) || headerScheme.test(value);
  return sentValue(name, value, isHeader ? partsOf(value) : [value]);
}

function sentValue(name: string, value: string, parts: readonly string[]): Sent {
  const password = passwordIn(value);
  const all = password === undefined ? parts : [...parts, password, decoded(password)];
  return { all, credentials: isCredential(name, value) ? all : [] };
}

function redactValue(value: unknown, redact: (text: string) => string, depth: number): unknown {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null) return value;
  // No reader looks so deep, and it must not end the stack.
  if (depth > maxDepth * 4) return secretMask;
  if (Array.isArray(value)) return value.map((entry) => redactValue(entry, redact, depth + 1));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [redact(key), redactValue(entry, redact, depth + 1)]),
  );
}

/** As `redactValue`, and to every depth: a part that holds no secret is the same object. */
function redactDescribed(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === "string") return redact(value);
  if (Array.isArray(value)) {
    const entries = value.map((entry) => redactDescribed(entry, redact));
    return entries.every((entry, index) => entry === value[index]) ? value : entries;
  }
  if (!isRecord(value)) return value;
  const entries = Object.entries(value);
  const redacted = entries.map(([key, entry]) => [redact(key), redactDescribed(entry, redact)] as const);
  const isSame = redacted.every(([key, entry], index) => key === entries[index]?.[0] && entry === entries[index]?.[1]);
  return isSame ? value : Object.fromEntries(redacted);
}

function holds(error: unknown, redact: (text: string) => string): boolean {
  try {
    const shown = shownValue(error, {
      depth: maxDepth,
      maxStringLength: Number.POSITIVE_INFINITY,
      maxArrayLength: Number.POSITIVE_INFINITY,
      breakLength: Number.POSITIVE_INFINITY,
    });
    // Texts are shown with their quotes and backslashes escaped.
    const plain = shown.replace(/\\(['"`\\])/g, "$1");
    return redact(shown) !== shown || redact(plain) !== plain;
  } catch {
    // An error that cannot be inspected is not passed on.
    return true;
  }
}
