import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ModelProvider } from "../agent/index.ts";
import { knownProviders } from "../agent/model/providers.ts";
import type { Connector, ToolDescriptor } from "../core/connector.ts";
import type { Item, Prompt, Tool } from "../core/item.ts";
import type { Source } from "../core/source.ts";
import { defineTool } from "../core/tool.ts";
import { present } from "../lib/value.ts";
import { defineResource } from "../resource/define.ts";
import { resource } from "../resource/resource-factory.ts";
import type { RecordedRun } from "./recorded-runs.ts";
import type { TapeLine } from "./tape-format.ts";

type ItemLine = TapeLine<"item">;

/** Nothing of a stand-in runs: its calls are answered from the tape. */
const neverRuns = (): never => {
  throw new TypeError("The tape answers in place of this.");
};

/** A stand-in for a builtin that is on a tape. @param run - of a prompt: its first run */
export function standInItem(line: ItemLine, run: RecordedRun | undefined): Item {
  const { kind, name, title, description, input, output, annotations, options, ref, mediaType } = line;
  const described = present({ name, title, description });
  if (kind === "tool")
    return defineTool({ ...described, ...present({ input, output, annotations, options }), run: neverRuns }) as Tool;
  if (kind === "prompt") return standInPrompt(line, run);
  const uri = ref.slice(0, ref.lastIndexOf("#"));
  return defineResource({ ...described, name, uri, mediaType, bytes: async () => neverRuns() });
}

/** A prompt whose messages are those of the tape: the requests of its runs are not compared. */
function standInPrompt({ name, title, description, input, output }: ItemLine, run: RecordedRun | undefined): Prompt {
  const [first] = run?.turns ?? [];
  return {
    kind: "prompt",
    name,
    ...present({ title, description, input, output }),
    ...present({ tools: first?.offered, model: first && `${first.provider}/${first.model}` }),
    render: async () => ({ messages: [{ role: "user", content: [resource.text("tape", "(as on the tape)")] }] }),
  };
}

/** A namespace with prompts that are made from the tape. */
export function standInSource(lines: readonly TapeLine<"item">[], runs: readonly RecordedRun[]): Source {
  const made = lines.map((line) =>
    standInItem(
      line,
      runs.find(({ ref }) => ref === line.ref),
    ),
  );
  const of =
    <K extends Item["kind"]>(kind: K) =>
    () =>
      made.filter((item) => item.kind === kind) as never;
  return { tool: of("tool"), prompt: of("prompt"), resource: of("resource") };
}

/** A connector with the items of a namespace that are on a tape. It connects at once, and reaches nothing. */
export function standInConnector(namespace: string, lines: readonly ItemLine[]): Connector {
  const ended = Promise.withResolvers<undefined>();
  const tools = lines.filter(({ kind }) => kind === "tool");
  const resources = lines.filter(({ kind }) => kind === "resource");
  const list =
    <T>(items: readonly T[]) =>
    async () => ({ items, warnings: [], isParsed: false });
  return {
    label: `the tape of ${namespace}`,
    connect: async () => ({
      server: { name: namespace, version: "tape" } as never,
      transport: "tape",
      closed: ended.promise,
      announces: new Set(["tool", "prompt", "resource", "template"] as const),
      list: {
        tool: list(
          tools.map(
            ({ name, title, description, input, output, annotations }) =>
              present({ name, title, description, input, output, annotations }) as ToolDescriptor,
          ),
        ),
        resource: list(
          resources.map(({ name, title, description, mediaType, ref }) =>
            present({ name, title, description, mediaType, uri: ref.slice(0, ref.lastIndexOf("#")) }),
          ),
        ),
      },
      call: async () => neverRuns(),
      read: async () => neverRuns(),
      [Symbol.asyncDispose]: async () => ended.resolve(undefined),
    }),
  };
}

/**
 * Providers whose models are never asked: the tape answers. Every provider that a prompt may name is there, so that a prompt with another model
 * than that of the tape is a difference and no error of a missing key.
 */
export function standInProviders(runs: readonly RecordedRun[]): Readonly<Record<string, ModelProvider>> {
  const turns = runs.flatMap((run) => run.turns);
  const names = new Set([...knownProviders, ...turns.map(({ provider }) => provider)]);
  return Object.fromEntries([...names].map((name) => [name, { languageModel: (id) => standInModel(name, id, turns) }]));
}

function standInModel(provider: string, modelId: string, turns: readonly TapeLine<"turn">[]): LanguageModelV4 {
  // Options for thinking depend on how the provider names itself.
  const api = turns.find((turn) => turn.provider === provider)?.api ?? provider;
  const ask = () => Promise.reject(new TypeError("The tape answers in place of this model."));
  return { specificationVersion: "v4", provider: api, modelId, supportedUrls: {}, doGenerate: ask, doStream: ask };
}
