import { z } from "zod";

/*
 * The form of a tape: JSON lines. The first line says the version; a reader refuses a version that it does not know, and passes over lines of a
 * type that it does not know. docs/reference/tape.schema.json is made from this file.
 */

/** The version of the form. It changes when a reader of the old one would misread the new one. */
export const tapeVersion = 1;

const at = z.number().min(0).describe("Milliseconds since the tape began.");
const callId = z.int().min(1).describe("The number of a call on this tape, from 1.");
const ref = z.string().describe("The ref of an item: namespace.name, or uri#namespace.");
const durationMs = z.number().min(0);
const cut = z
  .int()
  .optional()
  .describe("The line was longer than allowed: its largest member is left out, and had so many bytes.");
const error = z
  .looseObject({
    code: z.string().optional(),
    message: z.string(),
    details: z.record(z.string(), z.unknown()).optional(),
    ref: z.string().optional(),
    phase: z.string().optional(),
  })
  .describe("An error: with a code where it is a ToolkitError.");
const schema = z.record(z.string(), z.unknown());

const header = z.looseObject({
  type: z.literal("tape"),
  version: z.literal(tapeVersion),
  toolweave: z.string().describe("The version of the package that wrote it."),
  beganAt: z.string().describe("ISO 8601."),
  redact: z.array(z.string()).describe("Globs on keys whose values are masked, beside those that always are."),
});

const item = z.looseObject({
  type: z.literal("item"),
  at,
  kind: z.enum(["tool", "prompt", "resource"]),
  ref,
  namespace: z.string(),
  name: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  input: schema.optional(),
  output: schema.optional(),
  annotations: schema.optional(),
  options: schema.optional().describe("The options that a model run looks at, such as guidance."),
  mediaType: z.string().optional(),
  cut,
});

const call = z.looseObject({
  type: z.literal("call"),
  at,
  call: callId,
  parent: callId.optional().describe("The call that made it. Missing for a call from outside."),
  verb: z.enum(["call", "render", "read"]),
  kind: z.enum(["tool", "prompt", "resource"]),
  ref,
  input: z.unknown().optional(),
  attachments: z.array(z.unknown()).optional(),
  principal: z.string().optional(),
  cut,
});

const result = z.looseObject({
  type: z.literal("result"),
  at,
  call: callId,
  durationMs,
  content: z.unknown().optional().describe("A Content as `toJSON()` gives it."),
  rendered: z.unknown().optional().describe("Of a render: system and messages."),
  error: error.optional().describe("In place of a result."),
  cut,
});

const request = z.looseObject({
  digest: z.string().describe("SHA-256 of the whole request, secrets masked, in base64url."),
  kept: z.int().min(0).describe("So many messages are those of the turn before in this run."),
  added: z.array(z.unknown()).describe("The messages after those."),
  tools: z.record(z.string(), z.string()).describe("The digest of each tool that is offered, by alias."),
  settings: z.record(z.string(), z.unknown()).describe("Everything else: settings, tool choice, form of the answer."),
});

const turn = z.looseObject({
  type: z.literal("turn"),
  at,
  call: callId.optional().describe("The call of the prompt."),
  run: z.string(),
  ref,
  step: z.int().min(0),
  provider: z.string(),
  model: z.string(),
  api: z.string().describe("The provider as the model names itself."),
  durationMs,
  request: request.optional(),
  offered: z.array(z.string()).optional().describe("The refs of the tools that are offered, where they changed."),
  answer: z
    .looseObject({
      content: z.array(z.looseObject({ type: z.string() })),
      finishReason: z.string(),
      usage: z.unknown(),
      structuredText: z.string().optional(),
    })
    .optional(),
  error: error.optional().describe("In place of an answer."),
  cut,
});

const question = z.looseObject({
  type: z.literal("question"),
  at,
  kind: z.enum(["elicit", "sample"]),
  requester: z.string(),
  durationMs,
  request: z.unknown().optional(),
  answer: z.unknown().optional(),
  error: error.optional(),
  cut,
});

const approval = z.looseObject({
  type: z.literal("approval"),
  at,
  id: z.string(),
  ref,
  status: z.string(),
  reason: z.string().optional(),
  by: z.string().optional(),
});

const list = z.looseObject({
  type: z.literal("list"),
  at,
  kind: z.enum(["tool", "prompt", "resource"]),
  namespace: z.string(),
  added: z.array(z.string()).optional(),
  removed: z.array(z.string()).optional(),
  changed: z.array(z.string()).optional(),
  cut,
});

const connection = z.looseObject({
  type: z.literal("connection"),
  at,
  namespace: z.string(),
  state: z.enum(["connected", "disconnected", "removed"]),
  message: z.string().optional(),
});

const end = z.looseObject({
  type: z.literal("end"),
  at,
  dropped: z.int().min(0).describe("So many lines are missing, because the tape was full or its stream too slow."),
});

/** Every line but those of a type that is not known. */
export const lineSchema = z.discriminatedUnion("type", [
  header,
  item,
  call,
  result,
  turn,
  question,
  approval,
  list,
  connection,
  end,
]);

/** The types of lines. */
export const lineTypes: ReadonlySet<string> = new Set(lineSchema.options.map((each) => each.shape.type.value));

type Line = z.infer<typeof lineSchema>;

/** A line of a tape. */
export type TapeLine<T extends Line["type"] = Line["type"]> = Extract<Line, { readonly type: T }>;

/** A tape that was read. */
export interface Tape {
  /** The file it was read from, or `tape`, for messages. */
  readonly name: string;
  readonly header: TapeLine<"tape">;
  /** All lines after the header. */
  readonly lines: readonly TapeLine[];
  /** It has its last line: the recording was closed, and did not end with its process. */
  readonly isComplete: boolean;
  /** The number of lines that the recording had to leave out. */
  readonly dropped: number;
}

/** The JSON Schema of a line. */
export function tapeLineSchema(): object {
  return { ...z.toJSONSchema(lineSchema, { io: "input" }), title: "A line of a tape of Toolweave" };
}
