import { changedEntriesOf, type ToolkitEvent } from "../core/event.ts";
import type { Host } from "../core/host.ts";
import type { Entry, Kind } from "../core/item.ts";
import type { Session } from "../core/session.ts";
import { aliasesOf } from "../toolset/model-definition.ts";
import type { ReadServeOptions } from "./serve-options.ts";
import { discoveryForms, ToolDiscovery } from "./tool-discovery.ts";
import { invalidParams } from "./wire/error-form.ts";
import { formOf } from "./wire/item-form.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A list as it is served: sorted by the names under which its entries are served. */
interface ServedList<K extends Kind> {
  readonly names: readonly string[];
  readonly forms: readonly Fields[];
  readonly byName: ReadonlyMap<string, Entry<K>>;
}

/** The kinds of entries in each list: prompts may be served as tools. */
interface ServedKinds {
  readonly tool: "tool" | "prompt";
  readonly prompt: "prompt";
  readonly resource: "resource";
  readonly template: "template";
}

/** One page of a list. */
export interface ServedPage {
  readonly forms: readonly Fields[];
  readonly nextCursor: string | undefined;
}

/** The options of a catalogue. */
export type ServedCatalogOptions = Pick<
  ReadServeOptions,
  "names" | "promptsAsTools" | "discovery" | "pageSize" | "logger"
>;

/**
 * The items that one principal may see, under the names by which they are served. Lists are made when they are asked for, and again after
 * a change: a call costs one look into a map.
 */
export class ServedCatalog {
  readonly #host: Host;
  readonly #session: Session;
  readonly #options: ServedCatalogOptions;
  readonly #lists = new Map<Kind, Promise<ServedList<Kind>>>();
  /** The kinds of which entries were taken from the host. */
  readonly #taken = new Set<Kind>();
  /** Names of which it was logged that another item has them. */
  readonly #hidden = new Set<string>();
  /** Of each list of tools that was searched. */
  readonly #discoveries = new WeakMap<ServedList<Kind>, ToolDiscovery>();

  /** @param session - of the principal, for the items of its own */
  constructor(host: Host, session: Session, options: ServedCatalogOptions) {
    this.#host = host;
    this.#session = session;
    this.#options = options;
  }

  /** Makes lists anew that an event changes, and gives the kinds of those that clients see changed. */
  changed(event: ToolkitEvent): readonly Kind[] {
    // The first list of a kind, which lists wait for, changes none that was not made without it. Resources and templates come apart.
    const isFirst = "first" in event && event.first === true;
    const table = changedKinds[event.type] ?? [];
    const listed = isFirst ? changedEntriesOf(event)?.added : undefined;
    const kinds = listed === undefined ? table : table.filter((kind) => listed.some((each) => each.kind === kind));
    const served = kinds.includes("prompt") && this.#options.promptsAsTools ? (["tool", ...kinds] as const) : kinds;
    const all = served.filter((kind) => !isFirst || this.#taken.has(kind));
    for (const kind of all) this.#lists.delete(kind);
    return this.#isSearched ? all.filter((kind) => kind !== "tool") : all;
  }

  /** @throws RpcError for a cursor that is none */
  async page(kind: Kind, cursor: unknown): Promise<ServedPage> {
    const after = cursor === undefined ? undefined : nameIn(cursor);
    if (kind === "tool" && this.#isSearched)
      return { forms: after === undefined ? discoveryForms : [], nextCursor: undefined };
    const { names, forms } = await this.#list(kind);
    const { pageSize } = this.#options;
    // A name and no number: what came or went meanwhile moves nothing that was not seen yet.
    const start = after === undefined ? 0 : names.findIndex((name) => name > after);
    if (start === -1) return { forms: [], nextCursor: undefined };
    const end = start + pageSize;
    const last = names[end - 1];
    const nextCursor = end < names.length && last !== undefined ? cursorAfter(last) : undefined;
    return { forms: forms.slice(start, end), nextCursor };
  }

  /** The entry that is served under a name; undefined where none is. */
  async find<K extends Kind>(kind: K, name: string): Promise<Entry<ServedKinds[K]> | undefined> {
    const { byName } = await this.#list(kind);
    return byName.get(name) as Entry<ServedKinds[K]> | undefined;
  }

  /** The search among the tools; undefined where they are listed. */
  discovery(): Promise<ToolDiscovery> | undefined {
    return this.#isSearched ? this.#discovery() : undefined;
  }

  async #discovery(): Promise<ToolDiscovery> {
    const list = await this.#list("tool");
    let discovery = this.#discoveries.get(list);
    if (discovery === undefined) {
      discovery = new ToolDiscovery(list.byName, new Map(list.names.map((name, at) => [name, list.forms[at] ?? {}])));
      this.#discoveries.set(list, discovery);
    }
    return discovery;
  }

  get #isSearched(): boolean {
    return this.#options.discovery === "search";
  }

  #list(kind: Kind): Promise<ServedList<Kind>> {
    const known = this.#lists.get(kind);
    if (known !== undefined) return known;
    const making: Promise<ServedList<Kind>> = this.#make(kind).catch((error: unknown) => {
      if (this.#lists.get(kind) === making) this.#lists.delete(kind);
      throw error;
    });
    this.#lists.set(kind, making);
    return making;
  }

  async #make(kind: Kind): Promise<ServedList<Kind>> {
    const kinds: readonly Kind[] = kind === "tool" && this.#options.promptsAsTools ? ["tool", "prompt"] : [kind];
    const { entries } = await this.#host.list({ kind: kinds, session: this.#session });
    this.#taken.add(kind);
    const byName = await this.#named(kind, entries);
    const names = [...byName.keys()].sort();
    const forms = names.map((name) => formOf(kind, byName.get(name) as Entry, name));
    return { names, forms, byName };
  }

  async #named(kind: Kind, entries: readonly Entry[]): Promise<ReadonlyMap<string, Entry>> {
    const isPrefixed = this.#options.names === "prefixed";
    if (kind === "tool" || kind === "prompt") return isPrefixed ? aliasesOf(entries) : this.#bare(entries);
    const named = new Map<string, Entry>();
    const byUri = Map.groupBy(entries, (entry) => uriOf(entry));
    for (const [uri, same] of byUri) {
      const first = same.length === 1 ? same[0] : await this.#winner(uri, same);
      for (const entry of same) named.set(entry === first ? uri : entry.ref, entry);
    }
    return named;
  }

  /** Of those that share a name the one that `lookup` finds. */
  async #bare(entries: readonly Entry[]): Promise<ReadonlyMap<string, Entry>> {
    const named = new Map<string, Entry>();
    for (const [name, same] of Map.groupBy(entries, (entry) => entry.name)) {
      const chosen = same.length === 1 ? same[0] : await this.#winner(name, same);
      if (chosen === undefined) continue;
      named.set(name, chosen);
      const hidden = same.filter((entry) => entry !== chosen).map(({ ref }) => ref);
      if (hidden.length === 0 || this.#hidden.has(hidden.join())) continue;
      this.#hidden.add(hidden.join());
      this.#options.logger.warn(
        `Not served: ${hidden.join(", ")}, because ${chosen.ref} has the name "${name}" too. Serve with names: "prefixed" to have them all.`,
      );
    }
    return named;
  }

  async #winner(key: string, same: readonly Entry[]): Promise<Entry | undefined> {
    const kinds = new Set(same.map(({ kind }) => kind));
    for (const kind of kinds) {
      const found = await this.#host.lookup(key, { kind, session: this.#session }).catch(() => undefined);
      const winner = same.find((entry) => entry.ref === found?.ref);
      if (winner !== undefined) return winner;
    }
    return same[0];
  }
}

const changedKinds: { readonly [T in ToolkitEvent["type"]]?: readonly Kind[] } = {
  toolListChanged: ["tool"],
  promptListChanged: ["prompt"],
  resourceListChanged: ["resource", "template"],
};

function uriOf(entry: Entry): string {
  return entry.ref.slice(0, -entry.namespace.length - 1);
}

function cursorAfter(name: string): string {
  return Buffer.from(`after ${name}`).toString("base64url");
}

/** @throws RpcError */
function nameIn(cursor: unknown): string {
  const text = typeof cursor === "string" ? Buffer.from(cursor, "base64url").toString() : "";
  if (!text.startsWith("after ")) throw invalidParams("Invalid cursor: begin without one.");
  return text.slice("after ".length);
}
