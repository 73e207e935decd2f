import { randomUUID } from "node:crypto";
import type { AgentCard, AgentSkill, Message, Part } from "@a2a-js/sdk";
import type { DescriptorList, ToolDescriptor } from "../core/connector.ts";
import { ToolkitError } from "../core/error.ts";
import { toIdentifier } from "../core/identifier.ts";
import type { Resource } from "../core/resource.ts";
import type { JsonSchema } from "../core/schema/types.ts";
import { present } from "../lib/value.ts";
import type { Redactor } from "../mcp/redact.ts";

/** A skill of an agent under the name of its tool. */
export interface NamedSkill {
  readonly name: string;
  /** Undefined for an agent that lists none: it is one tool. */
  readonly skill: AgentSkill | undefined;
  readonly outputModes: readonly string[];
  readonly descriptor: ToolDescriptor;
}

const maxExamples = 10;
const maxTextLength = 4_000;

/** The skills of an agent as tools. Names are made of the ids, and unique. */
export function skillsOf(card: AgentCard, redactor: Redactor): readonly NamedSkill[] {
  const skills: readonly (AgentSkill | undefined)[] = card.skills.length === 0 ? [undefined] : card.skills;
  const taken = new Set<string>();
  return skills.map((skill) => {
    const name = freeName(toIdentifier(skill?.id ?? "message", "skill"), taken);
    const own = skill?.outputModes ?? [];
    const outputModes = own.length > 0 ? own : card.defaultOutputModes;
    return { name, skill, outputModes, descriptor: redactor.described(descriptorOf(name, skill, card)) };
  });
}

/** The tools of an agent, no more than the limit. */
export function toolList(skills: readonly NamedSkill[], max: number): DescriptorList<"tool"> {
  const items = skills.slice(0, max).map(({ descriptor }) => descriptor);
  return { items, warnings: [], ...(skills.length > max ? { cutAt: max } : {}) };
}

function freeName(wanted: string, taken: Set<string>): string {
  let name = wanted;
  for (let number = 2; taken.has(name); number += 1) name = `${wanted.slice(0, 58)}-${number}`;
  taken.add(name);
  return name;
}

function descriptorOf(name: string, skill: AgentSkill | undefined, card: AgentCard): ToolDescriptor {
  const examples = (skill?.examples ?? []).slice(0, maxExamples).map((text) => `- ${text.slice(0, maxTextLength)}`);
  const own = (skill?.description ?? card.description).slice(0, maxTextLength);
  const description = [own, ...(examples.length === 0 ? [] : [`Examples:\n${examples.join("\n")}`])].join("\n\n");
  const modes = (skill?.inputModes ?? []).length > 0 ? (skill?.inputModes ?? []) : card.defaultInputModes;
  const title = skill?.name === "" ? undefined : skill?.name;
  return {
    name,
    ...present({ title }),
    description,
    input: inputSchema(modes),
    // Nothing of it is said by a card, and an agent acts in the world.
    annotations: { openWorldHint: true, ...present({ title }) },
    meta: { a2a: { agent: card.name, skillId: skill?.id ?? null, tags: skill?.tags ?? [] } },
  };
}

/** The schema of what a skill takes, by its media types. */
export function inputSchema(modes: readonly string[]): JsonSchema {
  const takesText = modes.length === 0 || modes.some((mode) => /^(?:text\b|\*)/i.test(mode));
  const takesData = modes.length === 0 || modes.some((mode) => /json|^\*/i.test(mode));
  const message = { type: "string", description: "The task for the agent, in words." };
  const data = { description: "Structured input for the agent: any JSON value." };
  return {
    type: "object",
    properties: {
      ...(takesText || !takesData ? { message } : {}),
      ...(takesData ? { data } : {}),
      contextId: { type: "string", description: "Of an earlier answer, to go on in the same conversation." },
      taskId: { type: "string", description: "Of an earlier answer that waits for input, to go on with that task." },
    },
    required: [takesText || !takesData ? "message" : "data"],
    additionalProperties: false,
  };
}

/** The input of a call, parsed. */
export interface SkillInput {
  readonly message: string | undefined;
  readonly data: unknown;
  readonly contextId: string;
  readonly taskId: string;
}

/** The input of a call: calls that no schema checked come here too. @throws ToolkitError `INVALID_INPUT` */
export function parseSkillInput(name: string, given: unknown): SkillInput {
  const fields: Readonly<Record<string, unknown>> = typeof given === "object" && given !== null ? { ...given } : {};
  const text = (key: string): string | undefined => {
    const value = fields[key];
    if (value === undefined || typeof value === "string") return value;
    throw invalid(name, `/${key}`, "must be a string");
  };
  const message = text("message");
  const { data } = fields;
  if (message === undefined && data === undefined) throw invalid(name, "", 'needs "message" or "data"');
  return { message, data, contextId: text("contextId") ?? "", taskId: text("taskId") ?? "" };
}

function invalid(name: string, pointer: string, message: string): ToolkitError<"INVALID_INPUT"> {
  const where = pointer === "" ? "its input" : `"${pointer.slice(1)}"`;
  return new ToolkitError("INVALID_INPUT", `${name}: ${where} ${message}. Nothing was sent.`, {
    issues: [{ pointer, message }],
  });
}

/** The first message of a call. */
export async function firstMessage(
  { skill }: NamedSkill,
  { message, data, contextId, taskId }: SkillInput,
  { attachments, signal, maxBytes }: { attachments: readonly Resource[]; signal: AbortSignal; maxBytes: number },
): Promise<Message> {
  const parts: Part[] = [];
  if (message !== undefined) parts.push(textPart(message));
  if (data !== undefined)
    parts.push({ content: { $case: "data", value: data }, metadata: undefined, filename: "", mediaType: "" });
  let size = 0;
  for (const attachment of attachments) {
    const value = Buffer.from(await attachment.bytes({ signal }));
    size += value.length;
    if (size > maxBytes) throw tooLarge(maxBytes, size);
    const { name: filename, mediaType = "application/octet-stream" } = attachment;
    parts.push({ content: { $case: "raw", value }, metadata: undefined, filename, mediaType });
  }
  return messageOf(parts, { contextId, taskId }, skill === undefined ? undefined : { skillId: skill.id });
}

/** The answer to an agent that asked something. */
export function answerMessage(text: string, ids: { readonly contextId: string; readonly taskId: string }): Message {
  return messageOf([textPart(text)], ids, undefined);
}

function messageOf(
  parts: Part[],
  { contextId, taskId }: { readonly contextId: string; readonly taskId: string },
  metadata: Record<string, unknown> | undefined,
): Message {
  const role = 1;
  const ids = { messageId: randomUUID(), contextId, taskId };
  return { ...ids, role, parts, metadata, extensions: [], referenceTaskIds: [] };
}

function textPart(value: string): Part {
  return { content: { $case: "text", value }, metadata: undefined, filename: "", mediaType: "" };
}

function tooLarge(max: number, actual: number): ToolkitError<"LIMIT_EXCEEDED"> {
  const message = `The attachments have more bytes than maxMessageBytes (${max}): nothing was sent. Attach less.`;
  return new ToolkitError("LIMIT_EXCEEDED", message, { limit: "maxMessageBytes", max, actual });
}
