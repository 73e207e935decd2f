import { pageOf } from "./lists.ts";
import type { Script } from "./script.ts";

/** What a request comes to. */
export type Outcome =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string } };

type Params = Readonly<Record<string, unknown>>;

const latestVersion = "2025-11-25";

/** Answers whatever is no call. */
export function outcomeOf(script: Script, method: string, params: Params): Outcome {
  const page = pageOf(script, method, params.cursor);
  if (page !== undefined) return { result: page };
  if (method === "initialize") return { result: hello(script, params) };
  if (method === "prompts/get") return rendered(script, params);
  if (method === "resources/read") return contents(script, params);
  return emptyResults.has(method)
    ? { result: {} }
    : { error: { code: -32601, message: `Method not found: ${method}` } };
}

const emptyResults: ReadonlySet<string> = new Set([
  "ping",
  "logging/setLevel",
  "resources/subscribe",
  "resources/unsubscribe",
]);

function hello({ name, capabilities, faults }: Script, { protocolVersion = latestVersion }: Params): object {
  const version = faults.take("unknown-version") === undefined ? protocolVersion : "1999-12-31";
  return { protocolVersion: version, capabilities, serverInfo: { name, version: "1.0.0" } };
}

function rendered({ offer }: Script, { name, arguments: given }: Params): Outcome {
  const prompt = offer.prompts[String(name)];
  if (prompt === undefined) return { error: { code: -32602, message: `There is no prompt ${String(name)}.` } };
  const values = Object.entries(given ?? {});
  const text = values.reduce((said, [key, value]) => said.replaceAll(`{${key}}`, String(value)), prompt.text);
  return { result: { messages: [{ role: "user", content: { type: "text", text } }] } };
}

function contents({ offer }: Script, { uri }: Params): Outcome {
  const found = offer.resources[String(uri)];
  if (found === undefined) return { error: { code: -32002, message: `There is no resource ${String(uri)}.` } };
  const { mimeType = "text/plain", text } = found;
  return { result: { contents: [{ uri, mimeType, text }] } };
}
