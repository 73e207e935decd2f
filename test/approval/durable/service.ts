/**
 * A service whose approvals lie in a file. It does what it is told, line by line: `ask TOOL`, `resolve ID true|false`, `wait ID`. Whatever
 * its tools do they write down in another file, and say. Run with both files, and `hangs` where its tools never end.
 */
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { ToolkitError } from "../../../src/core/error.ts";
import { defineTool } from "../../../src/core/tool.ts";
import { sqliteStore } from "../../../src/store/sqlite/index.ts";
import { Toolkit } from "../../../src/toolkit/toolkit.ts";

const [file = "", journal = "", hangs] = process.argv.slice(2);
const say = (...words: readonly unknown[]) => process.stdout.write(`${words.join(" ")}\n`);

const tool = (name: string, annotations = {}) =>
  defineTool({
    name,
    annotations,
    options: { needsApproval: true },
    run: async () => {
      appendFileSync(journal, `${name}\n`);
      say("ran", name);
      if (hangs !== undefined) await new Promise(() => undefined);
      return "paid";
    },
  });

const toolkit = new Toolkit({
  items: [tool("pay"), tool("pay_again", { idempotentHint: true })],
  store: sqliteStore({ file }),
  approvals: { leaseMs: 2_000 },
});
await toolkit.start();

const commands: Readonly<Record<string, (first: string, second: string) => Promise<unknown>>> = {
  ask: (name) => toolkit.call(name, {}, { session: { id: "1", principal: "ada" } }),
  resolve: async (id, approved) => (await toolkit.approvals.resolve(id, { approved: approved === "true" })).status,
  wait: async (id) => (await toolkit.approvals.wait(id)).text(),
};
say("ready");
for await (const line of createInterface(process.stdin)) {
  const [command = "", first = "", second = ""] = line.split(" ");
  commands[command]?.(first, second).then(
    (result) => say(command, result),
    (error) => say(command, ToolkitError.is(error, "PENDING") ? error.details.id : error.code),
  );
}
await toolkit.close();
