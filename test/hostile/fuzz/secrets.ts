import { type Redactor, redactorOf } from "../../../src/mcp/redact.ts";
import { parseTarget } from "../../../src/mcp/target/parse-target.ts";
import type { Random } from "../../support/random.ts";
import type { HostileArea, HostileCase } from "./area.ts";

const mebibyte = 1024 * 1024;
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const odd = "-_.~+/=^$()[]{}|\\\"'?,;:@! #%&<>";
const pieces = ["production", "***", "\n", "\ud800", "\u202e", "Bearer ", "%", "\\", "ä", "{}", '"', "a".repeat(99)];

function pick<T>(random: Random, from: ArrayLike<T>): T {
  return from[Math.floor(random() * from.length)] as T;
}

function secretOf(random: Random): string {
  const alphabet = random() < 0.5 ? letters : letters + odd;
  const length = 8 + Math.floor(random() ** 4 * 200);
  // It ends with what makes it no word, and with no blank, which a header would lose.
  return `${Array.from({ length }, () => pick(random, alphabet)).join("")}-1x`.trim();
}

function mixedCase(random: Random, text: string): string {
  return [...text].map((each) => (random() < 0.5 ? each.toUpperCase() : each.toLowerCase())).join("");
}

function echo(random: Random, secrets: readonly string[], size: number): string {
  let text = "";
  while (text.length < size) {
    const secret = pick(random, secrets);
    const start = Math.floor(random() * secret.length);
    const piece = [() => pick(random, pieces), () => mixedCase(random, secret), () => secret.slice(0, start)];
    text += pick(random, piece)().repeat(1 + Math.floor(random() ** 8 * 50));
  }
  return text;
}

function check(redactor: Redactor, secrets: readonly string[], text: string): void {
  const value = { [text.slice(0, 1_000)]: [text, { nested: text }], kept: "production" };
  for (const shown of [redactor.text(text), JSON.stringify(redactor.described(value)), String(redactor.error(text))]) {
    const lower = shown.toLowerCase();
    for (const secret of secrets) {
      if (lower.includes(secret.toLowerCase())) throw new Error(`${JSON.stringify(secret)} is shown`);
    }
  }
}

function nextCase(random: Random): HostileCase {
  const secrets = Array.from({ length: 1 + Math.floor(random() ** 3 * 1_000) }, () => secretOf(random));
  const size = Math.floor(random() ** 6 * mebibyte);
  const [first = "", ...others] = secrets;
  return {
    describe: `an echo of ${secrets.length} secrets in ${size} characters`,
    run() {
      const target = { command: "server", env: { API_KEY: first.replaceAll("${", "") } };
      const redactor = redactorOf(parseTarget(target));
      for (const secret of [first, ...others]) redactor.conceal(secret);
      check(redactor, secrets.slice(0, 20), echo(random, secrets, size));
    },
  };
}

/** Texts of servers that repeat what they were sent, in parts, in upper and lower case, and between other texts. */
export const secretFuzz: HostileArea = {
  name: "secrets",
  *cases(random) {
    for (;;) yield nextCase(random);
  },
};
