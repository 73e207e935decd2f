import type { LanguageModelV4 } from "@ai-sdk/provider";
import { ToolkitError } from "../../core/error.ts";
import { invalidOption } from "../../core/options.ts";
import { isRecord } from "../../lib/value.ts";

/** True for a model of the AI SDK in the version that Toolweave speaks, `LanguageModelV4`. */
export function isLanguageModel(value: unknown): value is LanguageModelV4 {
  return looksLikeModel(value) && value.specificationVersion === "v4";
}

/**
 * Refuses what is no such model.
 *
 * @param path - the option it was given as, for the message
 * @throws ToolkitError `INVALID_CONFIG`; for a model of another version it says so
 */
export function assertLanguageModel(value: unknown, path: string): asserts value is LanguageModelV4 {
  if (isLanguageModel(value)) return;
  if (!looksLikeModel(value)) throw invalidOption(path, "a model of the AI SDK (LanguageModelV4)", value);
  const version = String(value.specificationVersion);
  const message = `The option ${path} is a model of version ${version} of the AI SDK's interface, and must be of v4: install a version 4 of its package.`;
  throw new ToolkitError("INVALID_CONFIG", message, { path });
}

function looksLikeModel(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    isRecord(value) &&
    typeof value.doGenerate === "function" &&
    typeof value.doStream === "function" &&
    typeof value.modelId === "string" &&
    typeof value.provider === "string"
  );
}
