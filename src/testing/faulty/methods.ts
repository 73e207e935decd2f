import { messageOf } from "../../core/error.ts";
import { isRecord } from "../../lib/value.ts";
import type { MethodOutcome } from "./client-channel.ts";
import type { FaultyToolContext } from "./faulty-offer.ts";
import type { FaultyState } from "./faulty-state.ts";
import { pageOf } from "./lists.ts";
import { discovered } from "./stateless.ts";

type Params = Readonly<Record<string, unknown>>;

const latestVersion = "2025-11-25";

/** Answers every method except `tools/call`. */
export function outcomeOf(state: FaultyState, method: string, params: Params): MethodOutcome {
  const page = pageOf(state, method, params.cursor);
  if (page !== undefined) return { result: page };
  if (method === "initialize" && !state.isStateless) return { result: hello(state, params) };
  if (method === "server/discover" && state.isStateless) return { result: discovered(state) };
  if (method === "prompts/get") return rendered(state, params);
  if (method === "resources/read") return contents(state, params);
  return emptyResults.has(method) && !state.isStateless
    ? { result: {} }
    : { error: { code: -32601, message: `Method not found: ${method}` } };
}

const emptyResults: ReadonlySet<string> = new Set([
  "ping",
  "logging/setLevel",
  "resources/subscribe",
  "resources/unsubscribe",
]);

function hello({ name, capabilities, faults }: FaultyState, { protocolVersion = latestVersion }: Params): object {
  const version = faults.take("unknown-version") === undefined ? protocolVersion : "1999-12-31";
  return { protocolVersion: version, capabilities, serverInfo: { name, version: "1.0.0" } };
}

function rendered({ offer }: FaultyState, { name, arguments: given }: Params): MethodOutcome {
  const prompt = offer.prompts[String(name)];
  if (prompt === undefined) return { error: { code: -32602, message: `There is no prompt ${String(name)}.` } };
  const values = Object.entries(given ?? {});
  const text = values.reduce((said, [key, value]) => said.replaceAll(`{${key}}`, String(value)), prompt.text);
  return { result: { messages: [{ role: "user", content: { type: "text", text } }] } };
}

function contents({ offer }: FaultyState, { uri }: Params): MethodOutcome {
  const found = offer.resources[String(uri)];
  if (found === undefined) return { error: { code: -32002, message: `There is no resource ${String(uri)}.` } };
  const { mimeType = "text/plain", text } = found;
  return { result: { contents: [{ uri, mimeType, text }] } };
}

/** Answers `tools/call`: counts the run and converts its result. It never rejects. */
export async function runTool(
  state: FaultyState,
  { name, arguments: given, requestState }: Readonly<Record<string, unknown>>,
  context: FaultyToolContext,
): Promise<MethodOutcome> {
  const { tools } = state.offer;
  const tool = Object.hasOwn(tools, String(name)) ? tools[String(name)] : undefined;
  if (tool === undefined) return { error: { code: -32602, message: `There is no tool ${String(name)}.` } };
  const input = isRecord(given) ? given : {};
  // A call that goes on with answers was counted.
  if (requestState === undefined) state.ran(input.id);
  try {
    return { result: resultOf(await tool.run(input, context)) };
  } catch (error) {
    return { result: { content: [{ type: "text", text: messageOf(error) }], isError: true } };
  }
}

function resultOf(value: unknown): object {
  if (isRecord(value)) {
    if (Array.isArray(value.content)) return value;
    return { content: [{ type: "text", text: JSON.stringify(value) }], structuredContent: value };
  }
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return { content: [{ type: "text", text }] };
}
