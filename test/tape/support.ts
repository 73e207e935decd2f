import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { agent } from "../../src/agent/index.ts";
import { defineTool, type Item, type Prompt, resource, Toolkit, type ToolkitOptions } from "../../src/index.ts";
import { recordRun, type TapeLine } from "../../src/tape/index.ts";
import { parseTape } from "../../src/tape/read-tape.ts";
import type { Tape } from "../../src/tape/tape-format.ts";
import { type Script, scriptedModel } from "../../src/testing/index.ts";

/** A prompt that may call tools, and puts its input into its message. */
export function planPrompt(text = "Plan a day in", fields: Partial<Prompt> = {}): Prompt<{ readonly city: string }> {
  return {
    kind: "prompt",
    name: "plan",
    system: "Be brief.",
    tools: ["*"],
    render: async (input) => ({
      system: "Be brief.",
      messages: [{ role: "user", content: [resource.text("q", `${text} ${JSON.stringify(input)}.`)] }],
    }),
    ...fields,
  };
}

/** A tool that says the weather, and counts its runs. */
export function weatherTool() {
  const ran: unknown[] = [];
  const tool = defineTool<{ city: string }>({
    name: "weather",
    description: "Says the weather.",
    input: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    run: ({ city }) => {
      ran.push(city);
      return { city, sky: "blue" };
    },
  });
  return { tool, ran };
}

/** A script that asks for the weather of two cities at once, and then answers. */
export const twoCities: Script = [
  {
    toolCalls: [
      { name: "weather", input: { city: "Bern" } },
      { name: "weather", input: { city: "Rome" } },
    ],
  },
  "It is sunny.",
];

/** The toolkit of a test, with a model that follows a script. */
export function scripted(script: Script, items: readonly Item[], options: ToolkitOptions = {}): Toolkit {
  return new Toolkit({ items: [...items], delegate: agent({ defaultModel: scriptedModel(script) }), ...options });
}

/** The tape of one run in memory. */
export async function tapeOf(toolkit: Toolkit, run: () => unknown): Promise<Tape> {
  const lines: TapeLine[] = [];
  await recordRun(toolkit, { to: (line) => void lines.push(line) }, async () => {
    await Promise.resolve(run()).catch(() => undefined);
  });
  return parseTape(lines);
}

/** A folder of its own for each test. */
export function tapeFolder(): { readonly path: (name: string) => string } {
  const at = { path: "" };
  beforeEach(async () => {
    at.path = await mkdtemp(join(tmpdir(), "toolweave-tape-"));
  });
  afterEach(() => rm(at.path, { recursive: true, force: true }));
  return { path: (name) => join(at.path, name) };
}
