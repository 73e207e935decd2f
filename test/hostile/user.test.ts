import { mkdir, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { resource, Toolkit } from "../../src/index.ts";
import { FilePrompt } from "../../src/prompt/file-prompt.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { sqliteStore } from "../../src/store/sqlite/index.ts";
import { folderWith, rejection } from "../prompt/support.ts";
import { verifies } from "../support/verifies.ts";

const sessionOf = (principal: string) => ({ session: { id: principal, principal } });

describe("what people make", () => {
  verifies("S3", "more principals at once than fit in memory are all served", async () => {
    await using toolkit = new Toolkit({ store: memoryStore(), user: { maxPrincipals: 2 } });
    const principals = Array.from({ length: 40 }, (_, at) => `principal-${at}`);
    for (const each of principals) await toolkit.user.putPrompt(`---\nname: own\n---\nOf ${each}`, sessionOf(each));
    const texts = await Promise.all(
      principals.map(async (each) => {
        const { messages } = await toolkit.render("own", {}, sessionOf(each));
        return messages[0]?.content[0]?.text();
      }),
    );
    expect(texts).toEqual(principals.map((each) => `Of ${each}`));
  });

  verifies("S2", "a partial that changes has no prompt that uses it parsed again", async () => {
    await using toolkit = new Toolkit({ store: memoryStore() });
    await toolkit.user.putPrompt("calm", { name: "_tone" });
    await toolkit.user.putPrompt("---\nname: letter\n---\nBe {{> tone}}.");
    const source = async () => FilePrompt.sourceOf((await toolkit.lookup("letter", { kind: "prompt" })).item);
    const before = await source();
    await toolkit.user.putPrompt("{{word}}", { name: "_tone" });
    const after = await source();
    expect(after?.body).toBe(before?.body);
    expect(after?.partials.get("tone")?.source.text).toBe("{{word}}");
    const { messages } = await toolkit.render("letter", { word: "brief" });
    expect(await messages[0]?.content[0]?.text()).toBe("Be brief.");
  });

  verifies("S2", "what is put and removed under ever new names does not fill the store", async () => {
    for (const store of [memoryStore(), sqliteStore({ file: ":memory:" })]) {
      await using toolkit = new Toolkit({ store, user: { maxBytes: 3_000_000 } });
      const eve = sessionOf("eve");
      const names = Array.from({ length: 110 }, (_, at) => `file-${at}`);
      for (const name of names) {
        await toolkit.user.putResource(resource.text(name, name.repeat(1_000)), eve);
        await toolkit.user.remove(`text:${name}`, eve);
      }
      const histories = await Promise.all(
        names.map((name) => store.history({ collection: "resource", owner: "eve", key: `text:${name}` })),
      );
      expect(histories.flatMap(({ records }) => records)).toHaveLength(100);
    }
  });

  verifies("S2", "a sparse file of 600 MB in a folder is not read when the folder is imported", async () => {
    await using toolkit = new Toolkit({ store: memoryStore() });
    const folder = await folderWith({ "user.json": "" });
    await truncate(join(folder, "user.json"), 600_000_000);
    const refused = { code: "LIMIT_EXCEEDED", details: { actual: 600_000_000 } };
    expect(await rejection(toolkit.user.import(folder))).toMatchObject(refused);
    const file = "resources/big.txt";
    const resources = [{ uri: "text:big", file, form: "text", name: "big", mediaType: "text/plain" }];
    await writeFile(join(folder, "user.json"), JSON.stringify({ version: 1, prompts: [], resources }));
    await mkdir(join(folder, "resources"));
    await writeFile(join(folder, file), "");
    await truncate(join(folder, file), 600_000_000);
    expect(await rejection(toolkit.user.import(folder))).toMatchObject(refused);
  });
});
