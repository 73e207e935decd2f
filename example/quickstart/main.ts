// The main job: one Toolkit over code, markdown prompts, resources, three real MCP servers, and tools without code. It needs no key and no network, checks
// every step, and exits non-zero when one is wrong.
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineTool, readPrompts, resource, Toolkit, ToolkitError, type ToolkitEvent } from "toolweave";
import { agent } from "toolweave/agent";
import { sqliteStore } from "toolweave/stores/sqlite";
import { z } from "zod";
import { type entities, model } from "./model.ts";
import { everythingOverStdio, filesystem, startEverythingOverHttp } from "./servers.ts";
import { check, isAlive, showConnections, step, table, until } from "./show.ts";
import { findPrompt, writePrompt } from "./user.ts";
import { flows, useToolsWithoutCode } from "./without-code.ts";

const greet = defineTool({
  name: "greet",
  description: "Greets a person by name.",
  input: z.object({ name: z.string().min(1), excited: z.boolean().default(false) }),
  run: ({ name, excited }) => `Hello, ${name}${excited ? "!" : "."}`,
});

const countWords = defineTool({
  name: "count_words",
  description: "Counts the words of a text.",
  input: z.object({ text: z.string() }),
  output: z.object({ words: z.number().int() }),
  run: ({ text }) => ({ words: text.split(/\s+/).filter((word) => word !== "").length }),
});

const assistant = agent({ defaultModel: model });

const folder = await realpath(await mkdtemp(join(tmpdir(), "toolweave-quickstart-")));
await writeFile(join(folder, "hello.txt"), "Woven from many threads.");
const memory = await mkdtemp(join(tmpdir(), "toolweave-memory-"));
const file = join(memory, "toolweave.db");
const http = await startEverythingOverHttp();

const toolkit = new Toolkit({
  items: [greet, countWords, resource.text("motto", "Many threads, one cloth.")],
  delegate: [assistant, flows],
  store: sqliteStore({ file }),
});
toolkit.add(...(await readPrompts(fileURLToPath(new URL("../../prompts", import.meta.url)))));
const local = toolkit.addConnector(everythingOverStdio, { namespace: "everything" });
toolkit.addConnector(http.url, { namespace: "remote" });
toolkit.addConnector(filesystem(folder), { namespace: "files" });
const events: ToolkitEvent[] = [];
toolkit.on("*", (event) => events.push(event));

try {
  step("Start: three real servers, each in its namespace");
  await toolkit.start();
  showConnections(toolkit);
  check(
    "states",
    toolkit.connections.map(({ state }) => state),
    (states: string[]) => states.every((state) => state === "connected"),
  );

  step("List: one surface over all of them");
  const page = await toolkit.list();
  const namespaces = [...new Set(page.entries.map(({ namespace }) => namespace))];
  const counted = (namespace: string, kind: string) =>
    page.entries.filter((entry) => entry.namespace === namespace && entry.kind === kind).length;
  table(
    ["namespace", "tools", "prompts", "resources"],
    namespaces.map((namespace) => [
      namespace,
      ...["tool", "prompt", "resource"].map((kind) => counted(namespace, kind)),
    ]),
  );
  check("namespaces", namespaces, (seen: string[]) => seen.length === 4);
  check("failures", page.failures, (failures: unknown[]) => failures.length === 0);

  step("Call: by object, by name, by namespace.name");
  const greeting = await toolkit.call(greet, { name: "Ada", excited: true });
  check("a typed tool", await greeting.text(), (text: string) => text === "Hello, Ada!");
  const counts = await toolkit.call(countWords, { text: "many threads, one cloth" });
  check("its typed result", (await counts.json()).words, (words: number) => words === 4);
  const echoed = await toolkit.call("echo", { message: "over stdio" });
  check("an unscoped name", await echoed.text(), (text: string) => text.includes("over stdio"));
  const sum = await toolkit.call("remote.get-sum", { a: 40, b: 2 });
  check("namespace.name over HTTP", await sum.text(), (text: string) => text.includes("42"));
  const listing = await toolkit.call("files.list_directory", { path: folder });
  check("a folder", await listing.text(), (text: string) => text.includes("hello.txt"));
  const wrong = await toolkit.call("remote.get-sum", { a: "forty" }).catch((error: unknown) => error);
  check("a bad input", (wrong as Error).message, () => ToolkitError.is(wrong, "INVALID_INPUT"));
  const typo = await toolkit.call("remote.get-sun").catch((error: unknown) => error);
  check("a typo", (typo as Error).message, () => ToolkitError.is(typo, "NOT_FOUND"));

  step("Read: by URI, by uri#namespace, through a template");
  check("text:motto", await (await toolkit.read("text:motto")).text(), (text: string) => text.includes("one cloth"));
  const features = "demo://resource/static/document/features.md";
  const document = await toolkit.read(`${features}#remote`);
  check(`${features}#remote`, `${document.mediaType}, ${document.size} bytes`, () => document.size > 100);
  const dynamic = await toolkit.read("demo://resource/dynamic/text/1#everything");
  check("a template", await dynamic.text(), (text: string) => text.includes("Resource 1"));

  step("Progress: a long call tells how far it is");
  const progress: string[] = [];
  await toolkit.call(
    "remote.trigger-long-running-operation",
    { duration: 0.4, steps: 4 },
    { onProgress: ({ progress: done, total }) => progress.push(`${done}/${total}`) },
  );
  check("progress", progress, (seen: string[]) => seen.length >= 3);

  step("Prompts: rendered, and executed by the agent");
  const rendered = await toolkit.render("everything.args-prompt", { city: "Bern" });
  const line = await rendered.messages[0]?.content[0]?.text();
  check("a remote prompt", line ?? "", (text: string) => text.includes("Bern"));
  const summary = await toolkit.call("summarize", { text: "Ada Lovelace wrote the first program. ".repeat(9) });
  check("summarize", await summary.text(), (text: string) => text === "A text of many words.");
  const found = await toolkit.call("extract_entities", { text: "Ada Lovelace wrote the first program." });
  check("extract_entities", await found.json(), (json: typeof entities) => json.entities[0]?.name === "Ada Lovelace");

  const emitted: string[] = [];
  const answer = await assistant.generate("What are 40 and 2 together?", {
    tools: ["remote.get-sum", "count_words"],
    onEvent: ({ type }) => void emitted.push(type),
  });
  check(
    "with tools of two servers",
    await answer.text(),
    (text: string) => text.includes("is 42") && text.includes("3"),
  );
  check("events of the run", [...new Set(emitted)], (types: string[]) =>
    ["textDelta", "toolCall", "toolResult", "step", "finish"].every((type) => types.includes(type)),
  );

  step("User: a prompt is written while the service runs");
  await writePrompt(toolkit);

  step("Without code: a manifest, a pack, a workflow, and an agent over A2A");
  await useToolsWithoutCode(toolkit);

  step("Trouble: one server is killed; the others go on, and it comes back");
  const before = local.processId;
  if (before === undefined) throw new Error("The server has no process.");
  process.kill(before, "SIGKILL");
  await until("the loss is noticed", () => local.state !== "connected");
  const during = await toolkit.list({ namespace: "everything" });
  check(
    "stale, not gone",
    `${during.count} entries`,
    () => during.entries.every(({ stale }) => stale) && during.count > 0,
  );
  check("why", during.failures[0]?.error.message ?? "", (message: string) => message.includes("everything"));
  const meanwhile = await toolkit.call("remote.echo", { message: "still here" });
  check("the others", await meanwhile.text(), (text: string) => text.includes("still here"));
  const again = await toolkit.call("everything.echo", { message: "and back" }, { timeoutMs: 15_000 });
  check("a call waits for it", await again.text(), (text: string) => text.includes("and back"));
  check("a new process", local.processId !== before, (fresh: boolean) => fresh);

  step("Events for operators");
  const received = [...new Set(events.map(({ type }) => type))].sort();
  check("types", received, (types: string[]) =>
    ["ambiguousName", "connectorConnected", "connectorDisconnected", "toolListChanged"].every((type) =>
      types.includes(type),
    ),
  );
} finally {
  step("Close: nothing is left running");
  const children = toolkit.connections.flatMap(({ processId }) => (processId === undefined ? [] : [processId]));
  await toolkit.close();
  await http.stop();
  await rm(folder, { recursive: true });
  check("child processes", children.filter(isAlive), (alive: number[]) => alive.length === 0);
  const late = await toolkit.call("greet", { name: "Ada" }).catch((error: unknown) => error);
  check("a call after close", (late as Error).message, () => ToolkitError.is(late, "CLOSED"));
}

step("Restart: what was written is still there");
await findPrompt(file, assistant);
await rm(memory, { recursive: true });
console.log("\nEverything is as it should be. Look at one of these servers yourself, call it, and see it on a page:");
for (const words of ["list", "call echo message=hello", "serve --ui"]) {
  const server = "node node_modules/@modelcontextprotocol/server-everything/dist/index.js stdio";
  console.log(`  npm run -s toolweave -- ${words} --server '${server}'`);
}
