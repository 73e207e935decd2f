import { assertOptionNames, invalidOption, type OptionNames } from "../../core/options.ts";
import { isRecord } from "../../lib/value.ts";

/** A server that speaks the form of OpenAI's Chat Completions, such as Ollama, vLLM or LM Studio. Needs `@ai-sdk/openai-compatible`. */
export interface ModelServer {
  /** Where it is, such as `http://localhost:8000/v1`. */
  readonly url: string;
  /** Sent as a bearer token. Default: none. */
  readonly apiKey?: string | undefined;
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

const names: OptionNames<ModelServer> = { url: true, apiKey: true, headers: true };

/**
 * The description of a server, checked.
 *
 * @param path - the option it was given as, for the message
 * @throws ToolkitError `INVALID_CONFIG`, which never shows a key
 */
export function readModelServer(given: Readonly<Record<string, unknown>>, path: string): ModelServer {
  assertOptionNames<ModelServer>(given, names, "of a model server", path);
  const { url, apiKey, headers } = given;
  if (typeof url !== "string") throw invalidOption(`${path}.url`, "an http(s) URL", url);
  // What cannot be shown may be a key in the wrong place.
  if (apiKey !== undefined && typeof apiKey !== "string")
    throw invalidOption(`${path}.apiKey`, "a text", typeof apiKey);
  if (
    headers !== undefined &&
    !(isRecord(headers) && Object.values(headers).every((value) => typeof value === "string"))
  )
    throw invalidOption(`${path}.headers`, "an object of texts", typeof headers);
  return { url: readServerUrl(url, `${path}.url`), apiKey, headers: headers as ModelServer["headers"] };
}

/**
 * The URL of a server, to which paths can be appended.
 *
 * @param path - the option or variable it was given as, for the message
 * @throws ToolkitError `INVALID_CONFIG`
 */
export function readServerUrl(text: string, path: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw invalidOption(path, "an http(s) URL", text);
  return text.replace(/\/+$/, "");
}
