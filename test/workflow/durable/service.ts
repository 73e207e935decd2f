/**
 * A service whose workflows lie in a store that it shares. It does what it is told, line by line, and answers each with the verb. What its tools do
 * they write down in a journal. Run with the store (a file, or a URL and a schema), the journal, and the tool that hangs as soon as it is called.
 */
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { defineTool, Toolkit, ToolkitError } from "../../../src/index.ts";
import { postgresStore } from "../../../src/store/postgres/index.ts";
import { sqliteStore } from "../../../src/store/sqlite/index.ts";
import type { Workflow } from "../../../src/workflow/workflow-definition.ts";
import { workflows } from "../../../src/workflow/workflows.ts";

const [where = "", schema = "", journal = "", hangs = ""] = process.argv.slice(2);
const say = (...words: readonly unknown[]) => process.stdout.write(`${words.join(" ")}\n`);

type Kind = "safe" | "unsafe" | "asks";
const tool = (name: string, kind: Kind) =>
  defineTool({
    name,
    annotations: { readOnlyHint: kind === "safe" },
    options: { needsApproval: kind === "asks" },
    run: async (input) => {
      const { n = "" } = (input ?? {}) as { n?: number };
      appendFileSync(journal, `${name}${n}\n`);
      if (hangs === name) await new Promise(() => undefined);
      if (name === "broken") throw new Error("It is broken.");
      return `${name} done`;
    },
  });

const order: Workflow = {
  name: "order",
  description: "Takes an order: a failing step, a fallback, an approval in the middle.",
  steps: [
    { id: "collected", tool: "collect" },
    { id: "stock", tool: "broken", fallback: [{ id: "plain", tool: "plain" }] },
    { id: "payment", tool: "pay" },
    { id: "looked", tool: "look" },
    { id: "shipped", tool: "ship", fallback: [{ id: "asked", tool: "ask" }] },
    { id: "reported", tool: "report" },
  ],
  output: {
    stock: "${steps.stock}",
    payment: "${steps.payment}",
    shipped: "${steps.shipped}",
    end: "${steps.reported}",
  },
};
const strict: Workflow = { name: "strict", description: "Has no fallback.", steps: [{ id: "shipped", tool: "ship" }] };
const each: Workflow = {
  name: "each",
  description: "Does the same for many.",
  steps: [{ id: "all", forEach: "${input.list}", concurrency: 2, tool: "collect", output: "${item}" }],
};
const many: Workflow = {
  name: "many",
  description: "Does the same for so many that its record has pieces.",
  steps: [
    {
      id: "all",
      forEach: "${input.list}",
      concurrency: 8,
      tool: "collect",
      params: { n: "${item}" },
      onError: "continue",
    },
  ],
};

const flows = workflows([order, strict, each, many], { leaseMs: 1_000 });
const store = schema === "" ? sqliteStore({ file: where }) : postgresStore({ connectionString: where, schema });
const toolkit = new Toolkit({
  items: [
    ...(["look", "ask"] as const).map((name) => tool(name, "safe")),
    ...(["collect", "broken", "plain", "ship", "report"] as const).map((name) => tool(name, "unsafe")),
    tool("pay", "asks"),
  ],
  delegate: flows,
  store,
  approvals: { leaseMs: 1_000 },
});
toolkit.addSource("workflow", flows);
await toolkit.start();

const session = { id: "ada", principal: "ada" };
const commands: Readonly<Record<string, (first: string, second: string) => Promise<unknown>>> = {
  run: async (name, list = "[]") =>
    (await toolkit.call(`workflow.${name}`, { list: JSON.parse(list) }, { session })).text(),
  approve: async (id) => (await toolkit.approvals.resolve(id, { approved: true })).status,
  pending: async () =>
    (await toolkit.approvals.list({ status: "pending", tool: "builtin.pay" })).map(({ id }) => id).join(" "),
  wait: async (id) => (await toolkit.approvals.wait(id)).text(),
  runs: async () => JSON.stringify((await flows.runs()).map(({ status, ref }) => `${ref} ${status}`)),
  pieces: async () => {
    const { records } = await store.list({ collection: "workflow" });
    return records.filter(({ owner }) => owner !== "").length;
  },
  steps: async () => JSON.stringify((await flows.runs())[0]?.steps),
  outcome: async () => JSON.stringify((await flows.runs()).map(({ result, error }) => result ?? error)[0] ?? null),
};
say("ready");
for await (const line of createInterface(process.stdin)) {
  const [number = "", command = "", first = "", second] = line.split(" ");
  commands[command]?.(first, second ?? "[]").then(
    (result) => say(number, result),
    (error) => say(number, ToolkitError.is(error, "PENDING") ? error.details.id : `${error.code} ${error.message}`),
  );
}
await toolkit.close();
