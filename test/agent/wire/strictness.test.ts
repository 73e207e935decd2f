// The server of these tests must be as strict as the APIs, or what it takes proves nothing.
import { expect, test } from "vitest";
import { modelServer } from "../../support/model-server/server.ts";

const user = { role: "user", content: "Hello" };
const tool = { name: "f", input_schema: { type: "object" } };
const functionTool = { type: "function", function: { name: "f", parameters: { type: "object" } } };
const call = { id: "call00001", type: "function", function: { name: "f", arguments: "{}" } };
const calling = { role: "assistant", content: null, tool_calls: [call] };
const answer = { role: "tool", tool_call_id: "call00001", content: "1" };
const use = { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "f", input: {} }] };
const result = (id: string) => ({ role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "1" }] });
const functionCall = { role: "model", parts: [{ functionCall: { name: "f", args: {} } }] };
const says = { role: "user", parts: [{ text: "Hello" }] };

const apis = {
  anthropic: {
    path: "/anthropic/v1/messages",
    headers: { "x-api-key": "k", "anthropic-version": "2023-06-01" },
    body: { model: "m", max_tokens: 2_000 },
  },
  chat: { path: "/openai/v1/chat/completions", headers: { authorization: "Bearer k" }, body: { model: "m" } },
  responses: { path: "/openai/v1/responses", headers: { authorization: "Bearer k" }, body: { model: "m" } },
  google: { path: "/google/v1beta/models/gemini-3-pro:generateContent", headers: { "x-goog-api-key": "k" }, body: {} },
  mistral: { path: "/mistral/v1/chat/completions", headers: { authorization: "Bearer k" }, body: { model: "m" } },
};

const cases: readonly (readonly [api: keyof typeof apis, body: object, refusal: RegExp | undefined])[] = [
  ["anthropic", { messages: [user] }, undefined],
  ["anthropic", { messages: [user], max_tokens: undefined }, /max_tokens: Field required/],
  ["anthropic", { messages: [{ role: "assistant", content: "Hi" }] }, /first message must use the "user" role/],
  ["anthropic", { messages: [{ role: "user", content: [{ type: "text", text: "" }] }] }, /must be non-empty/],
  ["anthropic", { messages: [user, use], tools: [tool] }, /without `tool_result` blocks immediately after: t1/],
  ["anthropic", { messages: [user, use, user], tools: [tool] }, /without `tool_result` blocks/],
  ["anthropic", { messages: [user, use, result("t2")], tools: [tool] }, /without `tool_result` blocks/],
  ["anthropic", { messages: [user, use, result("t1")], tools: [tool] }, undefined],
  ["anthropic", { messages: [user, use, result("t1"), use, result("t1")] }, /`tool_use` ids must be unique/],
  ["anthropic", { messages: [user, result("t1")] }, /unexpected `tool_use_id`/],
  ["anthropic", { messages: [user], tools: [tool, tool] }, /Tool names must be unique/],
  ["anthropic", { messages: [user], tools: [{ ...tool, name: "a.b" }] }, /should match pattern/],
  ["anthropic", { messages: [user], tool_choice: { type: "auto" } }, /only be specified while providing tools/],
  ["anthropic", { messages: [user], thinking: { type: "enabled", budget_tokens: 100 } }, /equal to 1024/],
  [
    "anthropic",
    { messages: [user], thinking: { type: "enabled", budget_tokens: 3_000 } },
    /`max_tokens` must be greater/,
  ],
  [
    "anthropic",
    {
      messages: [user],
      tools: [tool],
      tool_choice: { type: "any" },
      thinking: { type: "enabled", budget_tokens: 1_024 },
    },
    /Thinking may not be enabled when tool_choice forces/,
  ],
  [
    "anthropic",
    { messages: [user, use, result("t1")], tools: [tool], thinking: { type: "enabled", budget_tokens: 1_024 } },
    /Expected `thinking`, but found `tool_use`/,
  ],
  ["chat", { messages: [user] }, undefined],
  ["chat", { messages: [] }, /too short/],
  ["chat", { messages: [user], tools: [] }, /too short/],
  ["chat", { messages: [user, calling], tools: [functionTool] }, /must be followed by tool messages/],
  ["chat", { messages: [user, calling, user], tools: [functionTool] }, /must be followed by tool messages/],
  ["chat", { messages: [user, answer] }, /must be a response to a preceeding message/],
  ["chat", { messages: [user, calling, answer], tools: [functionTool] }, undefined],
  ["chat", { messages: [user, { role: "assistant", content: null }] }, /either content or tool_calls/],
  [
    "chat",
    {
      messages: [user],
      response_format: { type: "json_schema", json_schema: { name: "x", strict: true, schema: { type: "object" } } },
    },
    /'additionalProperties' is required/,
  ],
  ["responses", { input: [user] }, undefined],
  [
    "responses",
    { input: [user, { type: "function_call", call_id: "c", name: "f", arguments: "{}" }] },
    /No tool output found/,
  ],
  ["responses", { input: [user, { type: "function_call_output", call_id: "c", output: "1" }] }, /No tool call found/],
  [
    "responses",
    { input: [{ type: "reasoning", id: "rs_1", summary: [] }, { type: "function_call_output" }] },
    /without its required following item/,
  ],
  ["google", { contents: [says] }, undefined],
  ["google", { contents: [] }, /contents is not specified/],
  ["google", { contents: [says], system: "x" }, /Extra inputs are not permitted/],
  ["google", { contents: [{ role: "user", parts: [{}] }] }, /required oneof field/],
  ["google", { contents: [says, functionCall, says] }, /missing a thought_signature/],
  [
    "google",
    { contents: [says, { role: "model", parts: [{ text: "Hi" }] }, functionCall] },
    /immediately after a user turn/,
  ],
  [
    "google",
    {
      contents: [says],
      tools: [{ functionDeclarations: [{ name: "f", parameters: { type: "object", additionalProperties: false } }] }],
    },
    /Unknown name at 'parameters'.additionalProperties/,
  ],
  ["mistral", { messages: [user] }, undefined],
  ["mistral", { messages: [user, { role: "assistant", content: "Hi" }] }, /Expected last role User or Tool/],
  [
    "mistral",
    { messages: [user, calling, answer, user], tools: [functionTool] },
    /Unexpected role 'user' after role 'tool'/,
  ],
  [
    "mistral",
    { messages: [user, { ...calling, tool_calls: [{ ...call, id: "x" }] }, { ...answer, tool_call_id: "x" }] },
    /Tool call id was x but must be/,
  ],
];

test.each(cases)("%s takes %j: %s", async (api, body, refusal) => {
  await using server = await modelServer(() => ({ text: "Yes." }));
  const { path, headers, body: rest } = apis[api];
  const response = await fetch(`${server.url}${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify({ ...rest, ...body }),
  });
  const text = await response.text();
  expect({ status: response.status, refused: server.refused.join() }).toMatchObject(
    refusal === undefined ? { status: 200, refused: "" } : { status: 400, refused: expect.stringMatching(refusal) },
  );
  if (refusal !== undefined) expect(text).toMatch(/"message":/);
});

test.each(Object.entries(apis))("%s wants a key", async (_, { path, body }) => {
  await using server = await modelServer([]);
  const response = await fetch(`${server.url}${path}`, { method: "POST", body: JSON.stringify(body) });
  expect([401, 403]).toContain(response.status);
});
