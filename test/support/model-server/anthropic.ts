import {
  checkTool,
  type Dialect,
  type Fields,
  type Frame,
  fieldsIn,
  isBase64,
  listIn,
  need,
  pieces,
  type Told,
  type WireRequest,
} from "./dialect.ts";

const images = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const signature = "signed-by-the-server";
const errorTypes: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  404: "not_found_error",
  429: "rate_limit_error",
  529: "overloaded_error",
};
const stops = { stop: "end_turn", length: "max_tokens", filter: "refusal", tool: "tool_use" };

/** @see https://docs.claude.com/en/api/messages */
export const anthropic: Dialect = {
  path: /^\/anthropic\/v1\/messages$/,
  callId: (number) => `toolu_${number}`,
  isStream: ({ body }) => body.stream === true,
  check,
  whole: (told, { body }) => ({ ...message(told, body), content: blocks(told), ...end(told), usage: usage(told) }),
  frames,
  error: (status, message) => ({ type: "error", error: { type: errorTypes[status] ?? "api_error", message } }),
};

function check({ headers, body }: WireRequest): void {
  need(headers["x-api-key"], "x-api-key header is required", 401);
  need(headers["anthropic-version"], "anthropic-version: header is required");
  need(typeof body.model === "string", "model: Field required");
  need(Number.isInteger(body.max_tokens) && Number(body.max_tokens) > 0, "max_tokens: Field required");
  const tools = body.tools === undefined ? [] : listIn(body.tools, "tools");
  const names = tools.map(({ name }) => name);
  for (const [index, { name, input_schema: schema }] of tools.entries()) {
    checkTool(name, schema, /^[a-zA-Z0-9_-]{1,128}$/, `tools.${index}.custom`);
    const top = Object.keys(fieldsIn(schema, "input_schema"));
    need(
      !top.some((key) => ["oneOf", "allOf", "anyOf"].includes(key)),
      `tools.${index}: input_schema does not support oneOf, allOf, or anyOf at the top level`,
    );
  }
  need(new Set(names).size === names.length, "tools: Tool names must be unique.");
  const isThinking = checkThinking(body);
  if (body.tool_choice !== undefined) {
    const { type, name } = fieldsIn(body.tool_choice, "tool_choice");
    need(tools.length > 0 || type === "none", "tool_choice may only be specified while providing tools");
    need(type !== "tool" || names.includes(name), `Tool '${name}' not found in provided tools`);
    const isForced = type === "any" || type === "tool";
    need(!(isThinking && isForced), "Thinking may not be enabled when tool_choice forces tool use.");
  }
  checkMessages(listIn(body.messages, "messages"), isThinking);
  const { format } = body.output_config === undefined ? {} : fieldsIn(body.output_config, "output_config");
  if (format !== undefined) checkClosed(fieldsIn(format, "output_config.format").schema, "output_config.format.schema");
}

function checkThinking({ thinking, max_tokens: max, temperature, top_k: topK }: Fields): boolean {
  if (thinking === undefined) return false;
  const { type, budget_tokens: budget } = fieldsIn(thinking, "thinking");
  if (type === "disabled") return false;
  if (type === "enabled") {
    need(Number(budget) >= 1_024, "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024");
    need(Number(max) > Number(budget), "`max_tokens` must be greater than `thinking.budget_tokens`");
  }
  need(temperature === undefined || temperature === 1, "`temperature` may only be set to 1 when thinking is enabled");
  need(topK === undefined, "`top_k` must be unset when thinking is enabled");
  return true;
}

/** Of structured output: every object is closed. */
function checkClosed(schema: unknown, what: string): void {
  if (typeof schema !== "object" || schema === null) return;
  const { type, additionalProperties } = schema as Fields;
  const isClosed = type !== "object" || additionalProperties === false;
  need(isClosed, `${what}: For 'object' type, 'additionalProperties' must be explicitly set to false`);
  for (const [key, inner] of Object.entries(schema)) if (key !== "enum") checkClosed(inner, `${what}.${key}`);
}

function checkMessages(messages: readonly Fields[], isThinking: boolean): void {
  need(messages.length > 0, "messages: at least one message is required");
  need(messages[0]?.role === "user", 'messages: first message must use the "user" role');
  const seen = new Set<unknown>();
  for (const [index, { role, content }] of messages.entries()) {
    const what = `messages.${index}`;
    need(role === "user" || role === "assistant", `${what}: Unexpected role "${role}"`);
    const parts = typeof content === "string" ? [{ type: "text", text: content }] : listIn(content, `${what}.content`);
    need(
      parts.length > 0,
      `${what}: all messages must have non-empty content except for the optional final assistant message`,
    );
    for (const [at, part] of parts.entries()) checkBlock(part, role, `${what}.content.${at}`);
    const uses = parts.filter(({ type }) => type === "tool_use").map(({ id }) => id);
    for (const id of uses) {
      need(!seen.has(id), `${what}: \`tool_use\` ids must be unique`);
      seen.add(id);
    }
    if (isThinking && uses.length > 0)
      need(
        parts[0]?.type === "thinking",
        `${what}.content.0.type: Expected \`thinking\`, but found \`${parts[0]?.type}\``,
      );
    checkResults(uses, messages[index + 1], index + 1);
    if (role === "user") {
      const before = index === 0 ? [] : usesIn(messages[index - 1]);
      const stray = parts.find(({ type, tool_use_id: id }) => type === "tool_result" && !before.includes(id));
      need(
        stray === undefined,
        `${what}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray?.tool_use_id}`,
      );
    }
  }
}

function usesIn(message: Fields | undefined): unknown[] {
  const { content } = message ?? {};
  return Array.isArray(content) ? content.filter(({ type }) => type === "tool_use").map(({ id }) => id) : [];
}

function checkResults(uses: readonly unknown[], next: Fields | undefined, index: number): void {
  if (uses.length === 0) return;
  const parts = next?.role === "user" && Array.isArray(next.content) ? (next.content as Fields[]) : [];
  const answered = parts.filter(({ type }) => type === "tool_result").map(({ tool_use_id: id }) => id);
  const missing = uses.filter((id) => !answered.includes(id));
  need(
    missing.length === 0,
    `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(", ")}`,
  );
  need(new Set(answered).size === answered.length, `messages.${index}: each tool_use must have a single result`);
  const firstOther = parts.findIndex(({ type }) => type !== "tool_result");
  need(firstOther < 0 || firstOther >= answered.length, `messages.${index}: \`tool_result\` blocks must come first`);
}

function checkBlock(part: Fields, role: unknown, what: string): void {
  const { type } = part;
  const allowed =
    role === "user"
      ? ["text", "image", "document", "tool_result"]
      : ["text", "tool_use", "thinking", "redacted_thinking"];
  need(allowed.includes(String(type)), `${what}: Input tag '${type}' is not one of ${allowed.join(", ")}`);
  if (type === "text")
    need(typeof part.text === "string" && part.text !== "", `${what}: text content blocks must be non-empty`);
  if (type === "thinking") need(part.signature === signature, `${what}: Invalid \`signature\` in \`thinking\` block`);
  if (type === "tool_use") {
    need(
      /^[a-zA-Z0-9_-]+$/.test(String(part.id)),
      `${what}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`,
    );
    fieldsIn(part.input, `${what}.tool_use.input`);
  }
  if (type === "image" || type === "document") checkSource(fieldsIn(part.source, `${what}.source`), type, what);
  if (type === "tool_result" && Array.isArray(part.content)) {
    for (const inner of part.content as Fields[]) checkBlock(inner, "user", `${what}.content`);
  }
}

function checkSource({ type, media_type: media, data }: Fields, kind: string, what: string): void {
  if (type === "text") {
    need(media === "text/plain" && typeof data === "string", `${what}.source: text/plain expected`);
    return;
  }
  need(type === "base64" && isBase64(data), `${what}.source.data: invalid base64 data`);
  const allowed = kind === "image" ? images : ["application/pdf"];
  need(allowed.includes(String(media)), `${what}.source.media_type: Input should be ${allowed.join(" or ")}`);
}

function message({ number }: Told, { model }: Fields): Fields {
  return { id: `msg_${number}`, type: "message", role: "assistant", model };
}

function end({ finish }: Told): Fields {
  return { stop_reason: stops[finish], stop_sequence: null };
}

function usage({ usage: { input, cached, output } }: Told): Fields {
  return {
    input_tokens: input - cached,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: 0,
    output_tokens: output,
  };
}

function blocks({ reasoning, text, toolCalls }: Told): Fields[] {
  return [
    ...(reasoning === "" ? [] : [{ type: "thinking", thinking: reasoning, signature }]),
    ...(text === "" ? [] : [{ type: "text", text }]),
    ...toolCalls.map((call) => ({ type: "tool_use", ...call })),
  ];
}

function* frames(told: Told, { body }: WireRequest): Generator<Frame> {
  const frame = (type: string, fields: Fields): Frame => ({ event: type, data: { type, ...fields } });
  yield frame("message_start", {
    message: {
      ...message(told, body),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...usage(told), output_tokens: 1 },
    },
  });
  yield frame("ping", {});
  for (const [index, block] of blocks(told).entries()) {
    const delta = (fields: Fields) => frame("content_block_delta", { index, delta: fields });
    if (block.type === "text") {
      yield frame("content_block_start", { index, content_block: { type: "text", text: "" } });
      for (const text of pieces(String(block.text))) yield delta({ type: "text_delta", text });
    } else if (block.type === "thinking") {
      yield frame("content_block_start", { index, content_block: { type: "thinking", thinking: "", signature: "" } });
      for (const thinking of pieces(String(block.thinking))) yield delta({ type: "thinking_delta", thinking });
      yield delta({ type: "signature_delta", signature });
    } else {
      yield frame("content_block_start", { index, content_block: { ...block, input: {} } });
      for (const json of pieces(JSON.stringify(block.input)))
        yield delta({ type: "input_json_delta", partial_json: json });
    }
    yield frame("content_block_stop", { index });
  }
  yield frame("message_delta", { delta: end(told), usage: { output_tokens: told.usage.output } });
  yield frame("message_stop", {});
}
