import { type Delegate, Toolkit, type ToolkitEvent } from "toolweave";
import { sqliteStore } from "toolweave/stores/sqlite";
import { check } from "./show.ts";

const haiku = (text: string) => `---\nname: haiku\ndescription: Writes a haiku.\n---\n${text}`;

/** A person writes a prompt while the service runs: it is there at once, is called, and changed. */
export async function writePrompt(toolkit: Toolkit): Promise<void> {
  const events: ToolkitEvent[] = [];
  const stop = toolkit.on("promptListChanged", (event) => events.push(event));
  const { version } = await toolkit.user.putPrompt(haiku("Write a haiku on {{theme}}."));
  const page = await toolkit.list({ namespace: "user" });
  check("listed", page.entries.map(({ ref }) => ref).join(), (refs: string) => refs === "user.haiku");
  const answer = await toolkit.call("haiku", { theme: "weaving" });
  check("called", await answer.text(), (text: string) => text.includes("words"));
  await toolkit.user.putPrompt(haiku("Write a haiku on {{theme}}, in one breath."), { expectedVersion: version });
  const changed = await toolkit.render("haiku", { theme: "weaving" });
  check("changed", (await changed.messages[0]?.content[0]?.text()) ?? "", (text: string) =>
    text.includes("one breath"),
  );
  const bad = await toolkit.user.putPrompt(haiku("{{#if}}")).catch((error: unknown) => error);
  check("a bad one", (bad as Error).message, (message: string) => message.includes("never closed"));
  stop();
  check("its events", events.length, (count: number) => count === 2);
}

/** The service is started again on the same file. */
export async function findPrompt(file: string, delegate: Delegate): Promise<void> {
  await using toolkit = new Toolkit({ store: sqliteStore({ file }), delegate });
  const again = await toolkit.render("haiku", { theme: "weaving" });
  check("still there", (await again.messages[0]?.content[0]?.text()) ?? "", (text: string) =>
    text.includes("one breath"),
  );
  const versions = await toolkit.user.history("haiku");
  check(
    "its versions",
    versions.map(({ version }) => version),
    (seen: number[]) => seen.join() === "2,1",
  );
}
