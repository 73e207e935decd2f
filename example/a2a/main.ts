// An agent elsewhere as tools: its skills are called, report progress, and ask.
import assert from "node:assert/strict";
import { Toolkit } from "toolweave";
import { a2a } from "toolweave/a2a";
import { startAgent } from "./server.ts";

await using agent = await startAgent();

// #region use
await using toolkit = new Toolkit({
  delegate: {
    elicit: async ({ message }) => ({ action: "accept", content: { answer: message === "Where to?" ? "Thun" : "" } }),
  },
});
toolkit.addConnector(a2a(agent.card), { namespace: "travel" });
await toolkit.start();

const plan = await toolkit.call(
  "travel.plan",
  { message: "Three days in Bern" },
  { onProgress: ({ message }) => console.log(message) },
);
console.log(await plan.text());
// #endregion
assert.match(await plan.text(), /Three days in Bern: the 10:02/);

// #region go-on
const { a2a: about } = plan.meta as { a2a: { contextId: string; artifacts: string[] } };
const { contextId, artifacts } = about;
const artifact = await toolkit.read(artifacts[0] ?? "");
const other = await toolkit.call("travel.plan", { message: "And another one", contextId });
// #endregion
assert.match(await artifact.text(), /Bern/);
assert.match(await other.text(), /Three days in Thun/);
