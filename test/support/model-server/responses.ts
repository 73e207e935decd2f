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

const roles = ["system", "developer", "user", "assistant"];
const given = ["input_text", "input_image", "input_file"];
const said = ["output_text", "refusal"];

/** @see https://platform.openai.com/docs/api-reference/responses/create */
export const openaiResponses: Dialect = {
  path: /^\/openai\/v1\/responses$/,
  callId: (number) => `call_${number}`,
  isStream: ({ body }) => body.stream === true,
  check,
  whole: (told, { body }) => ({ ...head(told, body), output: items(told), ...end(told) }),
  frames,
  error: (status, message) => ({
    error: { message, type: status === 429 ? "rate_limit_error" : "invalid_request_error", param: null, code: null },
  }),
};

function check({ headers, body }: WireRequest): void {
  need(String(headers.authorization).startsWith("Bearer "), "You didn't provide an API key.", 401);
  need(typeof body.model === "string", "Missing required parameter: 'model'.");
  const tools = body.tools === undefined ? [] : listIn(body.tools, "tools");
  for (const [index, { type, name, parameters, strict }] of tools.entries()) {
    need(type === "function", `tools[${index}].type: unknown`);
    checkTool(name, parameters, /^[a-zA-Z0-9_-]{1,64}$/, `tools[${index}]`);
    if (strict === true) checkStrict(parameters, `tools[${index}].parameters`);
  }
  need(body.tool_choice === undefined || tools.length > 0, "Tool choice must be left out when no tools are specified.");
  const { format } = body.text === undefined ? {} : fieldsIn(body.text, "text");
  if (format !== undefined) checkFormat(fieldsIn(format, "text.format"));
  checkItems(listIn(body.input, "input"));
}

function checkFormat({ type, name, schema, strict }: Fields): void {
  need(["text", "json_object", "json_schema"].includes(String(type)), "text.format.type: unknown");
  if (type !== "json_schema") return;
  need(typeof name === "string", "Missing required parameter: 'text.format.name'.");
  if (strict === true) checkStrict(schema, "text.format.schema");
}

function checkItems(items: readonly Fields[]): void {
  need(items.length > 0, "input: must not be empty");
  const open = new Set<unknown>();
  for (const [index, item] of items.entries()) {
    const what = `input[${index}]`;
    const { type = "message" } = item;
    if (type === "message") checkMessage(item, what);
    else if (type === "function_call") {
      need(!open.has(item.call_id), `${what}: Duplicate item found with id ${item.call_id}.`);
      need(
        typeof item.arguments === "string" && typeof item.name === "string",
        `${what}: name and arguments are required`,
      );
      JSON.parse(String(item.arguments));
      open.add(item.call_id);
    } else if (type === "function_call_output") {
      need(open.delete(item.call_id), `No tool call found for function call output with call_id ${item.call_id}.`);
    } else if (type === "reasoning") {
      const next = items[index + 1]?.type ?? "message";
      need(Array.isArray(item.summary), `${what}.summary: Missing required parameter`);
      need(
        ["message", "function_call", "reasoning", "item_reference"].includes(String(next)),
        `Item '${item.id}' of type 'reasoning' was provided without its required following item.`,
      );
    } else need(type === "item_reference", `${what}.type: Invalid value: '${type}'.`);
  }
  need(open.size === 0, `No tool output found for function call ${[...open].join(", ")}.`);
}

function checkMessage({ role, content }: Fields, what: string): void {
  need(roles.includes(String(role)), `${what}.role: Invalid value: '${role}'.`);
  if (typeof content === "string") return;
  const allowed = role === "assistant" ? said : given;
  for (const [at, { type, image_url: image, file_data: file, filename }] of listIn(
    content,
    `${what}.content`,
  ).entries()) {
    need(allowed.includes(String(type)), `${what}.content[${at}].type: Invalid value: '${type}'.`);
    if (type === "input_image")
      need(/^(data:image\/|https:)/.test(String(image)), `${what}.content[${at}].image_url: Expected a URL`);
    if (type === "input_file" && file !== undefined)
      need(filename, `${what}.content[${at}].filename: Missing required parameter`);
  }
}

function head({ number }: Told, { model }: Fields): Fields {
  return { id: `resp_${number}`, object: "response", created_at: 1_700_000_000, model, error: null };
}

function end({ finish, usage: { input, cached, output, reasoning } }: Told): Fields {
  const reason = { length: "max_output_tokens", filter: "content_filter", stop: undefined, tool: undefined }[finish];
  return {
    status: reason === undefined ? "completed" : "incomplete",
    incomplete_details: reason === undefined ? null : { reason },
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: reasoning },
      total_tokens: input + output,
    },
  };
}

function items({ number, reasoning, text, toolCalls }: Told): Fields[] {
  const content = [{ type: "output_text", text, annotations: [], logprobs: [] }];
  const summary = [{ type: "summary_text", text: reasoning }];
  return [
    ...(reasoning === "" ? [] : [{ type: "reasoning", id: `rs_${number}`, summary }]),
    ...(text === "" ? [] : [{ type: "message", id: `msg_${number}`, status: "completed", role: "assistant", content }]),
    ...toolCalls.map(({ id, name, input }) => ({
      type: "function_call",
      id: `fc_${id}`,
      call_id: id,
      name,
      arguments: JSON.stringify(input),
      status: "completed",
    })),
  ];
}

function* frames(told: Told, { body }: WireRequest): Generator<Frame> {
  let sequence = 0;
  const frame = (type: string, fields: Fields): Frame => ({
    event: type,
    data: { type, sequence_number: sequence++, ...fields },
  });
  const response = { ...head(told, body), status: "in_progress", output: [] };
  yield frame("response.created", { response });
  yield frame("response.in_progress", { response });
  for (const [index, item] of items(told).entries()) {
    const at = { item_id: item.id, output_index: index };
    const isMessage = item.type === "message";
    const begun = { message: { content: [] }, reasoning: { summary: [] }, function_call: { arguments: "" } }[
      String(item.type)
    ];
    yield frame("response.output_item.added", {
      output_index: index,
      item: { ...item, ...begun, status: "in_progress" },
    });
    if (isMessage) {
      for (const delta of pieces(told.text))
        yield frame("response.output_text.delta", { ...at, content_index: 0, delta, logprobs: [] });
    } else if (item.type === "reasoning") {
      const part = { ...at, summary_index: 0 };
      yield frame("response.reasoning_summary_part.added", { ...part, part: { type: "summary_text", text: "" } });
      for (const delta of pieces(told.reasoning))
        yield frame("response.reasoning_summary_text.delta", { ...part, delta });
      yield frame("response.reasoning_summary_part.done", {
        ...part,
        part: { type: "summary_text", text: told.reasoning },
      });
    } else {
      for (const delta of pieces(String(item.arguments)))
        yield frame("response.function_call_arguments.delta", { ...at, delta });
      yield frame("response.function_call_arguments.done", { ...at, arguments: item.arguments });
    }
    yield frame("response.output_item.done", { output_index: index, item });
  }
  const last = { ...head(told, body), output: items(told), ...end(told) };
  const isWhole = told.finish === "stop" || told.finish === "tool";
  yield frame(isWhole ? "response.completed" : "response.incomplete", { response: last });
}
