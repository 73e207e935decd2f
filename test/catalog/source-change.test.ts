import fc from "fast-check";
import { describe, expect } from "vitest";
import type { ToolkitEvent } from "../../src/core/event.ts";
import type { Tool } from "../../src/core/item.ts";
import type { Source, SourceChange } from "../../src/core/source.ts";
import { defineTool } from "../../src/core/tool.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { verifies } from "../support/verifies.ts";

const silent = () => undefined;
const logger = { debug: silent, info: silent, warn: silent, error: silent };
const made = new Map<string, Tool>();

/** The same object each time: a source whose items never change gives those it has. */
function tool(name: string, version: number): Tool {
  const key = `${name} ${version}`;
  const known = made.get(key) ?? defineTool({ name, description: `Version ${version}.`, run: () => version });
  made.set(key, known);
  return known;
}

/** A toolkit with one source, whose items are replaced at will. */
class Side {
  readonly toolkit = new Toolkit({ logger });
  #tools: readonly Tool[] = [];
  #listener: (change: SourceChange) => void = silent;

  constructor(immutable: boolean) {
    const source: Source = {
      tool: async () => this.#tools,
      watch: (listener) => {
        this.#listener = listener;
        return silent;
      },
      immutable,
    };
    this.toolkit.addSource("some", source);
  }

  /** The event of the change, and the list after it. */
  async become(tools: readonly Tool[]) {
    this.#tools = tools;
    const emitted = new Promise<ToolkitEvent>((resolve) => {
      const stop = this.toolkit.on("toolListChanged", (event) => {
        stop();
        resolve(event);
      });
    });
    this.#listener({ kind: "tool" });
    const { added, removed, changed } = (await emitted) as ToolkitEvent & { readonly type: "toolListChanged" };
    const { entries, failures } = await this.toolkit.list();
    const list = entries.map(({ ref, item }) => `${ref} ${item.description}`);
    const lists = [added, removed, changed].map((refs) => refs.toSorted());
    return { lists, list, failures: failures.map(({ error }) => error.message) };
  }
}

describe("a source whose items never change", () => {
  verifies("E3", "has the same lists, events and failures as one that is compared as a whole", async () => {
    const pieces = fc.record({ name: fc.constantFrom("a", "b", "c", "d", "e"), version: fc.nat(2) });
    const steps = fc.array(fc.array(pieces, { maxLength: 8 }), { minLength: 2, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(steps, async (lists) => {
        const sides = [new Side(true), new Side(false)];
        await Promise.all(sides.map(({ toolkit }) => toolkit.start()));
        for (const [step, list] of lists.entries()) {
          // Another each time, so that each step has an event.
          const tools = [...list.map(({ name, version }) => tool(name, version)), tool(`step${step}`, 0)];
          const [one, other] = await Promise.all(sides.map((side) => side.become(tools)));
          expect(one).toEqual(other);
        }
        await Promise.all(sides.map(({ toolkit }) => toolkit.close()));
      }),
      { numRuns: 25 },
    );
  });
});
