import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Entry } from "../../core/item.ts";
import { stripInvisible } from "../../lib/visible-text.ts";
import type { Toolkit } from "../../toolkit/toolkit.ts";
import { exitCodes } from "../exit-code.ts";
import { schemasOf } from "../item-schemas.ts";
import type { Terminal } from "../terminal.ts";
import { commentOf, propertyName, typeOf } from "../type-text.ts";
import { type GlobalOptions, openWorkspace } from "../workspace.ts";

/** The options of `types`. */
export interface TypesCommandOptions extends GlobalOptions {
  readonly output?: string | undefined;
  readonly watch?: boolean | undefined;
}

/** Writes the types of the inputs and results of everything that can be called. @returns the exit code */
export async function types(options: TypesCommandOptions, terminal: Terminal, signal: AbortSignal): Promise<number> {
  await using workspace = await openWorkspace(options, terminal, { watch: options.watch, signal });
  const { toolkit, session } = workspace;
  const file = options.output === undefined ? undefined : resolve(terminal.streams.cwd, options.output);
  const write = async () => {
    const { entries, failures } = await toolkit.list({ kind: ["tool", "prompt"], session, signal });
    for (const { namespace, error } of failures) terminal.note(`${namespace}: ${error.message}`, "yellow");
    const text = moduleOf(entries);
    if (file === undefined) terminal.print(text);
    else if ((await readFile(file, "utf8").catch(() => undefined)) !== text) {
      await writeFile(file, text);
      terminal.note(`Wrote the types of ${entries.length} tools and prompts to ${file}.`);
    }
    return failures.length === 0 ? exitCodes.ok : exitCodes.unreachable;
  };
  const code = await write();
  if (options.watch !== true) return code;
  await followed(toolkit, write, signal);
  return exitCodes.ok;
}

/** Writes again after each change, one after the other, until the signal aborts. */
async function followed(toolkit: Toolkit, write: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  const { promise, resolve: end, reject } = Promise.withResolvers<void>();
  let last: Promise<unknown> = Promise.resolve();
  const again = () => {
    last = last.then(write).catch((error: unknown) => (signal.aborted ? end() : reject(error)));
  };
  toolkit.on("toolListChanged", again);
  toolkit.on("promptListChanged", again);
  signal.addEventListener("abort", () => end(), { once: true });
  if (signal.aborted) end();
  await promise;
}

/** The module: one interface of what goes in, and one of what comes out, by ref. */
function moduleOf(entries: readonly Entry<"tool" | "prompt">[]): string {
  const members = entries.map(({ ref, item }) => {
    const { input, output } = schemasOf(item);
    const comment = commentOf(item.description ?? "", "  ");
    const parts = [input === undefined ? "Record<string, never>" : typeOf(input), typeOf(output)].map((type) =>
      type.replaceAll("\n", "\n    "),
    );
    return `${comment}  ${propertyName(ref)}: {\n    input: ${parts[0]};\n    output: ${parts[1]};\n  };\n`;
  });
  return stripInvisible(`// Written by \`toolweave types\`. Do not edit it: run the command again.

/** The input and the result of every tool and prompt, by ref. */
export interface Catalog {
${members.join("")}}

/** The input of a tool or prompt. */
export type InputOf<Ref extends keyof Catalog> = Catalog[Ref]["input"];

/** The result of a tool or prompt, as \`content.json()\` gives it. */
export type OutputOf<Ref extends keyof Catalog> = Catalog[Ref]["output"];
`);
}
