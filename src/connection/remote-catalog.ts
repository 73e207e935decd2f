import type { Catalog } from "../catalog/catalog.ts";
import type { Registration } from "../catalog/deferred-items.ts";
import type { Namespace } from "../catalog/namespace.ts";
import type { ConnectorSession, DescriptorList, DescriptorMap } from "../core/connector.ts";
import { deepestNesting } from "../core/connector-limits.ts";
import { type ConnectorRefusal, readDefinition } from "../core/definition.ts";
import { definitionOf } from "../core/entry.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import { isMcpName } from "../core/identifier.ts";
import { type Kind, kinds, type ListFailure } from "../core/item.ts";
import { operatorError } from "../core/server-output.ts";
import type { Clock } from "../lib/clock.ts";
import { jsonFault } from "../lib/nesting.ts";
import { abortable } from "../lib/promise.ts";
import { stripInvisible, visible, withoutInvisible } from "../lib/visible-text.ts";
import { contractOf, type ItemContract, quarantined } from "../pins/contract.ts";
import type { PinnedContract, SeenContract } from "../pins/pinned-contract.ts";
import type { AllowList } from "./allow-list.ts";
import { listCut, onOneLine } from "./connection-error.ts";
import type { ConnectionLog } from "./connection-log.ts";
import type { ListedKinds } from "./listed-kinds.ts";
import { type RemoteLink, remoteItem } from "./remote-items.ts";

/** The lists of a server by kind: each the list, or why it could not be read. */
export type RemoteLists = ReadonlyMap<Kind, DescriptorList<Kind> | ToolkitError>;

/** The parts a remote catalogue works with. */
export interface RemoteCatalogHost {
  readonly catalog: Catalog;
  readonly namespace: Namespace;
  readonly link: RemoteLink;
  readonly clock: Clock;
  readonly log: ConnectionLog;
  /** The items that its connector may be used for. */
  readonly allow: AllowList;
  readonly listed: ListedKinds;
  /** Undefined where nothing is pinned. */
  readonly contract: PinnedContract | undefined;
}

interface Problem {
  readonly error: ToolkitError;
  readonly since: number;
  /** The list was read, as far as its limit. */
  readonly isCut: boolean;
}

/** So long a list is taken for current at most, whatever its server says, in milliseconds. */
const maxFreshMs = 60 * 60_000;

/** Reads the lists of a server and puts them in its namespace. */
export class RemoteCatalog {
  readonly #host: RemoteCatalogHost;
  readonly #problems = new Map<Kind, Problem>();
  readonly #warnings = new Map<Kind, readonly string[]>();
  readonly #seen = new WeakMap<RemoteLists, SeenContract>();
  /** The lists that were read last, where they are pinned: what is accepted later is theirs. */
  readonly #lists = new Map<Kind, DescriptorList<Kind> | ToolkitError>();
  /** Of the last handshake. */
  readonly #server = () => this.#host.namespace.connection?.server;
  /** Until when the list of a kind is current, in milliseconds since the epoch. */
  readonly #freshUntil = new Map<Kind, number>();
  #allowWarning: string | undefined;

  constructor(host: RemoteCatalogHost) {
    this.#host = host;
  }

  /** The lists of some kinds that could not be read, or were cut. */
  failures(of: readonly Kind[]): readonly ListFailure[] {
    const namespace = this.#host.namespace.name;
    const problems = [...this.#problems].filter(([kind]) => of.includes(kind));
    return problems.map(([, { error, since }]) => ({ namespace, error, since }));
  }

  get warnings(): readonly string[] {
    return [...this.#warnings.values(), this.#allowWarning ?? []].flat();
  }

  /** True where the list of a kind could not be read the last time. */
  isUnread(kind: Kind): boolean {
    return this.#problems.get(kind)?.isCut === false;
  }

  /** True where the server said of the list of a kind that it may be taken for current until later than now. */
  isFresh(kind: Kind): boolean {
    return this.#host.clock.now() < (this.#freshUntil.get(kind) ?? 0);
  }

  /**
   * Reads the lists of some kinds to their ends, side by side. It never rejects: a list that cannot be read fails alone, and those that
   * have not been read when the signal aborts fail with its reason.
   */
  async read(session: ConnectorSession, wanted: Iterable<Kind>, signal: AbortSignal): Promise<RemoteLists> {
    const read = async (kind: Kind): Promise<DescriptorList<Kind>> => {
      const list = await session.list[kind]?.({ signal });
      if (list === undefined) return { items: [], warnings: [] };
      if (!Array.isArray(list.items)) throw new TypeError("it gave no list");
      const { ttlMs = 0 } = list;
      this.#freshUntil.set(kind, this.#host.clock.now() + Math.min(Math.max(0, ttlMs), maxFreshMs));
      return list;
    };
    const lists = [...wanted].map(async (kind): Promise<[Kind, DescriptorList<Kind> | ToolkitError]> => {
      try {
        return [kind, await abortable(read(kind), signal)];
      } catch (error) {
        return [kind, this.#unread(kind, error)];
      }
    });
    return new Map(await Promise.all(lists));
  }

  /**
   * Makes ready that lists are compared with what is pinned.
   *
   * @throws ToolkitError in quarantine, where the pins cannot be loaded or kept
   */
  async prepare(lists: RemoteLists, instructions?: string | null, signal?: AbortSignal): Promise<void> {
    await this.#host.contract?.prepare(this.#seenIn(lists, instructions), signal);
  }

  /** Compares lists with what is pinned. From now on what changed is refused, also to calls that wait. */
  see(lists: RemoteLists): void {
    this.#host.contract?.see(this.#seenIn(lists, undefined));
  }

  /** Puts the items in the namespace again: what is refused has changed. */
  applyAgain(): void {
    if (this.#lists.size > 0) this.#replace(this.#lists);
  }

  #seenIn(lists: RemoteLists, instructions: string | null | undefined): SeenContract {
    const known = this.#seen.get(lists);
    if (known !== undefined) return known;
    const items = new Map<Kind, ReadonlyMap<string, ItemContract>>();
    const cut = new Set<Kind>();
    for (const [kind, list] of lists) {
      if (list instanceof Error) continue;
      items.set(kind, contractsOf(kind, list));
      if (list.cutAt !== undefined) cut.add(kind);
    }
    const unread = [...lists.keys()].filter((kind) => !items.has(kind));
    const given = typeof instructions === "string" ? stripInvisible(instructions) : instructions;
    const seen: SeenContract = { instructions: given, items, cut, unread };
    this.#seen.set(lists, seen);
    return seen;
  }

  /** Replaces the items of the namespace by those listed, and emits the differences. A kind whose list could not be read keeps its items. */
  apply(lists: RemoteLists): void {
    if (this.#host.contract !== undefined) for (const [kind, list] of lists) this.#lists.set(kind, list);
    this.#host.namespace.setStale(false, lists.keys());
    const isFirst = [...lists.keys()].every((kind) => this.#host.listed.isAwaited(kind));
    this.#host.listed.add(lists.keys());
    this.#replace(lists, isFirst ? true : undefined);
    this.#host.contract?.report();
  }

  #replace(lists: RemoteLists, first?: true): void {
    const registrations = new Map<Kind, readonly Registration[]>();
    for (const kind of kinds) {
      const list = lists.get(kind);
      if (list === undefined) continue;
      if (list instanceof Error) {
        this.#note(kind, list, false);
        this.#host.log.warnOnce(operatorError(list).message);
        continue;
      }
      registrations.set(kind, this.#registrations(kind, list));
      this.#note(kind, list.cutAt === undefined ? undefined : listCut(this.#host.link.label, kind, list.cutAt), true);
    }
    this.#host.catalog.replace(this.#host.namespace, registrations, first);
    this.#checkAllow();
  }

  /** Warns of what `allow` names and the server does not have, once all lists were read whole. */
  #checkAllow(): void {
    const { allow, namespace, log } = this.#host;
    if (this.#problems.size > 0 || this.#host.listed.missing().length > 0) return;
    const itemsOf = (kind: Kind) =>
      namespace.entries(kind).map((entry) => ({ kind, key: definitionOf(entry).key, name: entry.name }));
    const warning = allow.warning(() => kinds.flatMap(itemsOf));
    this.#allowWarning = warning === undefined ? undefined : visible(warning);
    if (this.#allowWarning !== undefined) log.warnOnce(this.#allowWarning);
  }

  /** The items of a list that can be used. Each entry that cannot be is left out alone. */
  #registrations(kind: Kind, { items, warnings = [], isParsed = false }: DescriptorList<Kind>): Registration[] {
    const registrations = new Map<string, Registration>();
    const odd: string[] = [...warnings];
    for (const descriptor of items) {
      try {
        if (!isParsed) assertDepth(descriptor);
        const registration = this.#registration(kind, descriptor);
        const { definition } = registration;
        const { key } = definition;
        // Made now, unless the list was JSON: what that cannot hold throws here, where it harms this item only, and the connector may change
        // the objects later.
        if (!isParsed) void definition.fingerprint;
        if (registrations.has(key)) odd.push(`A second ${kind} "${shown(key)}" is left out.`);
        else registrations.set(key, registration);
        if ((kind === "tool" || kind === "prompt") && !isMcpName(key)) {
          odd.push(`"${shown(key)}" is no name as MCP wants it; it is kept as it is.`);
        }
      } catch (error) {
        odd.push(`A ${kind} that cannot be read is left out: ${messageOf(error)}`);
      }
    }
    const warned = odd.map(visible);
    this.#warnings.set(kind, warned);
    for (const each of warned) this.#host.log.warnOnce(each);
    return [...registrations.values()];
  }

  #registration(kind: Kind, descriptor: DescriptorMap[Kind]): Registration {
    const item = remoteItem(kind, shownDescriptor(kind, descriptor), this.#host.link);
    const key: unknown = (descriptor as unknown as Readonly<Record<string, unknown>>)[keyNames[kind]];
    assertKey(key);
    const refusal = this.#host.allow.refusal({ kind, key, name: descriptor.name }) ?? this.#quarantine(kind, key);
    return { definition: readDefinition(item, "remote", { refusal, server: this.#server }), item };
  }

  #quarantine(kind: Kind, key: string): ConnectorRefusal | undefined {
    const { contract } = this.#host;
    const pin = contract?.quarantined(kind, key);
    if (pin === undefined) return undefined;
    return {
      at: "pins",
      rule: "pins of its connector: it is not as it was accepted",
      error: (ref) => quarantined(ref, contract?.pin(kind, key) ?? pin),
    };
  }

  #note(kind: Kind, error: ToolkitError | undefined, isCut: boolean): void {
    const since = this.#problems.get(kind)?.since ?? Math.floor(this.#host.clock.now());
    if (error === undefined) this.#problems.delete(kind);
    else this.#problems.set(kind, { error, since, isCut });
    if (this.#problems.size > 0) this.#host.namespace.disturbed();
  }

  #unread(kind: Kind, error: unknown): ToolkitError {
    if (ToolkitError.is(error)) return onOneLine(error);
    const { label } = this.#host.link;
    const message = visible(`${label} did not list its ${kind}s: ${messageOf(error)}`);
    return new ToolkitError("REMOTE_ERROR", message, { server: label }, { cause: error });
  }
}

/** The contracts of the items of a list. One that cannot be read, or has the key of another, is left out of catalogs too. */
function contractsOf(kind: Kind, { items, isParsed = false }: DescriptorList<Kind>): ReadonlyMap<string, ItemContract> {
  const contracts = new Map<string, ItemContract>();
  for (const descriptor of items) {
    try {
      if (!isParsed) assertDepth(descriptor);
      const key: unknown = (descriptor as unknown as Readonly<Record<string, unknown>>)[keyNames[kind]];
      assertKey(key);
      if (!contracts.has(key)) contracts.set(key, contractOf(kind, shownDescriptor(kind, descriptor)));
    } catch {
      // The list says so as it is applied.
    }
  }
  return contracts;
}

const keyNames = { tool: "name", prompt: "name", resource: "uri", template: "uriTemplate" } as const;

/** The descriptor without text that does not show, which models would read all the same. Its key stays, and its `meta` is for programs. */
function shownDescriptor<K extends Kind>(kind: K, descriptor: DescriptorMap[K]): DescriptorMap[K] {
  let shown = descriptor;
  for (const name of Object.keys(descriptor) as (keyof DescriptorMap[K])[]) {
    if (name === "meta" || name === keyNames[kind]) continue;
    const value = descriptor[name];
    const without = withoutInvisible(value);
    if (without !== value) shown = { ...shown, [name]: without };
  }
  return shown;
}

/**
 * A connector of JSON has checked that by `maxNestingDepth`. Code that reads schemas calls itself for each level.
 *
 * @throws RangeError for a schema and the like that is nested deeper than that limit may be
 */
function assertDepth({ meta: _, ...descriptor }: DescriptorMap[Kind]): void {
  if (jsonFault(descriptor, deepestNesting) !== "depth") return;
  throw new RangeError(`it is nested deeper than ${deepestNesting} levels`);
}

/** @throws TypeError for a key that is no text, or looks like another one */
function assertKey(key: unknown): asserts key is string {
  if (typeof key !== "string") throw new TypeError(`its key is ${typeof key}, and no text`);
  if (visible(key) === key) return;
  throw new TypeError(`there are characters that do not show in its key "${shown(visible(key))}"`);
}

/** A name as far as it is worth reading. */
function shown(name: string): string {
  return name.length > 200 ? `${name.slice(0, 200)}...` : name;
}
