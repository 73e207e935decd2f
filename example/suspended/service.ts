// A service whose agent pays bills once a person has approved that. It begins a run, or resumes those that another process left.
import { defineTool, parsePrompt, Toolkit, ToolkitError } from "toolweave";
import { agent } from "toolweave/agent";
import { sqliteStore } from "toolweave/stores/sqlite";
import { scriptedModel } from "toolweave/testing";

const [what, file = ""] = process.argv.slice(2);

const pay = defineTool({
  name: "pay",
  options: { needsApproval: true },
  run: () => `paid by process ${process.pid}`,
});
const clerk = parsePrompt("---\nname: clerk\ntools: [pay]\n---\nPay the bill.");
// In place of a provider: it requests a payment, and then reports the outcome.
const model = scriptedModel(({ prompt }) =>
  prompt.at(-1)?.role === "tool" ? "The bill is paid." : { toolCalls: [{ name: "pay" }] },
);

// #region service
const assistant = agent({ defaultModel: model });
await using toolkit = new Toolkit({ items: [pay, clerk], delegate: assistant, store: sqliteStore({ file }) });
await toolkit.start();
// #endregion service

if (what === "begin") {
  const error = await toolkit.call("clerk").catch((thrown: unknown) => thrown);
  if (!ToolkitError.is(error, "PENDING")) throw error;
  console.log(`Process ${process.pid}: ${error.message}`);
  // As a crash would.
  process.kill(process.pid, "SIGKILL");
}

// #region go-on
for (const { id, waitsFor } of await assistant.suspended()) {
  for (const call of waitsFor) await toolkit.approvals.resolve(call.id, { approved: true, by: "Ada" });
  const answer = await assistant.resume(id);
  console.log(await answer.text());
}
// #endregion go-on
