import fc from "fast-check";
import { describe, expect } from "vitest";
import { ToolkitError } from "../../src/core/error.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { sqliteStore } from "../../src/store/sqlite/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { hostileTexts } from "../contract/store.ts";
import { sharing } from "../support/sharing.ts";
import { verifies } from "../support/verifies.ts";

const stores = { memory: () => memoryStore(), sqlite: () => sqliteStore({ file: ":memory:" }) };

for (const [name, open] of Object.entries(stores)) {
  describe(`user in a store of ${name}`, () => {
    verifies("S2", "any text is safe in every field, and comes back as it was", async () => {
      await using toolkit = new Toolkit({ store: open() });
      for (const text of hostileTexts) {
        const session = { id: "x", principal: text };
        const note = resource.text("note", text, { title: text, description: text, meta: { [text]: text } });
        const uri = `doc:${text.replace(/\p{Cc}/gu, "")}`;
        await toolkit.user.putResource(resource.withUri(note, uri), { session });
        await toolkit.user.putPrompt(`---\ndescription: ${JSON.stringify(text)}\n---\n${text}\nx`, {
          name: "greet",
          session,
        });
        expect((await toolkit.read(uri, { session })).toJSON()).toEqual(resource.withUri(note, uri).toJSON());
        const entry = await toolkit.lookup("greet", { kind: "prompt", session });
        expect(entry.item.description).toBe(text);
        expect(await toolkit.list({ session })).toMatchObject({ count: 2, failures: [] });
      }
      expect((await toolkit.list()).count).toBe(0);
    });

    verifies("S2", "a name or URI is stored and found again, or refused with a code of the catalogue", async () => {
      await using toolkit = new Toolkit({ store: open() });
      const text = fc.oneof(
        fc.string({ unit: "binary", maxLength: 80 }),
        fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 70 }),
        fc.string({ minLength: 3_000, maxLength: 3_000 }),
        fc.constantFrom(...hostileTexts),
      );
      const outcome = async (put: Promise<{ readonly ref: string }>, kind: "prompt" | "resource") => {
        try {
          const { ref } = await put;
          expect((await toolkit.lookup(ref, { kind })).ref).toBe(ref);
          expect(await toolkit.user.get(ref)).toMatchObject({ ref });
        } catch (error) {
          if (!ToolkitError.is(error)) throw error;
          expect(["INVALID_NAME", "RESERVED_NAME", "INVALID_PROMPT"]).toContain(error.code);
        }
      };
      await fc.assert(
        fc.asyncProperty(text, async (name) => {
          await outcome(toolkit.user.putPrompt("---\n---\nx", { name }), "prompt");
          await outcome(
            (async () => toolkit.user.putResource(resource.withUri(resource.text("x", "x"), `doc:${name}`)))(),
            "resource",
          );
        }),
        { numRuns: 100 },
      );
      expect((await toolkit.list()).failures).toEqual([]);
    });

    verifies(
      ["S2", "K2"],
      "however two toolkits change a few items at once, both show in the end what the store has",
      async () => {
        const action = fc.record({
          at: fc.nat(1),
          name: fc.constantFrom("a", "b", "_p"),
          text: fc.constantFrom("1", "2", "{{> p}}", "{{#if}}"),
          remove: fc.boolean(),
        });
        await fc.assert(
          fc.asyncProperty(fc.array(action, { maxLength: 25 }), async (actions) => {
            const store = open();
            const toolkits = [0, 1].map(() => new Toolkit({ store: sharing(store) }));
            const run = async ({ at, name, text, remove }: (typeof actions)[number]) => {
              const { user } = toolkits[at] as Toolkit;
              await (remove ? user.remove(name) : user.putPrompt(name === "_p" ? text : `---\n---\n${text}`, { name }));
            };
            for (const result of await Promise.allSettled(actions.map(run)))
              if (result.status === "rejected" && !ToolkitError.is(result.reason)) throw result.reason;
            await using fresh = new Toolkit({ store: sharing(store) });
            const shown = async (toolkit: Toolkit) => {
              const { entries } = await toolkit.list({ kind: "prompt" });
              return Promise.all(entries.map(async ({ ref, item }) => [ref, (item as { version?: string }).version]));
            };
            const wanted = await shown(fresh);
            const isBroken = (await fresh.list()).failures.length > 0;
            // A file that was good before it was broken stays: only a process that was there then knows it.
            if (!isBroken) for (const toolkit of toolkits) await expect.poll(() => shown(toolkit)).toEqual(wanted);
            for (const toolkit of toolkits) await toolkit.close();
            await store.close();
          }),
          { numRuns: 30 },
        );
      },
    );
  });
}
