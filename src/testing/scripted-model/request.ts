import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { isRecord, present } from "../../lib/value.ts";
import type { ModelRequest } from "./script.ts";

/** What a model is asked, as values of their own: whoever asks may go on changing his. */
export function recordRequest(options: LanguageModelV4CallOptions, stream: boolean): ModelRequest {
  const { abortSignal: _, ...asked } = options;
  return { ...(copied(present(asked)) as LanguageModelV4CallOptions), stream };
}

function copied(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copied);
  if (value instanceof Uint8Array) return Uint8Array.from(value);
  if (value instanceof URL) return new URL(value);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, copied(each)]));
}
