import { messageOf } from "../core/error.ts";
import { assertItemName } from "../core/identifier.ts";
import type { Tool } from "../core/item.ts";
import { didYouMean, nearest } from "../lib/similar.ts";
import type { ManifestExecutor, ManifestKind, ManifestRun, ManifestTool } from "./manifest-port.ts";
import { knownToolFields, modeFields, type ToolSpec, toolSpec } from "./manifest-schema.ts";
import { modes } from "./modes.ts";
import { noteNeeds } from "./tool-needs.ts";
import { schemaAt } from "./tool-schemas.ts";

/** `kind: Tool`: one manifest, one tool of some mode. */
export function toolKind(executors: Readonly<Record<string, ManifestExecutor>>): ManifestKind<typeof toolSpec> {
  return {
    spec: toolSpec,
    async tools(manifest, context) {
      const tool = named(manifest);
      const mode = modeOf(tool.spec);
      const execute = Object.hasOwn(executors, mode) ? executors[mode] : undefined;
      if (execute === undefined) throw unknownMode(tool, mode, Object.keys(executors));
      if (builtinModes.has(mode)) assertKnownFields(tool);
      return [toolOf(tool, await execute(tool, context))];
    },
  };
}

/** Their fields are all known; other modes may read more. */
const builtinModes: ReadonlySet<string> = new Set([...Object.keys(modes), ...Object.keys(modeFields)]);

/** The mode that is written; else that of the one field that says how it works; else `mock`, as PromptKit has it. */
export function modeOf(spec: Readonly<Partial<Record<keyof ToolSpec, unknown>>>): string {
  if (typeof spec.mode === "string" && spec.mode !== "") return spec.mode;
  const [mode] = Object.entries(modeFields).filter(([, field]) => spec[field] !== undefined);
  return mode?.[0] ?? "mock";
}

function named(manifest: Parameters<ManifestKind<typeof toolSpec>["tools"]>[0]): ManifestTool {
  const { name, spec } = manifest;
  const path = spec.name === undefined || spec.name === "" ? ["metadata", "name"] : ["spec", "name"];
  if (name === undefined) throw manifest.problem(path, "The tool has no name.", "Write metadata.name or spec.name.");
  try {
    assertItemName(name, "tool");
  } catch (cause) {
    throw manifest.problem(path, messageOf(cause), "", { cause });
  }
  return { ...manifest, name };
}

function unknownMode({ problem, spec, name }: ManifestTool, mode: string, modes: readonly string[]) {
  const hint = didYouMean(nearest(mode, modes), `Write one of ${modes.join(", ")}, or add it with executors.`);
  const path = spec.mode === undefined ? ["spec"] : ["spec", "mode"];
  return problem(path, `The tool ${name} has the mode ${JSON.stringify(mode)}, which nothing executes.`, hint);
}

/** A field that no mode reads would have no effect, and may be one that was to restrict something. */
function assertKnownFields({ problem, spec }: ManifestTool): void {
  const unknown = Object.keys(spec).find((field) => !knownToolFields.includes(field));
  if (unknown === undefined) return;
  const hint = didYouMean(nearest(unknown, knownToolFields), `There are ${knownToolFields.join(", ")}.`);
  throw problem(["spec", unknown], `There is no field ${JSON.stringify(unknown)} in spec.`, hint);
}

function toolOf(manifest: ManifestTool, made: ManifestRun): Tool {
  const { name, spec } = manifest;
  const { title, description, annotations, timeout_ms = 0, labels } = spec;
  const tool: Tool = {
    kind: "tool",
    name,
    title,
    description,
    input: schemaAt(manifest, "input") ?? made.input,
    output: schemaAt(manifest, "output") ?? made.output,
    annotations: annotations === undefined ? made.annotations : { ...made.annotations, ...annotations },
    options: {
      ...made.options,
      ...(timeout_ms > 0 ? { timeoutMs: timeout_ms } : {}),
      ...(labels === undefined ? {} : { labels }),
    },
    run: (input: Readonly<Record<string, unknown>>, context) => made.run(input, context),
  };
  noteNeeds(tool, made, manifest);
  return tool;
}
