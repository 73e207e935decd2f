/** A run is recorded once, and replayed without its tool and its model: then a change of the prompt is found. */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineTool, type Prompt, resource, Toolkit, ToolkitError } from "toolweave";
import { agent } from "toolweave/agent";
import { readTape, record, replayed } from "toolweave/tape";
import { scriptedModel } from "toolweave/testing";

const forecast = defineTool<{ city: string; apiKey: string }>({
  name: "forecast",
  description: "Says the weather of a city.",
  input: { type: "object", properties: { city: { type: "string" }, apiKey: { type: "string" } } },
  run: ({ city }) => ({ city, degrees: 21 }),
});

function packing(question: string): Prompt<{ readonly city: string }> {
  return {
    kind: "prompt",
    name: "packing",
    tools: ["forecast"],
    render: async ({ city }) => ({
      messages: [{ role: "user", content: [resource.text("question", `${question} ${city}?`)] }],
    }),
  };
}

const folder = await mkdtemp(join(tmpdir(), "toolweave-tape-"));
const file = join(folder, "packing.tape");
try {
  const model = scriptedModel([
    { toolCalls: [{ name: "forecast", input: { city: "Bern", apiKey: "sk-this-is-secret" } }] },
    "A light jacket.",
  ]);
  const toolkit = new Toolkit({
    items: [packing("Which jacket do I pack for"), forecast],
    delegate: agent({ defaultModel: model }),
  });
  // #region record
  {
    await using _recording = record(toolkit, { to: file });
    const answer = await toolkit.call("packing", { city: "Bern" });
    console.log(await answer.text());
  }
  // #endregion
  await toolkit.close();

  const same = packing("Which jacket do I pack for");
  // #region replay
  const tape = await readTape(file);
  await using replay = await replayed(tape, { items: [same] });
  const [run] = await replay.run(); // throws REPLAY_DIFFERS where it differs
  // #endregion
  assert.equal(await run?.answer?.text(), "A light jacket.");
  assert.ok(!JSON.stringify(tape.lines).includes("sk-this-is-secret"));

  await using changed = await replayed(tape, { items: [packing("Which coat do I pack for")] });
  const error = await changed.run().catch((thrown: unknown) => thrown);
  assert.ok(ToolkitError.is(error, "REPLAY_DIFFERS"));
  assert.equal(error.details.step, 0);
  console.log(error.message);
} finally {
  await rm(folder, { recursive: true });
}
