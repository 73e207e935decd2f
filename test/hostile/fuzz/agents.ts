import { a2a } from "../../../src/a2a/index.ts";
import type { ConnectorHost } from "../../../src/core/connector.ts";
import { testContext } from "../../../src/testing/index.ts";
import type { HostileArea } from "./area.ts";

const address = "https://agent.example/card.json";
const host: ConnectorHost = {
  changed: () => {},
  log: () => {},
  waits: () => false,
  elicit: async () => ({ action: "accept", content: { answer: "Thun" } }),
};

/** Agents whose cards, events and tasks are anything: skills and results, or an error in words. */
export const agentFuzz: HostileArea = {
  name: "agents",
  *cases(random) {
    const below = (end: number) => Math.floor(random() * end);
    const pick = <T>(list: readonly T[]) => list[below(list.length)] as T;
    const text = () =>
      pick(["", "t", "c", "x".repeat(2 ** below(18)), "\u0000\u202e\ud800", "__proto__", "https://[::1]"]);
    const odd = (): unknown =>
      pick<() => unknown>([
        text,
        () => null,
        () => -1,
        () => 1e308,
        () => true,
        () => ({}),
        () => [],
        () => Array.from({ length: 2 ** below(14) }, () => ({ id: "a", text: "a" })),
        () => Object.fromEntries(Array.from({ length: 2 ** below(12) }, (_, index) => [`k${index}`, index])),
      ])();
    /** The value with some of its members as something else, at any depth. */
    const broken = (value: unknown, chance: number): unknown => {
      if (random() < chance) return odd();
      if (Array.isArray(value)) return value.map((each) => broken(each, chance));
      if (typeof value !== "object" || value === null) return value;
      const entries = Object.entries(value).map(([name, each]) => [name, broken(each, chance)]);
      return Object.fromEntries(entries);
    };
    const nested = () => pick(["[", '{"a":']).repeat(2 ** below(18));
    const json = (value: unknown, chance: number) =>
      random() < 0.01 ? nested() : (JSON.stringify(broken(value, chance)) ?? "");
    for (;;) {
      const card = random() < 0.5 ? json(goodCard, 0) : json(pick([goodCard, oldCard]), 0.05);
      const chance = pick([0, 0.02, 0.2]);
      const answers = Array.from({ length: 1 + below(20) }, () => json(pick(updates), chance));
      const isStream = random() < 0.7;
      yield {
        describe: `${isStream ? "a stream" : "answers"} ${answers.join(" ").slice(0, 200)} of ${card.slice(0, 200)}`,
        run: () => attack({ card, answers, isStream }),
      };
    }
  },
};

interface Attack {
  readonly card: string;
  readonly answers: readonly string[];
  readonly isStream: boolean;
}

async function attack({ card, answers, isStream }: Attack): Promise<void> {
  let next = 0;
  const fake: typeof fetch = async (input, init) => {
    if (String(input) === address) return new Response(card, { headers: { "content-type": "application/json" } });
    const { id } = JSON.parse(String(init?.body)) as { readonly id: unknown };
    const wrapped = (result: string) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
    if (!isStream) {
      const answer = answers[next++ % answers.length] ?? "";
      return new Response(wrapped(answer), { headers: { "content-type": "application/json" } });
    }
    const events = answers.map((answer) => `data: ${wrapped(answer)}\n\n`);
    return new Response(events.join(""), { headers: { "content-type": "text/event-stream" } });
  };
  const signal = AbortSignal.timeout(1_000);
  const connector = a2a(address, { fetch: fake, resumeMs: 0, trust: "untrusted" });
  await using session = await connector.connect({ host, signal });
  const tools = (await session.list.tool?.({ signal }))?.items ?? [];
  const context = testContext({ signal });
  const [tool] = tools;
  if (tool === undefined) return;
  await session.call(tool.name, { message: "go" }, context).catch((error: unknown) => {
    // A task that works for ever is ended by its caller.
    if (error !== signal.reason) throw error;
  });
}

const skill = {
  id: "plan",
  name: "Plan",
  description: "Plans.",
  tags: ["a"],
  examples: ["a"],
  outputModes: ["text/plain"],
};
const common = {
  name: "Agent",
  description: "Does things.",
  version: "1",
  skills: [skill],
  capabilities: { streaming: true },
};
const modes = { defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"] };
const goodCard = {
  ...common,
  ...modes,
  supportedInterfaces: [{ url: "https://agent.example/rpc", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
};
const oldCard = {
  ...common,
  ...modes,
  url: "https://agent.example/rpc",
  preferredTransport: "JSONRPC",
  protocolVersion: "0.3.0",
};
const message = {
  messageId: "m",
  role: "ROLE_AGENT",
  taskId: "t",
  contextId: "c",
  parts: [{ text: "https://x.example/a" }, { data: { url: "x" } }],
};
const artifact = { artifactId: "a", name: "a", parts: [{ text: "a" }, { raw: "AAAA" }, { url: "https://x.example" }] };
const states = [
  "SUBMITTED",
  "WORKING",
  "COMPLETED",
  "FAILED",
  "CANCELED",
  "INPUT_REQUIRED",
  "REJECTED",
  "AUTH_REQUIRED",
];
const updates: readonly object[] = [
  { message },
  { artifactUpdate: { taskId: "t", contextId: "c", artifact, append: true } },
  { artifactUpdate: { taskId: "u", contextId: "c", artifact } },
  ...states.flatMap((each) => {
    const status = { state: `TASK_STATE_${each}`, message, timestamp: "2026-01-01T00:00:00Z" };
    const task = { id: "t", contextId: "c", status, artifacts: [artifact] };
    return [{ task }, { statusUpdate: { taskId: "t", contextId: "c", status } }, task];
  }),
];
