import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CallContext, Prompt } from "../../src/core/item.ts";
import { parsePrompt } from "../../src/prompt/parse-prompt.ts";
import { readPrompts } from "../../src/prompt/read-prompts.ts";
import { loadDotprompt } from "./dotprompt.ts";
import { type Bench, type Comparison, measure, measureOnce, type Timing } from "./harness.ts";

const count = 1_000;

/** Prompts of 2 KB: a folder of a thousand read and checked, one rendered again and again, and one from its text to its first rendering. */
export const bench: Bench = {
  name: "prompts",
  targets: {
    load: { of: "ratio", must: 0.25, reach: 0.1 },
    warm: { of: "ratio", must: 0.4 },
    cold: { of: "ratio", must: 1 },
  },
  async run() {
    const folder = mkdtempSync(join(tmpdir(), "toolweave-bench-"));
    try {
      return await compare(folder);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};

const body = `You are given a text and write about it.

${"Take care of the details, and write in full sentences that a reader understands.\n".repeat(20)}
Write for {{audience}}{{#if tone}} in a {{tone}} tone{{/if}}.

{{#each points}}
- {{this}}
{{/each}}

Text:
{{text}}
`;
const schema = [
  "type: object",
  "properties:",
  "  text: { type: string, description: What to write about. }",
  "  audience: { type: string, default: everybody }",
  "  tone: { type: string, enum: [calm, lively, dry] }",
  "  points:",
  "    type: array",
  "    items: { type: string }",
  "required: [text]",
];
const common = (index: number) =>
  `description: Writes about a text for an audience, in a tone, point by point (${index}).`;
const indented = (by: number) => schema.map((line) => " ".repeat(by) + line).join("\n");
/** The same prompt in the form of each. */
const ourText = (index: number) =>
  `---\ntitle: Write about a text\n${common(index)}\nprovider: openai\nmodel: gpt-5\ninput:\n${indented(2)}\n---\n${body}`;
const peerText = (index: number) =>
  `---\ntitle: Write about a text\n${common(index)}\nmodel: openai/gpt-5\ninput:\n  schema:\n${indented(4)}\n---\n${body}`;

const input = { text: "Many threads make one cloth.", audience: "weavers", tone: "calm", points: ["warp", "weft"] };
const context = { attachments: [] } as Partial<CallContext> as CallContext;
const render = (prompt: Prompt) => prompt.render(input, context);

async function compare(folder: string): Promise<readonly Comparison[]> {
  const makePeer = await loadDotprompt();
  for (let index = 0; index < count; index += 1) {
    writeFileSync(join(folder, `p${index}.md`), ourText(index));
    writeFileSync(join(folder, `p${index}.peer`), peerText(index));
  }
  const done = () => undefined;
  const load = async () => {
    await readPrompts(folder);
    return done;
  };
  const warm = parsePrompt(ourText(0), { filename: "warm.md" });
  let text = 0;
  const cold = () => render(parsePrompt(ourText(text++), { filename: "cold.md" }));
  if (makePeer === undefined) {
    const timings = { ...(await measureOnce({ load }, 25)), ...(await measure({ warm: () => render(warm), cold })) };
    return [row(rows[0], timings.load), row(rows[1], timings.warm), row(rows[2], timings.cold)];
  }
  const peerLoad = async () => {
    const peer = makePeer();
    for (const name of readdirSync(folder)) {
      if (name.endsWith(".peer")) await peer.compile(readFileSync(join(folder, name), "utf8"));
    }
    return done;
  };
  const peerWarm = await makePeer().compile(peerText(0));
  const peerCold = async () => (await makePeer().compile(peerText(text++)))({ input });
  const loads = await measureOnce({ ours: load, peer: peerLoad }, 25);
  const warms = await measure({ ours: () => render(warm), peer: () => peerWarm({ input }) });
  const colds = await measure({ ours: cold, peer: peerCold });
  return [loads, warms, colds].map((timings, at) => row(rows[at] ?? rows[0], timings.ours, timings.peer));
}

/** Each with its target. */
const rows = [
  [`load ${count.toLocaleString("en")}`, "load"],
  ["warm render", "warm"],
  ["cold: parse, compile, render", "cold"],
] as const;

function row([name, target]: (typeof rows)[number], ours: Timing, peer?: Timing): Comparison {
  return { name, target, ours, ...(peer === undefined ? {} : { peer: { name: "dotprompt", timing: peer } }) };
}
