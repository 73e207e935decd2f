/** A folder of prompts is edited while the service runs: written by rename as editors do, broken, repaired, removed. */
import assert from "node:assert/strict";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promptFolder, Toolkit } from "toolweave";

const folder = await mkdtemp(join(tmpdir(), "toolweave-example-"));

/** Saves as most editors do: the new text is written beside the file, and takes its place. */
async function save(name: string, text: string): Promise<void> {
  await writeFile(join(folder, `${name}.tmp`), text);
  await rename(join(folder, `${name}.tmp`), join(folder, name));
}

await save("_tone.md", "Be friendly.");
await save("greet.md", "---\ntitle: Write a greeting\n---\nGreet {{name}}. {{> tone}}");

/** The log of an operator: one line for each file that breaks, and one when it is repaired. */
const log: string[] = [];
const warned = Promise.withResolvers<void>();
const write = (message: string) => {
  log.push(message);
  console.log(`log    ${message.replaceAll(`${folder}/`, "")}`);
};
const warn = (message: string) => {
  write(message);
  warned.resolve();
};
const logger = { debug: () => undefined, info: write, warn, error: write };

// #region watch
const toolkit = new Toolkit({ logger });
toolkit.addSource("prompts", promptFolder(folder, { watch: true }));
// #endregion
const ended = new AbortController();
const running = toolkit.run({ signal: ended.signal });
await toolkit.start();
const events = toolkit.events();

/** What the next change of the list says. */
async function changed(): Promise<string> {
  for (;;) {
    const { value } = await events.next();
    if (value?.type !== "promptListChanged") continue;
    const lists = { added: value.added, changed: value.changed, removed: value.removed };
    const lines = Object.entries(lists).flatMap(([what, refs]) =>
      refs.length > 0 ? `${what} ${refs.join(", ")}` : [],
    );
    console.log(`event  ${lines.join("; ")}`);
    return lines.join("; ");
  }
}

async function text(): Promise<string | undefined> {
  const { messages } = await toolkit.render("prompts.greet", { name: "Ada" });
  return await messages[0]?.content[0]?.text();
}

assert.equal(await text(), "Greet Ada. Be friendly.");

// A new file, and a partial that changes the prompt which uses it.
await save("thank.md", "---\ntitle: Write a note of thanks\n---\nThank {{name}}.");
assert.equal(await changed(), "added prompts.thank");
await save("_tone.md", "Be brief.");
assert.equal(await changed(), "changed prompts.greet");
assert.equal(await text(), "Greet Ada. Be brief.");

// A mistake: the last good version stays in use, and the log says what is wrong, where, and what to write.
await save("greet.md", "---\ntitle: Write a greeting\n---\nGreet {{#if name}}{{name}}.");
// Something else goes on, and is not held up by it.
await save("thank.md", "---\ntitle: Write a note of thanks\n---\nThank {{name}} warmly.");
assert.equal(await changed(), "changed prompts.thank");
assert.equal(await text(), "Greet Ada. Be brief.");

await warned.promise;
// #region failures
const { failures } = await toolkit.list({ namespace: "prompts" });
for (const { error } of failures) console.log(`list   ${error.message.replaceAll(`${folder}/`, "")}`);
// #endregion
assert.match(failures[0]?.error.message ?? "", /greet\.md:4:7: The block \{\{#if\}\} is never closed\./);

await save("greet.md", "---\ntitle: Write a greeting\n---\nGreet {{name}} by name.");
assert.equal(await changed(), "changed prompts.greet");
assert.equal(await text(), "Greet Ada by name.");
assert.equal((await toolkit.list({ namespace: "prompts" })).failures.length, 0);
assert.equal(log.length, 2, "logged once when it broke, and once when it was repaired");

await rm(join(folder, "thank.md"));
assert.equal(await changed(), "removed prompts.thank");

ended.abort();
await running;
await rm(folder, { recursive: true });
