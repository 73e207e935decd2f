import { readdir } from "node:fs/promises";
import { resolve } from "node:path";
import { messageOf, type ToolkitError } from "../core/error.ts";
import { assertNamespace } from "../core/identifier.ts";
import type { Tool } from "../core/item.ts";
import { type ItemOrigin, withOrigin } from "../core/item-origin.ts";
import { isInside, readBounded, realpathInside } from "../lib/bounded-file.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { didYouMean, nearest } from "../lib/similar.ts";
import type { FieldPath } from "../lib/value.ts";
import { type Environment, expandVariables, VariableError } from "../lib/variables.ts";
import { kindsWith } from "./kinds.ts";
import type { ManifestContext, ManifestKind, ParsedManifest } from "./manifest-port.ts";
import { checkedSpec, type ManifestText, parseManifest } from "./parse-manifest.ts";
import { modeOf } from "./tool-kind.ts";

/** The things that modes are given. */
export interface LoaderParts extends Pick<ManifestContext, "sandboxes" | "clients"> {
  readonly env: Environment;
  /** Default: that of the machine. */
  readonly clock?: Clock | undefined;
  readonly executors: Parameters<typeof kindsWith>[0];
}

/** One version of a manifest, loaded. */
export interface LoadedManifest {
  readonly namespace: string | undefined;
  readonly tools: readonly Tool[];
  /** The reasons why some are missing. */
  readonly problems: readonly Error[];
  /** The absolute paths of the files beside it that were read. */
  readonly files: ReadonlySet<string>;
  /** Ends what its tools keep running. */
  close(): Promise<void>;
}

/** Where a manifest came from. */
export interface ManifestOrigin extends ManifestText {
  readonly folder: string | undefined;
}

/** Makes tools of manifests. */
export class ManifestLoader {
  readonly #parts: LoaderParts;
  readonly #kinds: Readonly<Record<string, ManifestKind>>;

  constructor(parts: LoaderParts) {
    this.#parts = parts;
    this.#kinds = kindsWith(parts.executors);
  }

  /** @throws ToolkitError `INVALID_MANIFEST`; the reason of an aborted signal */
  async load(written: ManifestOrigin, signal: AbortSignal): Promise<LoadedManifest> {
    const parsed = parseManifest(written);
    const kind = Object.hasOwn(this.#kinds, parsed.kind) ? this.#kinds[parsed.kind] : undefined;
    if (kind === undefined) throw this.#unknownKind(parsed);
    assertNamespaceOf(parsed);
    const version = new ManifestVersion(written.folder, parsed, signal, this.#parts);
    try {
      const tools = await kind.tools(checkedSpec(parsed, kind.spec), version);
      signal.throwIfAborted();
      const origin = originOf(parsed);
      for (const tool of tools) withOrigin(tool, origin);
      const { files, problems } = version;
      return { namespace: parsed.namespace, tools, problems, files, close: () => version.close() };
    } catch (error) {
      await version.close();
      throw error;
    }
  }

  #unknownKind({ problem, kind }: ParsedManifest): ToolkitError {
    const kinds = Object.keys(this.#kinds);
    const hint = didYouMean(nearest(kind, kinds), `There are ${kinds.join(" and ")}.`);
    return problem(["kind"], `The kind ${JSON.stringify(kind)} is not known.`, hint);
  }
}

function originOf({ kind, spec, name, file, placeOf }: ParsedManifest): ItemOrigin {
  const named = name !== undefined && spec.name === name ? ["spec", "name"] : ["metadata", "name"];
  return {
    what: "manifest",
    place: file === undefined ? undefined : placeOf(named),
    mode: kind === "Tool" ? modeOf(spec) : kind,
  };
}

function assertNamespaceOf({ namespace, problem }: ParsedManifest): void {
  if (namespace === undefined) return;
  try {
    assertNamespace(namespace);
  } catch (cause) {
    throw problem(["metadata", "namespace"], messageOf(cause), "", { cause });
  }
}

/** One version of a manifest, as those who make tools of it see it. */
class ManifestVersion implements ManifestContext {
  readonly env: Environment;
  readonly folder: string | undefined;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly sandboxes: ManifestContext["sandboxes"];
  readonly clients: ManifestContext["clients"];
  readonly files = new Set<string>();
  readonly problems: ToolkitError[] = [];
  readonly #manifest: ParsedManifest;
  readonly #closers: (() => Promise<void> | void)[] = [];

  constructor(folder: string | undefined, manifest: ParsedManifest, signal: AbortSignal, parts: LoaderParts) {
    this.folder = folder;
    this.#manifest = manifest;
    this.signal = signal;
    this.env = parts.env;
    this.clock = parts.clock ?? systemClock;
    this.sandboxes = parts.sandboxes;
    this.clients = parts.clients;
  }

  expand(path: FieldPath, text: string): string {
    try {
      return expandVariables(text, this.env, path.slice(path[0] === "spec" ? 1 : 0).join("."));
    } catch (cause) {
      if (!(cause instanceof VariableError)) throw cause;
      throw this.#manifest.problem(path, cause.message, "", { variable: cause.variable });
    }
  }

  async readFile(path: FieldPath, file: string, { maxBytes }: { readonly maxBytes: number }): Promise<Uint8Array> {
    const { at, folder } = this.#inside(path, file);
    this.files.add(at);
    try {
      // A folder on the way may be a link too.
      await realpathInside(at, folder);
      return await readBounded(at, { maxBytes, within: folder });
    } catch (cause) {
      this.signal.throwIfAborted();
      throw this.#unreadable(path, file, cause);
    }
  }

  async listFolder(path: FieldPath, name: string): Promise<readonly string[]> {
    const { at, folder } = this.#inside(path, name);
    this.files.add(at);
    try {
      await realpathInside(at, folder);
      const entries = await readdir(at, { withFileTypes: true });
      return entries.flatMap((entry) => (entry.isFile() ? [entry.name] : [])).sort();
    } catch (cause) {
      throw this.#unreadable(path, name, cause);
    }
  }

  resolveFolder(path: FieldPath, folder: string): string {
    return resolve(this.folder ?? ".", this.expand(path, folder));
  }

  report(problem: ToolkitError<"INVALID_MANIFEST">): void {
    this.problems.push(problem);
  }

  onClose(close: () => Promise<void> | void): void {
    this.#closers.push(close);
  }

  async close(): Promise<void> {
    const closers = this.#closers.splice(0);
    await Promise.allSettled(closers.map(async (close) => close()));
  }

  #inside(path: FieldPath, name: string): { readonly at: string; readonly folder: string } {
    const { folder } = this;
    if (folder === undefined) {
      const hint = "Write the content into the manifest, or put the manifest into a folder.";
      throw this.#manifest.problem(path, `${JSON.stringify(name)} is a file, and this manifest came from none.`, hint);
    }
    const root = resolve(folder);
    const at = resolve(root, name);
    if (isInside(at, root)) return { at, folder: root };
    const what = `${JSON.stringify(name)} is not in the folder of the manifest.`;
    throw this.#manifest.problem(path, what, "Put the file beside it.");
  }

  #unreadable(path: FieldPath, name: string, cause: unknown): ToolkitError {
    const what = `The file ${JSON.stringify(name)} cannot be read: ${messageOf(cause)}.`;
    return this.#manifest.problem(path, what, "", { cause });
  }
}
