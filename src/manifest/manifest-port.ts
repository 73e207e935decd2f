import type { z } from "zod";
import type { ToolkitError } from "../core/error.ts";
import type { CallContext, Tool } from "../core/item.ts";
import type { JsonSchema } from "../core/schema/types.ts";
import type { ToolAnnotations, ToolOptions } from "../core/tool-options.ts";
import type { Clock } from "../lib/clock.ts";
import type { FieldPath } from "../lib/value.ts";
import type { Environment } from "../lib/variables.ts";
import type { ToolSpec } from "./manifest-schema.ts";

// The ports of this folder: a mode makes a tool of one manifest, a kind makes many. Neither knows how manifests are found, read or followed.

/** A manifest that was parsed. */
export interface ParsedManifest<Spec = Readonly<Record<string, unknown>>> {
  readonly kind: string;
  /** `spec.name`, else `metadata.name`. */
  readonly name: string | undefined;
  /** `metadata.namespace`. */
  readonly namespace: string | undefined;
  /** Checked by the schema of its kind. */
  readonly spec: Spec;
  /** For messages; undefined for one that came from no file. */
  readonly file: string | undefined;
  /** The file with the line and column of a part, for people: `tools/weather.yaml:3:19`. */
  placeOf(path: FieldPath): string;
  /**
   * The error of a part.
   *
   * @param path - from the whole document: `["spec", "http", "url"]`
   * @param what - a sentence: what is wrong
   * @param hint - a sentence: what to write instead
   */
  problem(
    path: FieldPath,
    what: string,
    hint: string,
    options?: { readonly cause?: unknown; readonly variable?: string | undefined },
  ): ToolkitError<"INVALID_MANIFEST">;
}

/** The manifest of one tool. */
export type ManifestTool = ParsedManifest<ToolSpec> & { readonly name: string };

/** The things that modes and kinds need to make tools of a manifest. */
export interface ManifestContext {
  /** Where `${VAR}` is read from. */
  readonly env: Environment;
  /** The folder of the manifest, where relative paths begin; undefined for one that came from no file. */
  readonly folder: string | undefined;
  /** Aborts when this version of the manifest is replaced or removed before its tools are made. */
  readonly signal: AbortSignal;
  /** The clock of the toolkit. */
  readonly clock: Clock;
  /** Commands that run others, by the name that a manifest gives in `exec.sandbox`. */
  readonly sandboxes: Readonly<Record<string, readonly string[]>>;
  /** Handlers of tools of the mode `client`, by tool. */
  readonly clients: Readonly<Record<string, ClientHandler>>;
  /**
   * Puts variables in place of `${VAR}` and `${VAR:-default}`.
   *
   * @throws ToolkitError `INVALID_MANIFEST` at the path, naming the variable that is not set
   */
  expand(path: FieldPath, text: string): string;
  /**
   * Reads a file beside the manifest. A path, or a link, that leads out of the folder is refused. A change of the file makes the tools anew.
   *
   * @throws ToolkitError `INVALID_MANIFEST` at the path
   */
  readFile(path: FieldPath, file: string, limits: { readonly maxBytes: number }): Promise<Uint8Array>;
  /** The names of the files in a folder beside the manifest, sorted. @throws ToolkitError `INVALID_MANIFEST` at the path */
  listFolder(path: FieldPath, folder: string): Promise<readonly string[]>;
  /** The absolute path of a folder, by a path from the folder of the manifest. It may lead anywhere: nothing is read of it here. */
  resolveFolder(path: FieldPath, folder: string): string;
  /** Reports a mistake for which a tool is missing, and no other one: of many tools of one document. It is among the problems of the source. */
  report(problem: ToolkitError<"INVALID_MANIFEST">): void;
  /** Registers what is to be done when this version is replaced, removed or its namespace is taken away. */
  onClose(close: () => Promise<void> | void): void;
}

/** Answers a tool of the mode `client` in this process. */
export type ClientHandler = (input: Readonly<Record<string, unknown>>, context: CallContext) => unknown;

/** The way a tool of some mode works. Name, description, schemas and labels are those of its manifest. */
export interface ManifestRun {
  /** As the `run` of a tool. */
  run(input: Readonly<Record<string, unknown>>, context: CallContext): unknown;
  /** Hints that follow from the mode, such as from a method of HTTP; those of the manifest win. */
  readonly annotations?: ToolAnnotations | undefined;
  /** Options that follow from the mode; `timeoutMs` of the manifest wins. */
  readonly options?: ToolOptions | undefined;
  /** The tool that it calls, and the field that names it: one that is not there is reported by the commands that check. */
  readonly calls?: { readonly ref: string; readonly path: FieldPath } | undefined;
  /** Looks whether what it asks is there, for `toolweave doctor`, and the field that names it. It rejects with the reason why not. */
  readonly check?: { run(signal: AbortSignal): Promise<unknown>; readonly path: FieldPath } | undefined;
  /** The schemas, where the manifest has none. */
  readonly input?: JsonSchema | undefined;
  readonly output?: JsonSchema | undefined;
}

/**
 * A mode: makes the manifest of a tool work. It is called when the manifest is loaded.
 *
 * @throws ToolkitError `INVALID_MANIFEST`, made with `manifest.problem`, for what it cannot use
 */
export type ManifestExecutor = (manifest: ManifestTool, context: ManifestContext) => ManifestRun | Promise<ManifestRun>;

/** A kind of manifest: one document becomes tools. */
export interface ManifestKind<S extends z.ZodType = z.ZodType> {
  /** The form of its `spec`. A field that is none of a strict object is a mistake. */
  readonly spec: S;
  /** @throws ToolkitError `INVALID_MANIFEST`, made with `manifest.problem` */
  tools(manifest: ParsedManifest<z.output<S>>, context: ManifestContext): readonly Tool[] | Promise<readonly Tool[]>;
}
