import { type Entry, type Kind, kinds, type ListFailure } from "../../core/item.ts";
import { visible } from "../../lib/visible-text.ts";
import { shownMessage } from "../command-log.ts";
import { exitCodes } from "../exit-code.ts";
import { schemasOf } from "../item-schemas.ts";
import type { Terminal } from "../terminal.ts";
import { type GlobalOptions, openWorkspace, type Workspace, withoutNextAttempt } from "../workspace.ts";

/** The options of `list`. */
export interface ListCommandOptions extends GlobalOptions {
  readonly kind?: Kind | undefined;
  readonly namespace?: string | undefined;
  readonly schema?: boolean | undefined;
}

/** Prints what there is. @returns the exit code: `unreachable` where nothing could be listed */
export async function list(
  pattern: string | undefined,
  options: ListCommandOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const kind = options.kind === undefined ? kinds : [options.kind];
  await using workspace = await openWorkspace(options, terminal, { signal });
  const page = await workspace.toolkit.list({ kind, namespace: options.namespace, session: workspace.session, signal });
  const wanted = pattern?.toLowerCase();
  const known = page.entries.filter((entry) => !isOfCommand(entry));
  const entries = known.filter((entry) => wanted === undefined || textOf(entry).toLowerCase().includes(wanted));
  if (options.json === true) {
    const failures = page.failures.map(({ namespace, error, since }) => ({ namespace, error, since }));
    terminal.printJson({ entries: entries.map((entry) => jsonOf(entry)), failures });
  } else {
    if (entries.length > 0) terminal.print(tableOf(entries, terminal, options.schema === true));
    else if (known.length > 0 || page.failures.length === 0)
      terminal.note(
        known.length === 0
          ? nothingText(options.namespace, workspace)
          : `Nothing has ${JSON.stringify(pattern)} in its name or description; there are ${known.length} entries.`,
      );
    for (const failure of page.failures) terminal.note(failureText(failure), "yellow");
    if (workspace.config?.written.manifests !== undefined) {
      const { missingTargets } = await import("../../manifest/tool-needs.ts");
      const items = entries.map(({ item }) => item);
      for (const { message } of await missingTargets(items, { toolbox: workspace.toolkit, signal }))
        terminal.note(visible(message), "yellow");
    }
  }
  return known.length === 0 && page.failures.length > 0 ? exitCodes.unreachable : exitCodes.ok;
}

/** The template of long results, which the agent of the command adds: no configuration names it, and nothing is connected for it. */
function isOfCommand({ kind, ref }: Entry): boolean {
  return kind === "template" && ref.endsWith("#builtin");
}

/** An empty list of a namespace that there is not has another reason than that of an empty server. */
function nothingText(namespace: string | undefined, { toolkit }: Workspace): string {
  if (namespace === undefined) return "There is nothing.";
  return `There is nothing in ${namespace}. The servers are ${toolkit.connections.map((each) => each.namespace).join(", ") || "none"}.`;
}

function textOf({ ref, item }: Entry): string {
  return `${ref} ${item.title ?? ""} ${item.description ?? ""}`;
}

function failureText({ namespace, error }: ListFailure): string {
  const message = withoutNextAttempt(error.message);
  const isNamed = message.startsWith(`\`${namespace}\``);
  return shownMessage(isNamed ? message : message.replace(/^/gm, `${namespace}: `), error);
}

function tableOf(entries: readonly Entry[], terminal: Terminal, withSchemas: boolean): string {
  if (!withSchemas)
    return terminal.table(
      ["KIND", "NAME", "DESCRIPTION"],
      entries.map((entry) => [entry.kind, entry.ref, firstLine(entry)]),
    );
  return entries
    .map((entry) => {
      const { item } = entry;
      const has = item.kind === "tool" || item.kind === "prompt" ? schemasOf(item) : {};
      const schemas = Object.entries(has).filter(([, schema]) => schema !== undefined);
      const lines = schemas.map(([name, schema]) => `  ${name} ${JSON.stringify(schema)}`);
      return [`${terminal.style("bold", visible(entry.ref))} ${visible(firstLine(entry))}`, ...lines.map(visible)].join(
        "\n",
      );
    })
    .join("\n");
}

function firstLine({ item }: Entry): string {
  const text = item.description ?? item.title ?? "";
  return text.trim().split("\n", 1)[0] ?? "";
}

/** An entry as plain JSON. */
function jsonOf({ kind, namespace, name, ref, stale, item }: Entry) {
  const { title, description } = item;
  const described = { kind, namespace, name, ref, title, description, stale };
  if (item.kind === "resource") return { ...described, uri: item.uri };
  if (item.kind === "template") return { ...described, uri: item.uriTemplate };
  const annotations = item.kind === "tool" ? item.annotations : undefined;
  return { ...described, annotations, ...schemasOf(item) };
}
