/** Policy, approvals, limits and caches of calls, as an operator reads them. */
import assert from "node:assert/strict";
import { type Delegate, defineTool, type ToolAnswer, Toolkit, ToolkitError } from "toolweave";

let transfers = 0;
let lookups = 0;

// #region tools
const transfer = defineTool({
  name: "transfer",
  description: "Sends money.",
  input: {
    type: "object",
    properties: { to: { type: "string" }, amount: { type: "number" } },
    required: ["to", "amount"],
  },
  // Always: `needsApproval: true`. Here from 100 on.
  options: { needsApproval: ({ amount }: { amount: number }) => amount >= 100 },
  run: ({ to, amount }) => {
    transfers += 1;
    return { to, amount };
  },
});
// #endregion
const rates = defineTool({
  name: "rates",
  description: "Today's rates of exchange.",
  options: { cache: { ttlMs: 60_000 } },
  run: () => ({ EUR: 1, CHF: 0.94, asked: ++lookups }),
});
const sms = defineTool({
  name: "sms",
  description: "Sends a text message.",
  options: { rateLimit: { calls: 2, perMs: 60_000 } },
  run: () => "sent",
});
const wipe = defineTool({ name: "wipe_ledger", description: "Deletes everything.", run: () => "gone" });
const handOver = defineTool({
  name: "hand_over",
  description: "Hands the conversation over to a person.",
  options: { takesControl: true },
  run: () => "A person goes on from here.",
});
// #region pending
const ship = defineTool({
  name: "ship",
  description: "Has a parcel fetched.",
  output: { type: "object", properties: { delivered: { type: "boolean" } }, required: ["delivered"] },
  run: (_input, context) =>
    context.pending({ reason: "delivery", message: "The parcel is on its way.", metadata: { parcel: "P-7" } }),
});
// #endregion

// #region policy
const toolkit = new Toolkit({
  items: [transfer, rates, sms, wipe, handOver, ship],
  policy: {
    block: ["*.wipe_*"],
    // Asked about calls that the lists allow; `true`, `false`, `{ deny: why }` or `{ approve: why }`.
    decide: ({ entry, session }) =>
      entry.name !== "sms" || session.principal !== undefined || { deny: "only known principals may send messages" },
  },
});
// #endregion
const session = { id: "s-1", principal: "ada" };
const said: string[] = [];
const say = (line: string) => said.push(line);

toolkit.on("approvalRequested", ({ ref, reason }) => say(`? ${ref}: ${reason}`));
toolkit.on("approvalResolved", ({ ref, status, by = "no decision" }) => say(`! ${ref} is ${status}, says ${by}`));

/** How an operator reads what became of a call. */
async function outcome(call: Promise<{ text(): Promise<string> }>): Promise<string> {
  try {
    return await (await call).text();
  } catch (error) {
    if (ToolkitError.is(error, "DENIED")) return `DENIED by ${error.details.rule}`;
    if (ToolkitError.is(error, "PENDING")) return `PENDING for ${error.details.reason}`;
    if (ToolkitError.is(error)) return error.code;
    throw error;
  }
}

say(`wipe_ledger: ${await outcome(toolkit.call("wipe_ledger"))}`);
say(`sms without a principal: ${await outcome(toolkit.call("sms"))}`);
for (const text of ["one", "two", "three"]) say(`sms ${text}: ${await outcome(toolkit.call("sms", {}, { session }))}`);
for (let count = 0; count < 2; count += 1) say(`rates: ${await outcome(toolkit.call("rates"))}`);
say(`small transfer: ${await outcome(toolkit.call("transfer", { to: "Bo", amount: 5 }, { session }))}`);

// #region resolve
const { approvals } = toolkit;
const calling = toolkit.call("transfer", { to: "Bo", amount: 500 }, { session }).catch(async (error) => {
  if (!ToolkitError.is(error, "PENDING")) throw error;
  return approvals.wait(error.details.id); // the result once it is approved; rejects with DENIED once it is refused
});
toolkit.on("approvalRequested", async ({ id, kind }) => {
  const { arguments: input } = await approvals.get(id);
  // Show it to a person. Approved twice, also at the same time, it runs once.
  if (kind === "approval") await approvals.resolve(id, { approved: JSON.stringify(input).length < 100, by: "Cleo" });
});
say(`large transfer: ${await outcome(calling)}`);
// #endregion
assert.equal(transfers, 2);

const shipping = toolkit.call("ship").catch((error) => error);
// #region complete
const shipped = await shipping; // PENDING: the work goes on elsewhere
const [parcel] = await approvals.list({ status: "pending", tool: "builtin.ship" });
const completed = await approvals.complete(parcel?.id ?? "", { result: { delivered: true } });
// #endregion
assert.ok(ToolkitError.is(shipped, "PENDING"));
assert.deepEqual(await completed.content?.json(), { delivered: true });

const run = (await toolkit.toolset({ exclude: ["*.ship"] })).begin({ session });
const answers: readonly ToolAnswer[] = await run.execute([
  { id: "1", name: "rates", input: {} },
  { id: "2", name: "hand_over", input: {} },
]);
for (const { name, status, error } of answers) say(`in a batch, ${name} is ${status}: ${error?.message}`);
const [alone] = await run.execute([{ id: "3", name: "hand_over", input: {} }]);
say(`alone, ${alone?.name} is ${alone?.status}: ${await run.final?.text()}`);

// #region explain
say(String(await toolkit.explain("wipe_ledger")));
// #endregion
await toolkit.close();

// #region delegate
const delegate: Delegate = {
  // Decides at once; a call for which it returns undefined waits in toolkit.approvals.
  approve: async ({ tool, arguments: input, session: caller }) => {
    const isFamily = caller.principal === "ada" && tool === "builtin.transfer";
    return isFamily ? { approved: true, by: "the house", reason: JSON.stringify(input) } : undefined;
  },
};
const trusting = new Toolkit({ items: [transfer], delegate });
// #endregion
say(`decided at once: ${await outcome(trusting.call("transfer", { to: "Bo", amount: 500 }, { session }))}`);
say(`left open: ${await outcome(trusting.call("transfer", { to: "Bo", amount: 500 }))}`);
await trusting.close();

console.log(said.join("\n"));
assert.equal(transfers, 3);
assert.equal(lookups, 1);
const expected = [
  "wipe_ledger: DENIED by block *.wipe_*",
  "sms without a principal: DENIED by decide",
  "sms two: sent",
  "sms three: RATE_LIMITED",
  'small transfer: {"to":"Bo","amount":5}',
  "! builtin.transfer is running, says Cleo",
  'large transfer: {"to":"Bo","amount":500}',
  "alone, hand_over is ok: A person goes on from here.",
  "left open: PENDING for builtin.transfer needs approval",
];
for (const line of expected) assert.ok(said.includes(line), line);
assert.equal(answers.filter(({ status }) => status === "denied").length, 2);
