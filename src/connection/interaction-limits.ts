import type { CallPort } from "../call/call-port.ts";
import { ToolkitError } from "../core/error.ts";
import type { ElicitRequest, SampleRequest } from "../core/interaction.ts";
import { assertOptionNames, invalidOption } from "../core/options.ts";
import type { Clock } from "../lib/clock.ts";
import { SlidingWindow } from "../lib/sliding-window.ts";
import { isRecord } from "../lib/value.ts";

/** Limits of the requests of a server to a person. */
export interface ElicitationLimits {
  /** The most during one call, from 1; and in a minute, outside of calls. Default 10, of an untrusted server 3. */
  readonly maxPerCall?: number | undefined;
}

/** Limits of the requests of a server to a model. */
export interface SamplingLimits {
  /** The most during one call, from 1; and in a minute, outside of calls. Default 10. */
  readonly maxPerCall?: number | undefined;
  /** The most tokens a server may ask for; more become so many. Default 4,096. */
  readonly maxTokens?: number | undefined;
}

/** Limits of the requests of a server for the roots of a caller. */
export interface CallerRootsLimits {
  /** The most during one call, from 1. Default 10. */
  readonly maxPerCall?: number | undefined;
}

/** The limits, with every default in place; 0 for what is not offered. */
export interface InteractionLimits {
  readonly maxCallerRoots: number;
  readonly maxElicitations: number;
  readonly maxSamplings: number;
  readonly maxSampleTokens: number;
}

const defaultPerCall = 10;
const untrustedPerCall = 3;
const defaultTokens = 4_096;
const idleWindowMs = 60_000;

/** @throws ToolkitError `INVALID_CONFIG` */
export function readInteractionLimits({
  trust = "standard",
  elicitation = true,
  sampling = trust === "standard",
  callerRoots = false,
}: {
  readonly trust?: "standard" | "untrusted" | undefined;
  readonly elicitation?: boolean | ElicitationLimits | undefined;
  readonly sampling?: boolean | SamplingLimits | undefined;
  readonly callerRoots?: boolean | CallerRootsLimits | undefined;
}): InteractionLimits {
  if (trust === "untrusted" && sampling !== false) {
    throw invalidOption("sampling", "false, since the server is untrusted", sampling, "of a connector");
  }
  if (trust === "untrusted" && callerRoots !== false) {
    throw invalidOption("callerRoots", "false, since the server is untrusted", callerRoots, "of a connector");
  }
  const most = trust === "untrusted" ? untrustedPerCall : defaultPerCall;
  return {
    maxCallerRoots: perCall("callerRoots", callerRoots, { maxPerCall: true }, defaultPerCall),
    maxElicitations: perCall("elicitation", elicitation, { maxPerCall: true }, most),
    maxSamplings: perCall("sampling", sampling, { maxPerCall: true, maxTokens: true }, most),
    maxSampleTokens: isRecord(sampling)
      ? count("sampling.maxTokens", sampling.maxTokens, defaultTokens)
      : defaultTokens,
  };
}

function perCall(
  name: string,
  given: boolean | ElicitationLimits | SamplingLimits | CallerRootsLimits,
  known: Readonly<Record<string, true>>,
  most: number,
): number {
  if (given === true) return most;
  if (given === false) return 0;
  if (!isRecord(given)) throw invalidOption(name, "true, false or its limits", given, "of a connector");
  assertOptionNames(given, known, `in ${name} of a connector`, name);
  return count(`${name}.maxPerCall`, given.maxPerCall, most);
}

function count(name: string, value: unknown, fallback: number): number {
  if (value === undefined) return fallback;
  if (Number.isInteger(value) && (value as number) >= 1) return value as number;
  throw invalidOption(name, "a whole number from 1", value, "of a connector");
}

/** The options that a request of a server may be limited by. */
export type Asked = "elicitation" | "sampling" | "callerRoots";

/** Counts the requests of a server: each call has its own number, and what it asks outside of calls counts by the minute. */
export class InteractionBudget {
  readonly #most: Readonly<Record<Asked, number>>;
  readonly #clock: Clock;
  readonly #byCall = new WeakMap<CallPort, Record<Asked, number>>();
  readonly #idle: Readonly<Record<Asked, SlidingWindow>>;

  constructor({ maxElicitations, maxSamplings, maxCallerRoots }: InteractionLimits, clock: Clock) {
    this.#most = { elicitation: maxElicitations, sampling: maxSamplings, callerRoots: maxCallerRoots };
    this.#clock = clock;
    this.#idle = {
      elicitation: new SlidingWindow(maxElicitations, idleWindowMs),
      sampling: new SlidingWindow(maxSamplings, idleWindowMs),
      callerRoots: new SlidingWindow(maxCallerRoots, idleWindowMs),
    };
  }

  /**
   * Counts one request. Where a server does not say which of several calls it asks for, the first pays that can.
   *
   * @throws ToolkitError `LIMIT_EXCEEDED`
   */
  spend(what: Asked, calls: readonly CallPort[], server: string): void {
    const most = this.#most[what];
    if (calls.length === 0) {
      const now = this.#clock.now();
      if (this.#idle[what].waitMs(now) > 0) throw tooMany(what, most, `${server} asked in a minute, outside of calls`);
      this.#idle[what].spend(now);
      return;
    }
    for (const call of calls) {
      const spent = this.#byCall.get(call) ?? { elicitation: 0, sampling: 0, callerRoots: 0 };
      if (spent[what] >= most) continue;
      spent[what] += 1;
      this.#byCall.set(call, spent);
      return;
    }
    throw tooMany(what, most, `${server} asked during a call`);
  }
}

function tooMany(what: Asked, max: number, who: string): ToolkitError<"LIMIT_EXCEEDED"> {
  const message = `${who} more often than ${what}.maxPerCall allows (${max}): the request was declined.`;
  return new ToolkitError("LIMIT_EXCEEDED", message, { limit: `${what}.maxPerCall`, max });
}

/** The request with no more tokens than allowed. One for no number of tokens is for the most. */
export function clampedSample(request: SampleRequest, { maxSampleTokens }: InteractionLimits): SampleRequest {
  const { maxTokens } = request;
  return maxTokens <= maxSampleTokens ? request : { ...request, maxTokens: maxSampleTokens };
}

// Words of names, once `apiKey` and `api_key` are `api key`.
const secretWords =
  /\b(?:pass ?(?:words?|wd|phrases?|codes?)|secrets?|(?:api|access|private|secret|encryption|ssh) ?keys?|tokens?|credentials?|pin(?: ?codes?)?|otp|cvv|cvc|ssn|(?:credit|debit) ?cards?|card ?numbers?|seed ?phrases?|mnemonic|bearer)\b/;
// The word for a password in other languages; without marks, and of those without blanks wherever it is.
const foreignWords =
  /\b(?:(?:pass|kenn)wort|contrasena|mot de passe|senha|wachtwoord|haslo|losenord|sifre)\b|пароль|密码|密碼|パスワード|비밀번호/;
/** Letters that look like Latin ones, and digits that stand for letters. */
const lookalikes: readonly (readonly [RegExp, string, string])[] = [
  [/[аеорсухіѕјкмтвԁαορνικτ]/gu, "аеорсухіѕјкмтвԁαορνικτ", "aeopcyxisjkmtbdaopvikt"],
  [/[013457@$]/g, "013457@$", "oieastas"],
];
/** The most members of a form. */
const maxMembers = 1_000;
/** More of a text is not looked at. */
const maxTextLength = 10_000;

/**
 * The request with its members that seem to ask for a secret; the same where none does.
 *
 * @throws ToolkitError `LIMIT_EXCEEDED` for a form that no person would fill in
 */
export function withSecrets(request: ElicitRequest): ElicitRequest {
  const { message: question, schema } = request;
  const properties = schema?.properties;
  if (!isRecord(properties)) return request;
  if (Object.keys(properties).length > maxMembers) {
    const message = `A form of more than ${maxMembers} members is declined.`;
    throw new ToolkitError("LIMIT_EXCEEDED", message, { limit: "form members", max: maxMembers });
  }
  const asked = [question, schema?.title, schema?.description].some(isSecret);
  const secrets = Object.entries(properties)
    .filter(
      ([name, member]) => isRecord(member) && (isSecretMember(name, member) || (asked && member.type === "string")),
    )
    .map(([name]) => name);
  return secrets.length === 0 ? request : { ...request, secrets };
}

function isSecretMember(name: string, { title, description, format }: Readonly<Record<string, unknown>>): boolean {
  return format === "password" || [name, title, description].some(isSecret);
}

function isSecret(text: unknown): boolean {
  if (typeof text !== "string") return false;
  const plain = text
    .slice(0, maxTextLength)
    .normalize("NFKC")
    .replace(/\p{Cf}/gu, "");
  const parted = plain.replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2").toLowerCase();
  if (foreignWords.test(parted)) return true;
  let latin = parted.normalize("NFD").replace(/\p{M}/gu, "");
  if (isSecretText(latin)) return true;
  for (const [letters, from, to] of lookalikes)
    latin = latin.replace(letters, (letter) => to[from.indexOf(letter)] ?? letter);
  return isSecretText(latin);
}

function isSecretText(text: string): boolean {
  const words = text.replace(/[^\p{L}\p{N}]+/gu, " ");
  // Letters apart are read as one word.
  const joined = words.replace(/\b(?:[a-z] ){3,}[a-z]\b/g, (letters) => letters.replaceAll(" ", ""));
  return secretWords.test(joined) || foreignWords.test(joined);
}
