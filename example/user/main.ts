// Prompts and resources that people make at run time: put, changed, restored, apart by principal, and out to a folder and back.
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineTool, memoryStore, resource, Toolkit, ToolkitError, type ToolkitEvent } from "toolweave";

/** The answer of a call, or the rule that refuses it. */
const outcome = (call: Promise<{ text(): Promise<string> }>) =>
  call.then(
    (content) => content.text(),
    (error: unknown) => (ToolkitError.is(error, "DENIED") ? error.details.rule : Promise.reject(error)),
  );

const folder = await mkdtemp(join(tmpdir(), "toolweave-user-"));
const toolkit = new Toolkit({ store: memoryStore() });
const events: ToolkitEvent[] = [];
toolkit.on("promptListChanged", (event) => events.push(event));

try {
  // #region put
  await toolkit.user.putPrompt("---\nname: greet\n---\nGreet {{name}} in one sentence.");
  await toolkit.user.putResource(resource.text("motto", "Many threads, one cloth."));

  const rendered = await toolkit.render("greet", { name: "Ada" });
  const motto = await toolkit.read("text:motto");
  // #endregion put
  assert.equal(await rendered.messages[0]?.content[0]?.text(), "Greet Ada in one sentence.");
  assert.equal(await motto.text(), "Many threads, one cloth.");

  // #region versions
  const { version } = await toolkit.user.get("greet");
  await toolkit.user.putPrompt("---\nname: greet\n---\nHail {{name}}!", { expectedVersion: version });
  // A second change of the first version is rejected: it is not the current one any more.
  const late = toolkit.user.putPrompt("---\nname: greet\n---\nHi {{name}}.", { expectedVersion: version });
  const refused = await late.catch((error: unknown) => ToolkitError.is(error, "CONFLICT"));

  const versions = await toolkit.user.history("greet"); // the latest first
  await toolkit.user.restore("greet", version);
  // #endregion versions
  assert.equal(refused, true);
  assert.deepEqual(
    versions.map((each) => each.version),
    [2, 1],
  );
  const restored = await toolkit.render("greet", { name: "Ada" });
  assert.equal(await restored.messages[0]?.content[0]?.text(), "Greet Ada in one sentence.");

  // #region principals
  const ada = { id: "session-1", principal: "ada" };
  await toolkit.user.putPrompt("---\nname: diary\n---\nSum up my day: {{day}}", { session: ada });

  const hers = await toolkit.list({ namespace: "user", session: ada });
  const unowned = await toolkit.list({ namespace: "user" });
  const bob = toolkit.view({ principal: "bob" }); // the toolkit as one of them may see it, events included
  const unseen = await bob.lookup("diary").catch((error: unknown) => ToolkitError.is(error, "NOT_FOUND"));
  // #endregion principals
  assert.deepEqual(
    hers.entries.map(({ ref }) => ref),
    ["user.diary"],
  );
  assert.deepEqual(
    unowned.entries.map(({ ref }) => ref),
    ["user.greet", "text:motto#user"],
  );
  assert.equal(unseen, true);

  // #region folder
  await toolkit.user.export(folder); // greet.md, resources/motto.txt, user.json
  const report = await toolkit.user.import(folder, { prune: true }); // after it was edited, for instance
  // #endregion folder
  assert.deepEqual((await readdir(folder)).sort(), ["greet.md", "resources", "user.json"]);
  assert.deepEqual(report.unchanged, ["user.greet", "text:motto#user"]);
  assert.equal(events.length, 4);

  // #region tools
  const forecast = defineTool({ name: "forecast", run: () => "sun" });
  const transfer = defineTool({ name: "transfer", run: () => "sent" });
  const capped = new Toolkit({
    items: [forecast, transfer],
    store: memoryStore(),
    user: { tools: ["forecast"] }, // all that a stored prompt of a principal may call
    policy: {
      // A policy can decide by the way of a call, for instance to keep the prompts of one principal from all tools.
      decide: ({ via }) => via.every(({ owner }) => owner !== "eve") || { deny: "eve is suspended" },
    },
    delegate: {
      // What an agent does with an answer of its model.
      runPrompt: async (_prompt, _input, { toolbox }) =>
        resource.text(
          "answer",
          `${await outcome(toolbox.call("forecast"))}, ${await outcome(toolbox.call("transfer"))}`,
        ),
    },
  });
  const run = async (principal: string) => {
    const session = { id: principal, principal };
    await capped.user.putPrompt("---\nname: day\ntools: [forecast, transfer]\n---\nPlan my day.", { session });
    return (await capped.call("day", {}, { session })).text();
  };
  const answers = [await run("ada"), await run("eve")]; // ["sun, user.tools", "decide, user.tools"]
  // #endregion tools
  assert.deepEqual(answers, ["sun, user.tools", "decide, user.tools"]);
  await capped.close();
} finally {
  await toolkit.close();
  await rm(folder, { recursive: true });
}
console.log("Prompts and resources are where they belong.");
