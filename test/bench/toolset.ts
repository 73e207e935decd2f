import { toAnthropic } from "../../src/adapters/anthropic.ts";
import { toGoogle } from "../../src/adapters/google.ts";
import { toOpenAI } from "../../src/adapters/openai.ts";
import { defineTool } from "../../src/core/tool.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import type { Toolset } from "../../src/toolset/toolset.ts";
import { type Bench, type Comparison, measureOnce } from "./harness.ts";
import { message, messageSchema } from "./server/tools.ts";

const tools = 1_000;
const used = 10;
let made = 0;

/** The form of the tools for a provider. */
const providers: Readonly<Record<string, (toolset: Toolset) => unknown>> = {
  OpenAI: (toolset) => toOpenAI(toolset, { api: "chat" }).tools,
  Anthropic: (toolset) => toAnthropic(toolset).tools,
  Gemini: (toolset) => toGoogle(toolset).tools,
};
const tellings: typeof providers = {
  definitions: (toolset) => toolset.definitions(),
  ...providers,
  "tokens and a budget": (toolset) => toolset.tokens(),
};

/** A second toolset over many tools that did not change, and the calls of a few of them, against the first toolset. */
export const bench: Bench = {
  name: "toolset",
  targets: { second: { of: "ratio", must: 0.1 } },
  async run() {
    const comparisons: Comparison[] = [];
    for (const [name, tell] of Object.entries(tellings)) comparisons.push(await again(name, tell));
    return [...comparisons, await calls()];
  },
};

async function again(name: string, tell: (toolset: Toolset) => unknown): Promise<Comparison> {
  const options = name.includes("budget") ? { maxTokens: 5_000 } : {};
  const use = async (toolkit: Toolkit) => tell(await toolkit.toolset(options));
  const { first, second } = await measureOnce({ first: withToolkits(use), second: withToolkits(use, use) }, 20);
  // Definitions alone are what the schemas already are: there is nothing in them to be spared.
  const target = Object.hasOwn(providers, name) ? { target: "second" } : {};
  return { name: `${name}, again`, ...target, ours: second, peer: { name: "the first time", timing: first } };
}

/** The cost of a run in which few tools are called. */
async function calls(): Promise<Comparison> {
  const use = async (toolkit: Toolkit) => {
    const toolset = await toolkit.toolset();
    const run = toolset.begin();
    const openai = toOpenAI(toolset, { api: "chat", run });
    void openai.tools;
    const called = Array.from({ length: used }, (_, at) => ({
      id: `${at}`,
      function: { name: `tool_${at * 97}`, arguments: JSON.stringify(message) },
    }));
    const results = await openai.results(await run.execute(openai.calls({ tool_calls: called })));
    if (results.length !== used) throw new Error("A call was not answered.");
  };
  const { first, second } = await measureOnce({ first: withToolkits(use), second: withToolkits(use, use) }, 20);
  return {
    name: `${used} of ${tools} tools called, again`,
    ours: second,
    peer: { name: "the first time", timing: first },
  };
}

/** The work that is done beforehand is not measured. */
function withToolkits(use: (toolkit: Toolkit) => Promise<unknown>, before?: (toolkit: Toolkit) => Promise<unknown>) {
  const prepare = async () => {
    const toolkit = filled();
    await before?.(toolkit);
    return toolkit;
  };
  let next = prepare();
  return async () => {
    const toolkit = await next;
    await use(toolkit);
    return async () => {
      await toolkit.close();
      next = prepare();
      await next;
    };
  };
}

/** Equal schemas would share their projections. */
function filled(): Toolkit {
  made += 1;
  const named = Array.from({ length: tools }, (_, at) => `tool_${at}`);
  const toolkit = new Toolkit();
  toolkit.add(
    ...named.map((name, at) =>
      defineTool({
        name,
        description: `Does what number ${at} does.`,
        input: { ...messageSchema, title: `Schema ${at} of ${made}` },
        run: () => at,
      }),
    ),
  );
  return toolkit;
}
