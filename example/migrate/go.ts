import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { type Delegate, defineTool, parsePrompt, resource, Toolkit, ToolkitError } from "toolweave";
import { agent } from "toolweave/agent";
import { scriptedModel } from "toolweave/testing";
import { z } from "zod";
import { server } from "./server.ts";

const model = scriptedModel(["A text about threads."]);

// #region tool
const greet = defineTool({
  name: "greet", // Name()
  description: "Greets a person.", // Description()
  input: z.object({ name: z.string() }), // InputSchema(), and json.Unmarshal in Run()
  annotations: { readOnlyHint: true }, // Meta()
  async run({ name }, context) {
    context.logger.info("greet called", { session: context.session.id }); // SessionFromContext(ctx).Logger()
    await context.progress(1, 1, "greeted"); // SessionFromContext(ctx).Progress(1, 1, "greeted")
    return { greeting: `Hello, ${name}!` };
  },
});
// #endregion

// #region toolkit
const summarize = parsePrompt(`---
name: summarize
title: Summarize a text
input: { type: object, properties: { text: { type: string } }, required: [text] }
---
Summarize: {{text}}`);

const events: string[] = [];
const listener: Delegate = { onEvent: (event) => void events.push(event.type) };
// WithTool, WithPrompt, WithResource, WithDelegate: an agent executes prompts.
const toolkit = new Toolkit({ items: [greet, summarize], delegate: [listener, agent({ defaultModel: model })] });
toolkit.add(resource.text("motto", "Many threads, one cloth.")); // AddResource
toolkit.addConnector(server, { namespace: "everything" }); // AddConnectorNS; a command starts a child process
const stop = new AbortController();
const running = toolkit.run({ signal: stop.signal }); // Run(ctx)
// #endregion

// #region use
const entry = await toolkit.lookup("greet", { kind: "tool" }); // Lookup: an Entry with its kind, and NOT_FOUND instead of nil
const greeting = await toolkit.call(entry, { name: "Ada" }); // Call, for tools and prompts alike
const summary = await toolkit.call("summarize", { text: "Threads." }, { attachments: [resource.text("note", "x")] });
const motto = await toolkit.read("text:motto"); // the Read of a resource
const tools = await toolkit.list({ kind: "tool", namespace: "builtin", limit: 10 }); // List(ListRequest)
try {
  await toolkit.call("everything.no_such_tool");
} catch (error) {
  if (!ToolkitError.is(error, "NOT_FOUND")) throw error; // errors.Is(err, ErrNotFound)
}
// #endregion

strictEqual(entry.kind, "tool");
deepStrictEqual(await greeting.json(), { greeting: "Hello, Ada!" });
strictEqual(await summary.text(), "A text about threads.");
strictEqual(await motto.text(), "Many threads, one cloth.");
strictEqual(tools.entries.length, 1);
stop.abort();
await running;
strictEqual(events.includes("connectorConnected"), true);
