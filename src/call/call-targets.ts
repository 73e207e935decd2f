import { readDefinition } from "../core/definition.ts";
import { isEntry, makeEntry } from "../core/entry.ts";
import { located, ToolkitError } from "../core/error.ts";
import { inlineNamespace } from "../core/identifier.ts";
import {
  type DefaultKind,
  defaultKinds,
  type Entry,
  type Item,
  type Kind,
  type ListPage,
  type ListQuery,
  type Prompt,
  type Tool,
} from "../core/item.ts";
import type { Verb } from "../core/middleware.ts";
import type { MaybePromise } from "../lib/promise.ts";

/** The items that exist, as far as calls need to know. */
export interface CallDirectory {
  /** It is that of a view: it does not show everything. */
  readonly isConfined: boolean;
  /** Finds what a key means to an owner; at once where it is known. @throws ToolkitError `NOT_FOUND` and the like */
  find<K extends Kind>(
    key: string,
    kinds: readonly K[],
    owner: string,
    signal: AbortSignal | undefined,
    /** A `call` also waits for what is still connecting. Default: `lookup`. */
    patience?: "call" | "lookup",
  ): MaybePromise<Entry<K>>;
  /** The reason why a key that a call waits for is not there yet. */
  missing(key: string, kinds: readonly Kind[], owner: string): ToolkitError | undefined;
  /** The entry that is registered now for an entry handed out before. */
  current<K extends Kind>(entry: Entry<K>, owner: string): Entry<K> | undefined;
  /** The entry of a registered item. @throws ToolkitError `NOT_FOUND` for one that is hidden */
  entryOf(item: Item, owner: string): Entry | undefined;
  list<K extends Kind>(query: ListQuery<K>, owner: string): Promise<ListPage<K>>;
}

/** A key, an entry, or an item itself. */
export type CallTarget = string | Tool | Prompt | Entry<"tool" | "prompt" | "resource">;

/** The kinds that each verb takes. */
const kindsOf = {
  call: ["tool", "prompt"],
  read: ["resource"],
  render: ["prompt"],
} as const satisfies Record<Verb, readonly DefaultKind[]>;

const completable = ["prompt", "template"] as const;

/** The advice for an item of a kind that the verb does not take. */
const insteadOf: Readonly<Record<Verb, Readonly<Record<DefaultKind, string>>>> = {
  call: { tool: "call it", prompt: "call it", resource: "read it instead of calling it" },
  read: {
    tool: "call it instead of reading it",
    prompt: "call or render it instead of reading it",
    resource: "read it",
  },
  render: { tool: "call it instead of rendering it", prompt: "render it", resource: "read it instead of rendering it" },
};

/** Finds the entry that a call, read or render is for. Items that were never added get an entry of the namespace `inline`. */
export class CallTargets {
  readonly directory: CallDirectory;
  readonly #inline: WeakMap<object, Entry>;

  constructor(directory: CallDirectory, inline = new WeakMap<object, Entry>()) {
    this.directory = directory;
    this.#inline = inline;
  }

  /**
   * The entry of a target, at once where it is known.
   *
   * @param owner - the principal whose items are meant beside those of all; empty for none
   * @throws ToolkitError `NOT_FOUND`, `INVALID_INPUT` and the like
   */
  find(verb: Verb, target: CallTarget, owner: string, signal: AbortSignal | undefined): MaybePromise<Entry> {
    if (typeof target !== "string") return this.#entryOf(verb, target, owner);
    try {
      const found = this.directory.find<DefaultKind>(target, kindsOf[verb], owner, signal, "call");
      return found instanceof Promise
        ? found.then(undefined, (error) => this.#otherKind(error, verb, target, owner))
        : found;
    } catch (error) {
      return this.#otherKind(error, verb, target, owner);
    }
  }

  /** The reason why the target of a call is not there yet, where it waits for a connection. */
  missing(verb: Verb | "complete", key: string, owner: string): ToolkitError | undefined {
    try {
      return this.directory.missing(key, verb === "complete" ? completable : kindsOf[verb], owner);
    } catch {
      return undefined;
    }
  }

  /** The entry of a prompt or a template, at once where it is known. @throws ToolkitError `NOT_FOUND`, `INVALID_INPUT` and the like */
  findCompletable(
    target: string | Entry<"prompt" | "template">,
    owner: string,
    signal: AbortSignal | undefined,
  ): MaybePromise<Entry<"prompt" | "template">> {
    if (typeof target === "string")
      return this.directory.find<"prompt" | "template">(target, completable, owner, signal, "call");
    const entry = isEntry(target) ? this.#registered(target, owner) : undefined;
    if (entry?.kind === "prompt" || entry?.kind === "template") return entry;
    throw notTarget(
      entry,
      "complete takes a prompt or a resource template: its name, ref or URI template, or its entry",
    );
  }

  #entryOf(verb: Verb, target: Exclude<CallTarget, string>, owner: string): Entry {
    if (verb === "read" && !(isEntry(target) && target.kind === "resource"))
      throw notTarget(target, "read takes the name or URI of a resource, or its entry");
    const entry = isEntry(target) ? this.#registered(target, owner) : this.#ofItem(target as Item, owner);
    if ((kindsOf[verb] as readonly Kind[]).includes(entry.kind)) return entry;
    if (verb === "render") throw notTarget(target, "render takes a prompt");
    const instead = entry.kind === "resource" ? "read it" : "read its resources";
    throw notTarget(entry, `a ${entry.kind} is not called: ${instead}`);
  }

  /** The error for a key that names something of another kind says what that is for. */
  #otherKind(thrown: unknown, verb: Verb, key: string, owner: string): never {
    if (!ToolkitError.is(thrown)) throw thrown;
    const error = located(thrown, String(key), "resolve");
    if (error.code !== "NOT_FOUND") throw error;
    let other: MaybePromise<Entry<DefaultKind>>;
    try {
      other = this.directory.find(key, defaultKinds, owner, undefined);
    } catch {
      throw error;
    }
    if (other instanceof Promise) {
      other.catch(() => undefined);
      throw error;
    }
    throw notTarget(other, `${other.ref} is a ${other.kind}: ${insteadOf[verb][other.kind]}`);
  }

  #registered(entry: Entry, owner: string): Entry {
    const current = this.directory.current(entry, owner) ?? (entry.namespace === inlineNamespace ? entry : undefined);
    if (current !== undefined) return current;
    const { ref } = entry;
    const details = { key: ref, suggestions: [] };
    throw new ToolkitError("NOT_FOUND", `${ref} is no longer there.`, details, { ref, phase: "resolve" });
  }

  #ofItem(item: Item, owner: string): Entry {
    const known = this.directory.entryOf(item, owner) ?? this.#inline.get(item);
    if (known !== undefined) return known;
    const entry: Entry = makeEntry(readDefinition(item, "local"), item, inlineNamespace, false);
    this.#inline.set(item, entry);
    return entry;
  }
}

function notTarget(target: unknown, message: string): ToolkitError<"INVALID_INPUT"> {
  const ref = isEntry(target) ? target.ref : undefined;
  return new ToolkitError(
    "INVALID_INPUT",
    // As it is: it may begin with a ref, and refs are case-sensitive.
    `${message}.`,
    { issues: [{ pointer: "", message }] },
    { ref, phase: "resolve" },
  );
}
