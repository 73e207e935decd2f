// The code that docs/guide.md shows, in its order. It checks what the page says.
import { deepStrictEqual, rejects, strictEqual } from "node:assert";
import { once } from "node:events";
import { createServer } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import {
  type Delegate,
  defineResource,
  defineTemplate,
  defineTool,
  type Middleware,
  parsePrompt,
  readPrompt,
  readPrompts,
  resource,
  Toolkit,
  ToolkitError,
} from "toolweave";
// #region import-mcp
import { inMemoryConnector, mcpConnector, parseMcpServers } from "toolweave/mcp";
// #endregion
// #region import-testing
import { testContext } from "toolweave/testing";
// #endregion
import { z } from "zod";

// #region tool
const convert = defineTool({
  name: "convert",
  title: "Convert a length",
  description: "Converts a length from miles to kilometres.",
  input: z.object({ miles: z.number().nonnegative() }),
  output: z.object({ kilometres: z.number() }),
  annotations: { readOnlyHint: true, idempotentHint: true },
  options: { timeoutMs: 5_000 },
  run: ({ miles }) => ({ kilometres: miles * 1.609344 }),
});
// #endregion

// #region context
const countLines = defineTool({
  name: "count_lines",
  description: "Counts the lines of the attached texts.",
  async run(_input, context) {
    let lines = 0;
    for (const [index, attachment] of context.attachments.entries()) {
      const text = await attachment.text({ signal: context.signal });
      lines += text.split("\n").length;
      await context.progress(index + 1, context.attachments.length, attachment.name);
    }
    context.logger.info("counted", { lines, caller: context.session.id });
    return { lines };
  },
});
// #endregion

// #region resources
const motto = resource.text("motto", "Many threads, one cloth.");
const settings = resource.json("settings", { theme: "dark" });
const clock = defineResource({
  uri: "clock://now",
  name: "clock",
  mediaType: "text/plain",
  bytes: () => new Date(0).toISOString(), // read afresh each time
});
const users = defineTemplate({
  uriTemplate: "user://{id}",
  name: "user",
  description: "A user, by id.",
  read: (uri) => JSON.stringify({ id: uri.slice("user://".length) }),
});
// #endregion

// #region toolkit
const toolkit = new Toolkit({ items: [convert, countLines, motto, settings, clock, users] });
// #endregion

// #region call
const result = await toolkit.call(convert, { miles: 26.2 });
const { kilometres } = await result.json(); // typed: number

const byName = await toolkit.call("builtin.convert", { miles: 1 }, { timeoutMs: 1_000 });
const counted = await toolkit.call(
  countLines,
  {},
  {
    attachments: [motto, resource.text("poem", "one\ntwo")],
    onProgress: ({ progress, total, message }) => console.log(`${progress} of ${total}: ${message}`),
  },
);
// #endregion
strictEqual(Math.round(kilometres), 42);
deepStrictEqual(await byName.json(), { kilometres: 1.609344 });
deepStrictEqual(await counted.json(), { lines: 3 });

// #region read
const theme = await (await toolkit.read("json:settings")).json();
const user = await (await toolkit.read("user://42")).json();
// #endregion
deepStrictEqual([theme, user], [{ theme: "dark" }, { id: "42" }]);

// #region inline
const shout = defineTool({ name: "shout", run: () => "HEY" }); // never added, called as it is
const shouted = await toolkit.call(shout);
// #endregion
strictEqual(await shouted.text(), "HEY");
await rejects(toolkit.call("shout"), { code: "NOT_FOUND" });
const failing = defineTool({
  name: "fail",
  run() {
    throw new Error("no");
  },
});
await rejects(toolkit.call(failing), { code: "TOOL_FAILED", ref: "inline.fail" });

// #region defaults
const plain = defineTool({
  name: "plain",
  input: { type: "object", properties: { unit: { type: "string", default: "km" } } },
  run: ({ unit }) => `unit: ${unit}`,
});
const typed = defineTool({
  name: "typed",
  input: z.object({ unit: z.string().default("km") }),
  run: ({ unit }) => `unit: ${unit}`,
});
const units = [await (await toolkit.call(plain, {})).text(), await (await toolkit.call(typed, {})).text()];
deepStrictEqual(units, ["unit: undefined", "unit: km"]);
// #endregion

// #region errors
const problems: string[] = [];
try {
  await toolkit.call("convert", { miles: "a few" });
} catch (error) {
  if (!ToolkitError.is(error, "INVALID_INPUT")) throw error;
  for (const { pointer, message } of error.details.issues) problems.push(`${pointer}: ${message}`);
}
// #endregion
strictEqual(problems.length, 1);

// #region list
const page = await toolkit.list({ kind: ["tool", "template"], limit: 10 });
for (const { ref, kind, stale } of page.entries) console.log(kind, ref, stale ? "(stale)" : "");
for (const { namespace, error } of page.failures) console.log(namespace, error.message);
// #endregion
deepStrictEqual(
  page.entries.map(({ ref }) => ref),
  ["builtin.convert", "builtin.count_lines", "user://{id}#builtin"],
);

// #region middleware
const audit: Middleware = async (call, next) => {
  const started = performance.now();
  try {
    return await next(call);
  } finally {
    call.context.logger.info(`${call.entry.ref} took ${performance.now() - started} ms`);
  }
};
const audited = new Toolkit({ items: [convert], use: [audit], logger: console });
// #endregion
await audited.call(convert, { miles: 1 });

// #region verbs
const bounded: Middleware = async (call, next) => {
  if (call.verb === "read") return next(call); // it has no input
  if (call.verb === "render") {
    const { messages } = await next(call); // the messages of a prompt
    return { messages: messages.slice(-10) };
  }
  const context = call.context.derive({ meta: { tenant: "acme" } });
  return next(call.with({ input: { ...(call.input as object) }, context })); // a Content
};
// #endregion
await new Toolkit({ items: [convert], use: [bounded] }).call(convert, { miles: 1 });

// #region derive
const quickly = defineTool({
  name: "quickly",
  run: async (_input, context) => {
    // The same call, with a signal, a session and _meta of its own for this part of the work.
    const own = context.derive({ signal: AbortSignal.timeout(1_000), meta: { part: "lengths" } });
    const length = await own.toolbox.call(convert, { miles: 3 });
    return length.json();
  },
});
// #endregion
strictEqual((await (await toolkit.call(quickly)).json())?.kilometres, 4.828032);

// #region delegate
const delegate: Delegate = {
  async runPrompt(prompt, input, context) {
    const { messages } = await context.toolbox.render(prompt, input);
    const text = await messages[0]?.content[0]?.text();
    return resource.text("answer", `A model would answer: ${text}`);
  },
  onEvent: (event) => console.log(event.type),
};
const assistant = new Toolkit({ delegate });
assistant.add(parsePrompt("---\nname: hello\n---\nGreet {{name}}.", { filename: "hello.md" }));
const answer = await assistant.call("hello", { name: "Ada" });
// #endregion
strictEqual((await answer.text()).trim(), "A model would answer: Greet Ada.");

// #region prompts
const folder = new URL("../../prompts/", import.meta.url); // a path works too
const library = new Toolkit({ items: await readPrompts(folder), delegate });
const summary = await library.call("summarize", { text: "Many threads make one cloth." });

const translate = await readPrompt(new URL("translate.md", folder)); // one file, with its partials
const { system, messages } = await toolkit.render(translate, { text: "Hello", language: "French" });
// #endregion
strictEqual((await summary.text()).includes("Many threads make one cloth."), true);
strictEqual(system?.includes("French"), true);
strictEqual(messages.length, 1);

// #region test
const context = testContext({ attachments: [resource.text("two", "a\nb")] });
deepStrictEqual(await countLines.run({}, context), { lines: 2 });
strictEqual(context.reported.length, 1);
// #endregion

const web = createServer((_request, response) => response.writeHead(404).end()).listen(0, "127.0.0.1");
await once(web, "listening");
const address = web.address();
const port = typeof address === "object" && address !== null ? address.port : 0;
process.env.DOCS_URL = `http://127.0.0.1:${port}/mcp`;
process.env.DOCS_TOKEN = "secret";

// #region connectors
toolkit.addConnector("http://127.0.0.1:9/mcp", { namespace: "weather", lazy: true });
toolkit.addConnector(
  { command: "my-server", args: ["--read-only"], env: { LEVEL: "info" } },
  { namespace: "mine", lazy: true },
);
toolkit.addConnectors({
  mcpServers: {
    docs: { url: "${DOCS_URL}", headers: { Authorization: "Bearer ${DOCS_TOKEN}" } },
    files: { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "${FOLDER:-.}"] },
  },
});
await toolkit.start();
// #endregion
const states = Object.fromEntries(toolkit.connections.map(({ namespace, state }) => [namespace, state]));
deepStrictEqual([states.weather, states.mine, states.files], ["idle", "idle", "connected"]);
strictEqual(states.docs === "connected", false);

// #region mcp
const upstream = new Toolkit();
// A server in this process: nothing is started, nothing listens.
upstream.addConnector(
  inMemoryConnector((transport) => {
    const server = new McpServer({ name: "bell", version: "1.0.0" });
    server.registerTool("ring", { description: "Rings." }, () => ({ content: [{ type: "text", text: "ding" }] }));
    return server.connect(transport);
  }),
  { namespace: "bell" },
);
// What only an MCP connector has: roots, logLevel, fetch, clientInfo, env.
const files = mcpConnector({ command: "my-server" }, { roots: [{ uri: "file:///srv/files" }], logLevel: "warning" });
upstream.addConnector(files, { namespace: "files", lazy: true });
// A shared configuration, each server with options of its own.
const config = { mcpServers: { slow: { command: "slow-server" }, quick: { command: "quick-server" } } };
for (const [name, target] of parseMcpServers(config)) {
  upstream.addConnector(target, { namespace: name, lazy: true, timeoutMs: name === "slow" ? 300_000 : 10_000 });
}
await upstream.start();
const rung = await upstream.call("bell.ring");
// #endregion
strictEqual(await rung.text(), "ding");
deepStrictEqual(
  upstream.connections.map(({ namespace }) => namespace),
  ["bell", "files", "slow", "quick"],
);

// The promises of docs/operating.md for a namespace that was never connected, and for one that was.
await rejects(toolkit.call("docs.search", {}), { code: "UNAVAILABLE", message: /"docs\.search" yet: .*404/ });

// #region complete
const airports: Readonly<Record<string, readonly string[]>> = { ch: ["Basel", "Bern", "Zurich"], fr: ["Paris"] };
toolkit.add(
  defineTemplate({
    uriTemplate: "flights:{country}/{city}",
    name: "flights",
    complete: {
      country: (typed) => Object.keys(airports).filter((country) => country.startsWith(typed)),
      city: (typed, { arguments: { country = "" } }) =>
        (airports[country] ?? []).filter((city) => city.startsWith(typed)),
    },
    read: (uri) => `No flights at ${uri}.`,
  }),
);
const { values } = await toolkit.complete({
  ref: "flights:{country}/{city}",
  argument: "city",
  value: "B",
  arguments: { country: "ch" },
});
// #endregion
deepStrictEqual(values, ["Basel", "Bern"]);

const service = new Toolkit();
// The signal that ends a service, here after a moment.
setTimeout(() => process.emit("SIGTERM"), 100);

// #region run
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
process.once("SIGINT", () => stop.abort());
await service.run({ signal: stop.signal }); // starts, stays until the signal, closes
// #endregion
await rejects(service.list(), { code: "CLOSED" });

for (const each of [toolkit, audited, assistant, library, upstream]) await each.close();
web.close();
console.log("The guide is right.");
