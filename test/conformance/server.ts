/**
 * Serves the fixtures of the official server suite of MCP: as builtins, or through a connector to these, which speaks the revision that is
 * given as argument. It prints the URL, and ends with its stdin.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import {
  type CallContext,
  defineResource,
  defineTemplate,
  defineTool,
  type Item,
  type Prompt,
  resource,
  Toolkit,
} from "toolweave";
import { createMcpHandler, type McpHandlerOptions } from "toolweave/server";

const pixel = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
  "base64",
);
const sound = Buffer.from("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=", "base64");
const image = () => resource.data("pixel", new Uint8Array(pixel), { mediaType: "image/png" });
const audio = () => resource.data("sound", new Uint8Array(sound), { mediaType: "audio/wav" });
const embedded = (uri: string, text: string) =>
  resource.withUri(resource.text("embedded", text, { mediaType: "text/plain" }), uri);

const asksFor = (schema: Record<string, unknown>) => async (_input: unknown, context: CallContext) => {
  const { action, content } = await context.elicit("Please fill in the form.", schema);
  return `Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`;
};
const choices = [
  { const: "value1", title: "First Option" },
  { const: "value2", title: "Second Option" },
  { const: "value3", title: "Third Option" },
];

const form = (name: string, type = "string") => ({
  type: "object",
  properties: { [name]: { type } },
  required: [name],
});
const question = (text: string) => {
  const content = { type: "text", text } as const;
  return { messages: [{ role: "user" as const, content }], maxTokens: 100 };
};
const rootsOf = ({ session, signal }: CallContext) => session.listRoots?.({ signal });

/** Tools that ask, for clients without a session. */
const askingTools = [
  defineTool({
    name: "test_input_required_result_elicitation",
    run: async (_input, context) => {
      const { content } = await context.elicit("What is your name?", form("name"));
      return `Hello, ${content?.name}!`;
    },
  }),
  defineTool({
    name: "test_input_required_result_sampling",
    run: async (_input, context) => JSON.stringify(await context.sample(question("What is the capital of France?"))),
  }),
  defineTool({
    name: "test_input_required_result_list_roots",
    run: async (_input, context) => JSON.stringify(await rootsOf(context)),
  }),
  defineTool({
    name: "test_input_required_result_multiple_inputs",
    run: async (_input, context) => {
      const name = context.elicit("What is your name?", form("name"));
      const greeting = context.sample(question("Generate a greeting"));
      return JSON.stringify(await Promise.all([name, greeting, rootsOf(context)]));
    },
  }),
  ...["request_state", "tampered_state"].map((name) =>
    defineTool({
      name: `test_input_required_result_${name}`,
      run: async (_input, context) => {
        await context.elicit("Please confirm", form("ok", "boolean"));
        return "state-ok";
      },
    }),
  ),
  defineTool({
    name: "test_input_required_result_multi_round",
    run: async (_input, context) => {
      const name = await context.elicit("Step 1: What is your name?", form("name"));
      const color = await context.elicit("Step 2: What is your favorite color?", form("color"));
      return JSON.stringify([name, color]);
    },
  }),
  defineTool({
    name: "test_input_required_result_capabilities",
    run: async (_input, context) => JSON.stringify(await context.sample(question("Are you there?"))),
  }),
  defineTool({
    name: "test_missing_capability",
    run: async (_input, context) => JSON.stringify(await context.sample(question("Are you there?"))),
  }),
  defineTool({
    name: "test_streaming_elicitation",
    run: async (_input, context) => JSON.stringify(await context.elicit("Who?", form("name"))),
  }),
  defineTool({
    name: "test_logging_tool",
    run: (_input, { logger }) => {
      logger.info("logged");
      return "logged";
    },
  }),
  defineTool({
    name: "test_custom_header",
    input: { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } },
    run: (input) => JSON.stringify(input),
  }),
];

const tools = [
  ...askingTools,
  defineTool({ name: "test_simple_text", run: () => "This is a simple text response for testing." }),
  defineTool({ name: "test_image_content", run: image }),
  defineTool({ name: "test_audio_content", run: audio }),
  defineTool({
    name: "test_embedded_resource",
    run: () => embedded("test://embedded-resource", "This is an embedded resource content."),
  }),
  defineTool({
    name: "test_multiple_content_types",
    run: async () => [
      resource.text("text", "Multiple content types test:"),
      await image(),
      resource.withUri(resource.json("data", { test: "data", value: 123 }), "test://mixed-content-resource"),
    ],
  }),
  defineTool({
    name: "test_tool_with_logging",
    run: async (_input, { logger }) => {
      for (const text of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
        logger.info(text);
        await pause(50);
      }
      return "Tool with logging executed successfully";
    },
  }),
  defineTool({
    name: "test_tool_with_progress",
    run: async (_input, context) => {
      for (const done of [0, 50, 100]) {
        await context.progress(done, 100, `Completed step ${done} of 100`);
        await pause(50);
      }
      return "done";
    },
  }),
  defineTool({
    name: "test_error_handling",
    run: () => {
      throw new Error("This tool intentionally returns an error for testing");
    },
  }),
  defineTool({
    name: "test_reconnection",
    run: async () => {
      await pause(100);
      return "Reconnection test completed successfully.";
    },
  }),
  defineTool({
    name: "test_sampling",
    input: { type: "object", properties: { prompt: { type: "string" } }, required: ["prompt"] },
    run: async ({ prompt }, context) => {
      const content = { type: "text", text: String(prompt) } as const;
      const answer = await context.sample({ messages: [{ role: "user", content }], maxTokens: 100 });
      return `LLM response: ${JSON.stringify(answer.content)}`;
    },
  }),
  defineTool({
    name: "test_elicitation",
    input: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
    run: async ({ message }, context) => {
      const text = { type: "string" };
      const properties = {
        username: { ...text, description: "User's response" },
        email: { ...text, description: "User's email address" },
      };
      const required = ["username", "email"];
      const answer = await context.elicit(String(message), { type: "object", properties, required });
      return `User response: ${JSON.stringify(answer)}`;
    },
  }),
  defineTool({
    name: "test_elicitation_sep1034_defaults",
    run: asksFor({
      type: "object",
      properties: {
        name: { type: "string", description: "User name", default: "John Doe" },
        age: { type: "integer", description: "User age", default: 30 },
        score: { type: "number", description: "User score", default: 95.5 },
        status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
        verified: { type: "boolean", description: "Verification status", default: true },
      },
      required: [],
    }),
  }),
  defineTool({
    name: "test_elicitation_sep1330_enums",
    run: asksFor({
      type: "object",
      properties: {
        untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
        titledSingle: { type: "string", oneOf: choices },
        legacyEnum: {
          type: "string",
          enum: ["opt1", "opt2", "opt3"],
          enumNames: ["Option One", "Option Two", "Option Three"],
        },
        untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
        titledMulti: { type: "array", items: { anyOf: choices } },
      },
      required: [],
    }),
  }),
  defineTool({
    name: "json_schema_2020_12_tool",
    input: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: {
        address: {
          $anchor: "addressDef",
          type: "object",
          properties: { street: { type: "string" }, city: { type: "string" } },
        },
      },
      properties: {
        name: { type: "string" },
        address: { $ref: "#/$defs/address" },
        contactMethod: { type: "string", enum: ["phone", "email"] },
        phone: { type: "string" },
        email: { type: "string" },
      },
      allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
      if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
      // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
      then: { required: ["phone"] },
      else: { required: ["email"] },
      additionalProperties: false,
    },
    run: (input) => JSON.stringify(input),
  }),
];

const prompt = (name: string, names: readonly string[], render: Prompt<Record<string, string>>["render"]): Prompt => ({
  kind: "prompt",
  name,
  description: `The prompt ${name}.`,
  input: {
    type: "object",
    properties: Object.fromEntries(
      names.map((each) => [each, { type: "string", description: `The argument ${each}.` }]),
    ),
    required: [...names],
  },
  complete: Object.fromEntries(
    names.map((each) => [each, (typed: string) => ["paris", "park", "party"].filter((word) => word.startsWith(typed))]),
  ),
  render,
});
const says = (...content: Parameters<typeof resource.text>[1][]) => ({
  role: "user" as const,
  content: content.map((text) => resource.text("text", text)),
});

const prompts = [
  prompt("test_input_required_result_prompt", [], async (_input, context) => {
    const { content } = await context.elicit("What context should the prompt use?", form("context"));
    return { messages: [says(`Use ${content?.context}.`)] };
  }),
  prompt("test_simple_prompt", [], async () => ({ messages: [says("This is a simple prompt for testing.")] })),
  prompt("test_prompt_with_arguments", ["arg1", "arg2"], async ({ arg1, arg2 }) => ({
    messages: [says(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
  })),
  prompt("test_prompt_with_embedded_resource", ["resourceUri"], async ({ resourceUri = "" }) => ({
    messages: [
      { role: "user", content: [embedded(resourceUri, "Embedded resource content for testing.")] },
      says("Please process the embedded resource above."),
    ],
  })),
  prompt("test_prompt_with_image", [], async () => ({
    messages: [{ role: "user", content: [await image()] }, says("Please analyze the image above.")],
  })),
];

const fixed = (name: string, uri: string, mediaType: string, content: string | Uint8Array) =>
  defineResource({ uri, name, mediaType, bytes: () => content });

function fixtures(): Toolkit {
  const toolkit = new Toolkit();
  toolkit.add(...tools.map((tool) => ({ ...tool, description: `The tool ${tool.name}.` })), ...prompts);
  toolkit.add(
    fixed("static-text", "test://static-text", "text/plain", "This is the content of the static text resource."),
    fixed("static-binary", "test://static-binary", "image/png", new Uint8Array(pixel)),
    fixed("watched-resource", "test://watched-resource", "text/plain", "Watched resource content"),
    defineTemplate({
      name: "template",
      uriTemplate: "test://template/{id}/data",
      mediaType: "application/json",
      read: (uri) =>
        JSON.stringify({ id: uri.split("/")[3], templateTest: true, data: `Data for ID: ${uri.split("/")[3]}` }),
    }),
  );
  // Two items that come and go, for those who follow the lists.
  toolkit.add(
    defineTool({
      name: "test_trigger_tool_change",
      description: "Changes the list of tools.",
      run: () =>
        toggle(toolkit, defineTool({ name: "test_changing_tool", description: "Comes and goes.", run: () => "here" })),
    }),
    defineTool({
      name: "test_trigger_prompt_change",
      description: "Changes the list of prompts.",
      run: () =>
        toggle(
          toolkit,
          prompt("test_changing_prompt", [], async () => ({ messages: [says("here")] })),
        ),
    }),
  );
  return toolkit;
}

const there = new Set<string>();

function toggle(toolkit: Toolkit, item: Item): string {
  if (there.delete(item.name)) toolkit.remove(item.name);
  else {
    there.add(item.name);
    toolkit.add(item);
  }
  return "changed";
}

async function serve(toolkit: Toolkit, options: McpHandlerOptions = {}): Promise<string> {
  const handler = createMcpHandler(toolkit, { names: "bare", ...options });
  const server = createServer(handler.node).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

const own = fixtures();
await own.start();
let url = await serve(own);
const [protocol] = process.argv.slice(2);
if (protocol === "2025-11-25" || protocol === "2026-07-28") {
  const proxy = new Toolkit({});
  proxy.addConnector({ url }, { namespace: "upstream", protocol, callerRoots: true });
  await proxy.start();
  url = await serve(proxy);
}
console.log(url);
process.stdin.on("end", () => process.exit()).resume();
