import fc from "fast-check";
import { describe, expect } from "vitest";
import { defaultPromptLimits } from "../../src/core/prompt-limits.ts";
import { PromptCollection } from "../../src/prompt/prompt-collection.ts";
import { verifies } from "../support/verifies.ts";

const texts = [
  "Hello.",
  "Hello {{> tone}}.",
  "{{> other}} and {{> tone}}",
  "---\nname: same\n---\nHello.",
  "---\nname: same\n---\n{{> tone}}",
  "{{#if}}",
  "kind",
];
const files = ["_other.hbs", "_tone.hbs", "a.md", "b.md", "c.md", "in/_tone.hbs", "in/a.md"];

describe("the prompts of a folder", () => {
  verifies("P5", "are the same when only what changed is looked at", async () => {
    const edit = fc.record({ file: fc.constantFrom(...files), text: fc.option(fc.constantFrom(...texts)) });
    const steps = fc.array(fc.array(edit, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(steps, async (edits) => {
        const some = new PromptCollection("folder", defaultPromptLimits);
        const whole = new PromptCollection("folder", defaultPromptLimits);
        const there = new Map<string, string>();
        for (const [step, changes] of edits.entries()) {
          const changed = new Map<string, string>();
          for (const { file, text } of changes) {
            if (text === null) {
              there.delete(file);
              changed.delete(file);
            } else {
              const full = isPartial(file) || text.startsWith("---") ? text : `---\ntitle: A prompt\n---\n${text}`;
              there.set(file, full);
              changed.set(file, full);
            }
          }
          const names = [...there.keys()].sort();
          await some.update(names, { texts: changed, errors: new Map() });
          // Another file each time, so that all names are resolved anew.
          const other = `zz${step}.md`;
          await whole.update([...names, other], {
            texts: new Map([...there, [other, "---\ntitle: Bye\n---\nBye."]]),
            errors: new Map(),
          });
          const wanted = whole.prompts.filter(({ name }) => name !== `zz${step}`);
          expect(some.prompts.map(summary)).toEqual(wanted.map(summary));
          expect(some.problems.map(({ message }) => message)).toEqual(whole.problems.map(({ message }) => message));
        }
      }),
      { numRuns: 100 },
    );
  });
});

function isPartial(file: string): boolean {
  return file.endsWith(".hbs");
}

function summary({ name, version }: { readonly name: string; readonly version?: string | undefined }): string {
  return `${name} ${version}`;
}
