import type { PromptLimits } from "./prompt-limits.ts";
import type { Content, Resource } from "./resource.ts";
import type { Session } from "./session.ts";

/** Limits of the namespace `user`, for each principal, and of its items in memory. */
export interface UserLimits {
  /** The most prompts and resources together. Default 10,000. */
  readonly maxItems: number;
  /** The most bytes of one item. Default 16 MiB. */
  readonly maxItemBytes: number;
  /** The most bytes of all items, past versions not counted. Default 256 MiB. */
  readonly maxBytes: number;
  /** The most principals with items in memory; the least recently used is evicted. Default 1,000. */
  readonly maxPrincipals: number;
}

/** Options of the namespace `user`. */
export interface UserNamespaceSettings extends Partial<UserLimits> {
  /**
   * Refs, globs on refs, or bare names, each of which means what `lookup` finds: the tools and prompts that a stored prompt of a principal
   * may call, in all `DENIED` but these. Those that such a tool calls itself are its own. Prompts that belong to no principal may call
   * everything. Default: none.
   */
  readonly tools?: readonly string[] | undefined;
  /**
   * The size of a stored prompt or partial, and the work of rendering it. One that is stored and is larger is kept, and not found here.
   * Default: those of every prompt.
   */
  readonly promptLimits?: PromptLimits | undefined;
}

/** The principal that owns the items, and the signal of the caller. */
export interface UserOptions {
  /** A session of the principal. Default: items without a principal. */
  readonly session?: Session | undefined;
  /** An abort rejects with its reason; a write that had begun may still be done. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of a change of an item. */
export interface UserWriteOptions extends UserOptions {
  /** The version that is to be replaced; 0 for none. Default: any. */
  readonly expectedVersion?: number | undefined;
}

/** Options of `putPrompt`. */
export interface PutPromptOptions extends UserWriteOptions {
  /** Its name, where the front matter gives none. One that begins with `_` makes a partial. */
  readonly name?: string | undefined;
}

/** Options of `get`. */
export interface UserGetOptions extends UserOptions {
  /** A past version, where it is kept. Default: the current one. */
  readonly version?: number | undefined;
}

/** One version of an item. */
export interface UserVersion {
  readonly kind: "prompt" | "resource";
  /** `user.name`, or `uri#user`. */
  readonly ref: string;
  /** From 1, one more with each change, a removal included. */
  readonly version: number;
  /** Time it was put, in milliseconds since the epoch. */
  readonly updatedAt: number;
}

/** A prompt as it was put. */
export interface UserPrompt extends UserVersion {
  readonly kind: "prompt";
  readonly markdown: string;
}

/** A resource as it was put. */
export interface UserResource extends UserVersion {
  readonly kind: "resource";
  readonly content: Content;
}

/** Options of `import`. */
export interface UserImportOptions extends UserOptions {
  /** Remove the items that the folder has not. Default false. */
  readonly prune?: boolean | undefined;
}

/** Result of an import. Items are named by ref. */
export interface UserImportReport {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly unchanged: readonly string[];
  readonly removed: readonly string[];
  /** Files that are no items. */
  readonly ignored: readonly string[];
}

/** Result of an export. Files are named by their path in the folder. */
export interface UserExportReport {
  readonly written: readonly string[];
  readonly unchanged: readonly string[];
  /** Files of an earlier export whose items are gone. */
  readonly removed: readonly string[];
}

/**
 * The prompts and resources that people make while the service runs, in the namespace `user` of its store. Each principal has items of
 * its own and sees those of no other; items put without a principal are seen only without one.
 *
 * Every method rejects with `NO_STORE` where the toolkit was given no store, with `STORE_FAILED` where the store fails, and with
 * `INVALID_INPUT` for a principal no store can keep: more than 512 bytes, or with half a surrogate pair.
 */
export interface UserNamespace {
  /**
   * Stores a prompt, the text of a markdown file. It is there for lookups, lists and calls when this resolves.
   *
   * `{{> tone}}` is the partial `_tone` of the same principal, else its prompt `tone`.
   *
   * @throws ToolkitError `INVALID_PROMPT` with line and column, also where a prompt that uses it as a partial would break;
   *   `INVALID_NAME`, `RESERVED_NAME`; `CONFLICT` where another version is there than expected; `LIMIT_EXCEEDED`; nothing is stored then
   *
   * @example
   * ```ts
   * const { version } = await toolkit.user.putPrompt("---\nname: greet\n---\nGreet {{name}}.");
   * await toolkit.user.putPrompt("---\nname: greet\n---\nGreet {{name}} warmly.", { expectedVersion: version });
   * ```
   */
  putPrompt(markdown: string, options?: PutPromptOptions): Promise<UserVersion>;
  /**
   * Reads a resource whole and stores it under its URI.
   *
   * @throws ToolkitError `INVALID_NAME` for a URI of more than 2,048 bytes, or with control characters; `INVALID_INPUT` for what is no
   *   resource; `CONFLICT` where another version is there than expected; `LIMIT_EXCEEDED`; whatever reading it throws
   */
  putResource(resource: Resource, options?: UserWriteOptions): Promise<UserVersion>;
  /**
   * Reads an item from the store.
   *
   * @param key - the name of a prompt, the URI of a resource, or a ref
   * @throws ToolkitError `NOT_FOUND`
   */
  get(key: string, options?: UserGetOptions): Promise<UserPrompt | UserResource>;
  /** Every version that is kept, the latest first; those of a removed item too. @throws ToolkitError `NOT_FOUND` where there are none */
  history(key: string, options?: UserOptions): Promise<readonly UserVersion[]>;
  /**
   * Puts a past version again, as a new one. It is checked as if it were new.
   *
   * @throws ToolkitError `NOT_FOUND` for a version that is not kept; else as `putPrompt` and `putResource`
   */
  restore(key: string, version: number, options?: UserWriteOptions): Promise<UserVersion>;
  /**
   * Removes an item; its versions are kept.
   *
   * @throws ToolkitError `NOT_FOUND`; `CONFLICT` where another version is there than expected, or a prompt uses it as a partial
   */
  remove(key: string, options?: UserWriteOptions): Promise<void>;
  /**
   * Writes all items to a folder: prompts as markdown files, as a prompt folder has them, resources as files below `resources`, and
   * `user.json`, which says what the files are. Each file is replaced whole; what an earlier export wrote and is gone is removed, and
   * nothing else.
   *
   * @throws ToolkitError `INVALID_INPUT` for what is no folder, or cannot be written
   */
  export(folder: string | URL, options?: UserOptions): Promise<UserExportReport>;
  /**
   * Puts the items of a folder, written by `export` or by hand: a markdown file needs no line in `user.json`. What is the same
   * already is left as it is. All is checked before anything is stored, and what was stored is taken back where the store refuses the rest.
   *
   * @throws ToolkitError `INVALID_PROMPT` with all that is wrong; `INVALID_CONFIG` for a wrong `user.json`; `NOT_FOUND` for a missing
   *   folder; `CONFLICT` where the same items are changed meanwhile; `LIMIT_EXCEEDED`
   */
  import(folder: string | URL, options?: UserImportOptions): Promise<UserImportReport>;
}
