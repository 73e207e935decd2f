import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect } from "vitest";
import { readPrompts } from "../../src/prompt/read-prompts.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { FailingStore } from "../support/failing-store.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

const prompt = (name: string, text = name) => `---\nname: ${name}\n---\n${text}`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolweave-folder-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const files = async () =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .flatMap((each) => (each.isFile() ? [join(each.parentPath, each.name).slice(folder.length + 1)] : []))
    .sort();
const write = async (file: string, text: string) => {
  await mkdir(join(folder, file, ".."), { recursive: true });
  await writeFile(join(folder, file), text);
};

async function filled(): Promise<Toolkit> {
  const toolkit = new Toolkit({ store: memoryStore() });
  await toolkit.user.putPrompt("Be kind.", { name: "_tone" });
  await toolkit.user.putPrompt(prompt("greet", "Greet {{name}}. {{> tone}}"));
  await toolkit.user.putPrompt(prompt("Greet", "Another, in upper case."));
  await toolkit.user.putPrompt(prompt("readme", "A name that is no prompt's in a folder."));
  await toolkit.user.putPrompt("---\ndescription: No name of its own.\n---\nx", { name: "named" });
  const note = resource.text("note", "naïve 漢字", { description: "A note.", meta: { tags: ["a"] } });
  await toolkit.user.putResource(resource.withUri(note, "doc:a/../b?c#d"));
  await toolkit.user.putResource(resource.withUri(note, "doc:e"));
  await toolkit.user.putResource(resource.json("data", { a: 1 }));
  await toolkit.user.putResource(
    await resource.data("image", new Uint8Array([137, 80, 0, 255]), { mediaType: "image/png" }),
  );
  await toolkit.user.putResource(
    resource.fromJSON({
      ...{ kind: "resource", name: "both", uri: "multipart:both", mediaType: "multipart/mixed" },
      parts: [resource.text("one", "1").toJSON(), resource.json("two", 2).toJSON()],
    }),
  );
  return toolkit;
}

async function everything(toolkit: Toolkit) {
  const { entries } = await toolkit.list();
  const items = await Promise.all(entries.map(({ ref }) => toolkit.user.get(ref)));
  return items.map((item) => (item.kind === "prompt" ? [item.ref, item.markdown] : [item.ref, item.content.toJSON()]));
}

describe("a folder", () => {
  verifies("S2", "what is exported and imported is the same, and is a prompt folder too", async () => {
    await using toolkit = await filled();
    const report = await toolkit.user.export(folder);
    expect(await files()).toEqual([...report.written].sort());
    expect(await files()).toEqual([
      "Greet.md",
      "_tone.md",
      "greet-2.md",
      "named.md",
      "readme-2.md",
      "resources/both.parts.json",
      "resources/data.json",
      "resources/image.png",
      "resources/note-2.txt",
      "resources/note.txt",
      "user.json",
    ]);
    expect((await readPrompts(folder)).map(({ name }) => name).sort()).toEqual(["Greet", "greet", "named", "readme"]);
    await using other = new Toolkit({ store: memoryStore() });
    const taken = await other.user.import(pathToFileURL(folder));
    expect([taken.added.length, taken.changed, taken.unchanged, taken.ignored]).toEqual([10, [], [], []]);
    expect(await everything(other)).toEqual(await everything(toolkit));
    expect(await other.user.get("_tone")).toMatchObject({ markdown: "Be kind." });
  });

  verifies(
    "S2",
    "exported again nothing is written but what changed, what is gone is removed, and other files stay",
    async () => {
      await using toolkit = await filled();
      await toolkit.user.export(folder);
      await write("README.md", "Mine.");
      await write("resources/mine.txt", "Mine.");
      expect(await toolkit.user.export(folder)).toMatchObject({ written: [], removed: [] });
      await toolkit.user.putPrompt(prompt("greet", "Changed."));
      await toolkit.user.remove("Greet");
      await toolkit.user.remove("doc:e");
      await toolkit.user.putPrompt(prompt("added"));
      const report = await toolkit.user.export(folder);
      // An entry that had a file keeps it.
      expect(report.written).toEqual(["added.md", "greet-2.md", "user.json"]);
      expect(report.removed).toEqual(["Greet.md", "resources/note-2.txt"]);
      expect(await files()).toEqual(expect.arrayContaining(["README.md", "resources/mine.txt"]));
      expect((await files()).filter((file) => file.includes(".new"))).toEqual([]);
      expect((await toolkit.user.import(folder)).ignored).toEqual(["README.md", "resources/mine.txt"]);
    },
  );

  verifies("S2", "an empty folder is not what is meant with prune: a wrong path would remove everything", async () => {
    await using toolkit = await filled();
    const before = (await toolkit.list({ namespace: "user" })).count;
    const error = await failure(toolkit.user.import(folder, { prune: true }));
    expect([error.code, error.message]).toEqual(["INVALID_INPUT", expect.stringContaining(folder)]);
    expect((await toolkit.list({ namespace: "user" })).count).toBe(before);
    expect(await toolkit.user.import(folder)).toMatchObject({ added: [], removed: [] });
  });

  verifies("S2", "imported again nothing changes but what was edited, added, or with prune removed", async () => {
    await using toolkit = await filled();
    await toolkit.user.export(folder);
    await write("greet-2.md", prompt("greet", "Edited. {{> tone}}"));
    await write("new.md", "---\ndescription: Added by hand.\n---\nNew.");
    await write("style.hbs", "In style.");
    await rm(join(folder, "Greet.md"));
    const broken = await failure(toolkit.user.import(folder));
    expect([broken.code, broken.message]).toEqual(["INVALID_CONFIG", expect.stringContaining("Greet.md")]);
    const index = JSON.parse(await readFile(join(folder, "user.json"), "utf8"));
    index.prompts = index.prompts.filter(({ name }: { name: string }) => name !== "Greet");
    await write("user.json", JSON.stringify(index));
    const events: unknown[] = [];
    toolkit.on("promptListChanged", ({ added, changed, removed }) => events.push([added, changed, removed]));
    const report = await toolkit.user.import(folder, { prune: true });
    expect(report).toMatchObject({
      added: ["user._style", "user.new"],
      changed: ["user.greet"],
      removed: ["user.Greet"],
      ignored: [],
    });
    expect(report.unchanged).toHaveLength(8);
    expect((await toolkit.user.history("greet")).map(({ version }) => version)).toEqual([2, 1]);
    await toolkit.close();
    expect(events).toEqual([[["user.new"], ["user.greet"], ["user.Greet"]]]);
  });

  verifies("S2", "where anything is wrong all of it is named, and nothing is stored", async () => {
    await using toolkit = new Toolkit({ store: memoryStore() });
    await write("good.md", prompt("good"));
    await write("bad.md", prompt("bad", "{{#if}}"));
    await write("missing.md", prompt("missing", "{{> nowhere}}"));
    await write("two words.md", "---\n---\nx");
    await write("again.md", prompt("good"));
    const error = await failure(toolkit.user.import(folder));
    expect(error.code).toBe("INVALID_PROMPT");
    for (const part of ["4 things are wrong", "bad.md:4", 'no partial "nowhere"', "two words", "good.md: The name"])
      expect(error.message).toContain(part);
    expect(error.cause).toBeInstanceOf(AggregateError);
    expect((await toolkit.list()).count).toBe(0);
    for (const path of ["/nowhere/at/all", join(folder, "good.md")]) await failure(toolkit.user.import(path));
    await expect(toolkit.user.export(join(folder, "good.md"))).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await expect(toolkit.user.export(new URL("https://example.com"))).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });

  verifies("S2", "an index leads nowhere outside its folder", async () => {
    await using toolkit = new Toolkit({ store: memoryStore() });
    const about = { uri: "doc:x", name: "x", mediaType: "text/plain", form: "text" };
    for (const file of [
      "../x.txt",
      "resources/../../x",
      "/etc/passwd",
      "resources/..",
      "resources\\..\\x",
      "resources/.x",
    ]) {
      await write("user.json", JSON.stringify({ version: 1, resources: [{ ...about, file }] }));
      const config = { code: "INVALID_CONFIG", details: { path: "resources.0.file" } };
      await expect(toolkit.user.import(folder)).rejects.toMatchObject(config);
      await expect(toolkit.user.export(folder)).rejects.toMatchObject(config);
    }
    for (const index of [
      "",
      "7",
      "{}",
      '{"version":2}',
      '{"version":1,"prompts":[{}]}',
      '{"version":1,"resources":7}',
    ]) {
      await write("user.json", index);
      await expect(toolkit.user.import(folder)).rejects.toMatchObject({ code: "INVALID_CONFIG" });
    }
  });

  verifies("S2", "no link leads anything out of a folder, nor into it from elsewhere", async () => {
    await using toolkit = new Toolkit({ store: memoryStore() });
    await toolkit.user.putPrompt("Be kind.", { name: "_tone" });
    await toolkit.user.putPrompt(prompt("greet", "Greet {{name}}. {{> tone}}"));
    await toolkit.user.putResource(resource.text("note", "A note."));
    const [inside, outside] = [join(folder, "inside"), join(folder, "outside")];
    await Promise.all([mkdir(inside), mkdir(outside)]);
    await writeFile(join(outside, "greet.md"), prompt("greet", "A secret."));
    await symlink(outside, join(inside, "resources"));
    await symlink(join(outside, "greet.md"), join(inside, "greet.md"));

    const refused = { code: "INVALID_INPUT", message: expect.stringContaining("a link that leads out of its folder") };
    await expect(toolkit.user.export(inside)).rejects.toMatchObject(refused);
    await expect(toolkit.user.import(inside)).rejects.toMatchObject(refused);
    expect(await readdir(outside)).toEqual(["greet.md"]);
    await rm(join(inside, "resources"));
    await toolkit.user.export(inside);
    expect(await readFile(join(outside, "greet.md"), "utf8")).toContain("A secret.");
    expect(await readFile(join(inside, "greet.md"), "utf8")).toContain("Greet {{name}}.");

    await writeFile(join(inside, "tone.txt"), "Be kinder.");
    await rm(join(inside, "_tone.md"));
    await symlink("tone.txt", join(inside, "_tone.md"));
    expect(await toolkit.user.import(inside)).toMatchObject({ changed: ["user._tone"] });
  });

  verifies("S2", "a URI that an index has twice, as after a merge, is an error", async () => {
    await using toolkit = new Toolkit({ store: memoryStore() });
    const entry = (file: string) => ({ uri: "doc:x", name: "x", mediaType: "text/plain", form: "text", file });
    const resources = [entry("resources/x.txt"), entry("resources/x-2.txt")];
    for (const { file } of resources) await write(file, file);
    await write("user.json", JSON.stringify({ version: 1, resources }));
    const details = { key: "doc:x", owners: ["resources/x.txt", "resources/x-2.txt"] };
    await expect(toolkit.user.import(folder)).rejects.toMatchObject({ code: "CONFLICT", details });
  });

  verifies("S2", "where the store refuses the rest, what was stored is taken back", async () => {
    for (const name of ["a", "b", "c", "d"]) await write(`${name}.md`, prompt(name, "new"));
    const failing = new FailingStore(memoryStore());
    await using toolkit = new Toolkit({ store: failing.store, user: { maxItems: 4 } });
    await toolkit.user.putPrompt(prompt("a", "old"));
    await toolkit.user.putPrompt(prompt("y", "old"));
    await expect(toolkit.user.import(folder)).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
    expect(await everything(toolkit)).toEqual([
      ["user.a", prompt("a", "old")],
      ["user.y", prompt("y", "old")],
    ]);
    failing.writesLeft = 1;
    const error = await failure(toolkit.user.import(folder, { prune: true }));
    expect([error.code, error.message]).toEqual([
      "STORE_FAILED",
      expect.stringMatching(/could not be rolled back: user\.y/),
    ]);
  });
});
