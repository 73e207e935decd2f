// The form OpenAI gave to Chat Completions; that of Mistral is of the same family, with rules of its own.
import {
  checkStrict,
  checkTool,
  type Dialect,
  type Fields,
  type Frame,
  fieldsIn,
  listIn,
  need,
  pieces,
  type Told,
  type WireRequest,
} from "./dialect.ts";

interface ChatRules {
  readonly path: RegExp;
  readonly roles: readonly string[];
  readonly parts: readonly string[];
  callId(number: number): string;
  /** Whether the last piece with a choice tells the usage; else a piece without one does, where it is asked for. */
  readonly tellsUsageAtEnd: boolean;
  /** The requests that this API refuses beside those that all refuse. */
  check(messages: readonly Fields[], body: Fields): void;
  error(status: number, message: string): unknown;
  /** Thoughts, where the API tells them. */
  content(told: Told): unknown;
}

const finishes = { stop: "stop", length: "length", filter: "content_filter", tool: "tool_calls" };

function chat(rules: ChatRules): Dialect {
  return {
    path: rules.path,
    callId: rules.callId,
    error: rules.error,
    isStream: ({ body }) => body.stream === true,
    check: (request) => check(request, rules),
    whole: (told, { body }) => ({
      ...head(told, body, "chat.completion"),
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: rules.content(told), ...calls(told) },
          finish_reason: finishes[told.finish],
        },
      ],
      usage: usage(told),
    }),
    frames: (told, { body }) => frames(told, body, rules),
  };
}

function check({ headers, body }: WireRequest, rules: ChatRules): void {
  need(String(headers.authorization).startsWith("Bearer "), "You didn't provide an API key.", 401);
  need(typeof body.model === "string", "you must provide a model parameter");
  const tools = body.tools === undefined ? [] : listIn(body.tools, "tools");
  need(body.tools === undefined || tools.length > 0, "[] is too short - 'tools'");
  for (const [index, { type, function: definition }] of tools.entries()) {
    need(type === "function", `tools[${index}].type: unknown`);
    const { name, parameters, strict } = fieldsIn(definition, `tools[${index}].function`);
    checkTool(name, parameters, /^[a-zA-Z0-9_-]{1,64}$/, `tools[${index}].function`);
    if (strict === true) checkStrict(parameters, `tools[${index}].function.parameters`);
  }
  need(body.tool_choice === undefined || tools.length > 0, "'tool_choice' is only allowed when 'tools' are specified.");
  checkFormat(body.response_format);
  const messages = listIn(body.messages, "messages");
  need(messages.length > 0, "[] is too short - 'messages'");
  checkMessages(messages, rules);
  rules.check(messages, body);
}

function checkFormat(format: unknown): void {
  if (format === undefined) return;
  const { type, json_schema: given } = fieldsIn(format, "response_format");
  need(["text", "json_object", "json_schema"].includes(String(type)), "response_format.type: unknown");
  if (type !== "json_schema") return;
  const { name, schema, strict } = fieldsIn(given, "response_format.json_schema");
  need(typeof name === "string", "Missing required parameter: 'response_format.json_schema.name'.");
  if (strict === true) checkStrict(schema, "response_format.json_schema.schema");
}

/** Each call is answered by a message of its own, right after the message that made it. */
function checkMessages(messages: readonly Fields[], { roles, parts }: ChatRules): void {
  let open = new Map<unknown, unknown>();
  for (const [index, { role, content, tool_calls: made, tool_call_id: answered }] of messages.entries()) {
    const what = `messages[${index}]`;
    need(roles.includes(String(role)), `${what}.role: '${role}' is not one of ${roles.join(", ")}`);
    if (role === "tool") {
      need(
        open.delete(answered),
        `${what}: messages with role 'tool' must be a response to a preceeding message with 'tool_calls' (${answered}).`,
      );
      continue;
    }
    need(
      open.size === 0,
      `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. Missing: ${[...open.keys()].join(", ")}`,
    );
    const listed = made === undefined ? [] : listIn(made, `${what}.tool_calls`);
    open = new Map(listed.map(({ id, function: called }) => [id, called]));
    need(open.size === listed.length, `${what}: duplicate tool_call_id`);
    for (const called of open.values()) {
      const { name, arguments: text } = fieldsIn(called, `${what}.tool_calls.function`);
      need(typeof name === "string" && typeof text === "string", `${what}: name and arguments must be strings`);
      JSON.parse(text);
    }
    if (role === "assistant") {
      const says =
        content !== null &&
        content !== undefined &&
        content !== "" &&
        !(Array.isArray(content) && content.length === 0);
      need(
        listed.length > 0 || says,
        `${what}: Assistant message must have either content or tool_calls, but not none.`,
      );
    } else need(content !== null && content !== undefined, `${what}.content: expected a string or a list`);
    if (!Array.isArray(content)) continue;
    for (const part of listIn(content, `${what}.content`)) {
      need(parts.includes(String(part.type)), `${what}.content.type: '${part.type}' is not one of ${parts.join(", ")}`);
      need(part.type !== "text" || part.text !== "", `${what}.content.text: must not be empty`);
    }
  }
  need(
    open.size === 0,
    `An assistant message with 'tool_calls' must be followed by tool messages. Missing: ${[...open.keys()].join(", ")}`,
  );
}

function head({ number }: Told, { model }: Fields, object: string): Fields {
  return { id: `chatcmpl-${number}`, object, created: 1_700_000_000, model };
}

function usage({ usage: { input, cached, output, reasoning } }: Told): Fields {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

function calls({ toolCalls }: Told): Fields {
  if (toolCalls.length === 0) return {};
  const listed = toolCalls.map(({ id, name, input }) => ({
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  }));
  return { tool_calls: listed };
}

function* frames(told: Told, body: Fields, rules: ChatRules): Generator<Frame> {
  const chunk = (delta: Fields, finish: string | null = null): Frame => ({
    data: { ...head(told, body, "chat.completion.chunk"), choices: [{ index: 0, delta, finish_reason: finish }] },
  });
  yield chunk({ role: "assistant", content: "" });
  if (told.reasoning !== "" && Array.isArray(rules.content(told))) {
    yield chunk({ content: [{ type: "thinking", thinking: [{ type: "text", text: told.reasoning }] }] });
  }
  for (const content of pieces(told.text)) yield chunk({ content });
  for (const [index, { id, name, input }] of told.toolCalls.entries()) {
    yield chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] });
    for (const text of pieces(JSON.stringify(input)))
      yield chunk({ tool_calls: [{ index, function: { arguments: text } }] });
  }
  const last = chunk({}, finishes[told.finish]);
  if (rules.tellsUsageAtEnd) yield { data: { ...(last.data as Fields), usage: usage(told) } };
  else yield last;
  const { include_usage: isAsked } = (body.stream_options ?? {}) as Fields;
  if (isAsked === true)
    yield { data: { ...head(told, body, "chat.completion.chunk"), choices: [], usage: usage(told) } };
  yield { data: "[DONE]" };
}

/** @see https://platform.openai.com/docs/api-reference/chat/create */
export const openaiChat: Dialect = chat({
  path: /^\/openai\/v1\/chat\/completions$/,
  roles: ["system", "developer", "user", "assistant", "tool"],
  parts: ["text", "image_url", "input_audio", "file", "refusal"],
  callId: (number) => `call_${number}`,
  check: () => undefined,
  tellsUsageAtEnd: false,
  error: (status, message) => ({
    error: { message, type: status === 429 ? "rate_limit_error" : "invalid_request_error", param: null, code: null },
  }),
  content: ({ text }) => (text === "" ? null : text),
});

/** @see https://docs.mistral.ai/api */
export const mistral: Dialect = chat({
  path: /^\/mistral\/v1\/chat\/completions$/,
  roles: ["system", "user", "assistant", "tool"],
  parts: ["text", "image_url", "document_url", "input_audio", "thinking", "reference", "file"],
  tellsUsageAtEnd: true,
  callId: (number) => `call${String(number).padStart(5, "0")}`,
  check: (messages) => {
    for (const [index, { role, tool_calls: made }] of messages.entries()) {
      const before = messages[index - 1]?.role;
      need(!(before === "tool" && role === "user"), "Unexpected role 'user' after role 'tool'");
      for (const { id } of made === undefined ? [] : listIn(made, "tool_calls")) {
        need(
          /^[a-zA-Z0-9]{9}$/.test(String(id)),
          `Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`,
        );
      }
    }
    const last = messages.at(-1);
    const serves = last?.role === "user" || last?.role === "tool" || last?.prefix === true;
    need(serves, `Expected last role User or Tool (or Assistant with prefix True) for serving but got ${last?.role}`);
  },
  error: (status, message) => ({ object: "error", message, type: `status_${status}`, param: null, code: null }),
  content: ({ text, reasoning }) =>
    reasoning === ""
      ? text
      : [
          { type: "thinking", thinking: [{ type: "text", text: reasoning }] },
          ...(text === "" ? [] : [{ type: "text", text }]),
        ],
});
