import { messageOf } from "../../core/error.ts";
import { isRecord } from "../../lib/value.ts";
import type { FaultyToolContext } from "./definition.ts";
import type { Outcome } from "./methods.ts";
import type { Script } from "./script.ts";

/** Runs a tool, notes that it ran, and makes a result of what it gives. It never rejects. */
export async function runTool(
  script: Script,
  { name, arguments: given }: Readonly<Record<string, unknown>>,
  context: FaultyToolContext,
): Promise<Outcome> {
  const { tools } = script.offer;
  const tool = Object.hasOwn(tools, String(name)) ? tools[String(name)] : undefined;
  if (tool === undefined) return { error: { code: -32602, message: `There is no tool ${String(name)}.` } };
  const input = isRecord(given) ? given : {};
  script.ran(input.id);
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
