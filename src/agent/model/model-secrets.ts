import type { LanguageModelV4 } from "@ai-sdk/provider";
import { isRecord } from "../../lib/value.ts";

const mask = "***";
/** What is shorter is no key, and masking it would garble what is said. */
const minLength = 8;
const secretName = /key|token|secret|authorization|password|cookie/i;

/** What keys look like, whoever's they are. Where there is a group before the key, it is kept. */
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
 * Takes keys out of what a provider says: those the model is known to send, those in the environment, and whatever looks like one.
 * It is made where something failed, so it may take its time.
 */
export async function modelRedactor(model: LanguageModelV4): Promise<(text: string) => string> {
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

/**
 * The models of the AI SDK's own packages keep the headers they send in a field they do not speak of. Where there is none such, the
 * forms above are what is left.
 */
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
