/**
 * A service whose agent's runs lie in a store that it shares. It does what it is told, line by line, and answers each with the verb. What
 * its tools and its model do they write down in a journal. Run with the store (a file, or a URL and a schema), the journal, and what hangs:
 * `tool` or `model`, as soon as it is reached.
 */
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { agent } from "../../../src/agent/index.ts";
import { defineTool, parsePrompt, resource, Toolkit, ToolkitError } from "../../../src/index.ts";
import { postgresStore } from "../../../src/store/postgres/index.ts";
import { sqliteStore } from "../../../src/store/sqlite/index.ts";
import { type ModelRequest, scriptedModel } from "../../../src/testing/index.ts";

const [where = "", schema = "", journal = "", hangs = ""] = process.argv.slice(2);
const say = (...words: readonly unknown[]) => process.stdout.write(`${words.join(" ")}\n`);
const note = (what: string) => appendFileSync(journal, `${what}\n`);
const forever = () => new Promise<never>(() => undefined);

const tool = (name: string, needsApproval: boolean) =>
  defineTool({
    name,
    options: { needsApproval },
    run: async () => {
      note(name);
      return hangs === name ? forever() : `${name} done`;
    },
  });
const prompt = (name: string, tools: string) =>
  parsePrompt(`---\nname: ${name}\ntools: [${tools}]\n---\nYou are ${name}.`);

/** Each prompt calls its tools one after the other, and then answers. */
const scripts: Readonly<Record<string, readonly string[]>> = {
  payer: ["pay"],
  clerk: ["pay", "log"],
  cashier: ["pay", "bill"],
  boss: ["payer"],
};
const model = scriptedModel(async ({ prompt: messages }: ModelRequest) => {
  const role = Object.keys(scripts).find((name) => JSON.stringify(messages).includes(`You are ${name}.`)) ?? "payer";
  const results = messages.filter((message) => message.role === "tool");
  if (results.length > 0 && hangs === "model") {
    note("model");
    await forever();
  }
  note(`seen ${JSON.stringify(messages).length >> 20} MB`);
  const next = scripts[role]?.[results.length];
  if (next !== undefined) return { toolCalls: [{ name: next }] };
  return { text: `${role}: ${JSON.stringify(results.at(-1)?.content)}` };
});

const assistant = agent({ defaultModel: model, suspended: { leaseMs: 1_000 } });
const toolkit = new Toolkit({
  items: [
    tool("pay", true),
    tool("bill", true),
    tool("log", false),
    ...[prompt("payer", "pay"), prompt("clerk", "pay, log"), prompt("cashier", "pay, bill"), prompt("boss", "payer")],
  ],
  delegate: assistant,
  store: schema === "" ? sqliteStore({ file: where }) : postgresStore({ connectionString: where, schema }),
  approvals: { leaseMs: 1_000 },
});
await toolkit.start();

const sessionOf = (principal: string) => ({ id: principal, principal });
const commands: Readonly<Record<string, (first: string, second: string) => Promise<unknown>>> = {
  ask: async (name) => (await toolkit.call(name, {}, { session: sessionOf("ada"), meta: { trace: "m1" } })).text(),
  own: async () =>
    (await assistant.generate("You are payer.", { tools: [tool("pay", true)], session: sessionOf("ada") })).text(),
  view: async (name) => (await toolkit.view({ include: ["builtin.*"] }).call(name, {})).text(),
  attach: async (name, megabytes) => {
    const bytes = new Uint8Array(Number(megabytes) * 2 ** 20).fill(7);
    const attached = await resource.data("scan", bytes, { mediaType: "image/png" });
    return (await toolkit.call(name, {}, { attachments: [attached], session: sessionOf("ada") })).text();
  },
  approve: async (id) => (await toolkit.approvals.resolve(id, { approved: true })).status,
  pending: async () => (await toolkit.approvals.list({ status: "pending" })).map(({ id }) => id).join(" "),
  resume: async (id, principal) =>
    (await assistant.resume(id, principal ? { session: sessionOf(principal) } : {})).text(),
  wait: async (id) => (await assistant.resume(id, { wait: true })).text(),
  suspended: async () => JSON.stringify(await assistant.suspended()),
  forget: async (id) => assistant.forget(id, { by: "ops" }),
};
say("ready");
for await (const line of createInterface(process.stdin)) {
  const [number = "", command = "", first = "", second = ""] = line.split(" ");
  commands[command]?.(first, second).then(
    (result) => say(number, result),
    (error) => say(number, ToolkitError.is(error, "PENDING") ? error.details.id : `${error.code} ${error.message}`),
  );
}
await toolkit.close();
