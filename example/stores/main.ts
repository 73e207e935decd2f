// A store in a file: the prompts of people and the pending approvals are there after a restart of the service.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineTool, Toolkit, ToolkitError } from "toolweave";
import { sqliteStore } from "toolweave/stores/sqlite";

const folder = await mkdtemp(join(tmpdir(), "toolweave-stores-"));
const file = join(folder, "toolweave.db");
const paid: number[] = [];
const pay = defineTool<{ amount: number }>({
  name: "pay",
  input: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] },
  options: { needsApproval: true },
  run: ({ amount }) => paid.push(amount),
});

// #region sqlite
const start = async () => {
  const toolkit = new Toolkit({ items: [pay], store: sqliteStore({ file }) });
  await toolkit.start();
  return toolkit;
};
// #endregion sqlite

try {
  const before = await start();
  await before.user.putPrompt("---\nname: greet\n---\nGreet {{name}}.");
  const session = { id: "session-1", principal: "ada" };
  const error: unknown = await before.call("pay", { amount: 5 }, { session }).catch((thrown: unknown) => thrown);
  assert.ok(ToolkitError.is(error, "PENDING"));
  await before.close();

  const after = await start();
  const rendered = await after.render("greet", { name: "Ada" });
  assert.equal(await rendered.messages[0]?.content[0]?.text(), "Greet Ada.");
  const [first, second] = await Promise.all([
    after.approvals.resolve(error.details.id, { approved: true, by: "Bo" }),
    after.approvals.resolve(error.details.id, { approved: true, by: "Cleo" }),
  ]);
  assert.deepEqual([first.status, second.status, paid], ["succeeded", "succeeded", [5]]);
  await after.close();
  console.log("The prompt and the approval were there after the restart, and what was approved ran once.");
} finally {
  await rm(folder, { recursive: true, force: true });
}
