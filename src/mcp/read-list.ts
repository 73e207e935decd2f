import type { DescriptorList, DescriptorMap } from "../core/connector.ts";
import type { ReadConnectorLimits } from "../core/connector-limits.ts";
import { ToolkitError } from "../core/error.ts";
import type { Kind } from "../core/item.ts";
import { digestTexts } from "../lib/canonical.ts";
import { isRecord } from "../lib/value.ts";
import { lists } from "./descriptor.ts";
import type { Redactor } from "./redact.ts";
import { messageFault, RpcError, rpcCodes } from "./rpc/rpc-error.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The options of reading a list. */
export interface ListOptions {
  /** Asks for one page. */
  readonly request: (method: string, params: Record<string, unknown> | undefined) => Promise<unknown>;
  /** The server, for errors and warnings. */
  readonly server: string;
  readonly limits: Pick<ReadConnectorLimits, "maxListSize" | "maxNestingDepth">;
  /** Redacts the entries, and the quotes in warnings. */
  readonly redactor: Redactor;
  /** The answers were parsed from text: no other code has their objects. Default false. */
  readonly isParsed?: boolean | undefined;
  /** An entry has a secret in its name or URI, and is listed under another: the server knows it by the first. */
  renamed?(own: string, shown: string): void;
  /** The reason why an entry is left out beyond those that hold for every server. */
  readonly faultOf?: ((entry: Readonly<Record<string, unknown>>) => string | undefined) | undefined;
}

/** So many pages in a row may bring nothing new: with a new cursor each, a server could go on for ever. */
const maxIdlePages = 100;

/**
 * Reads a list to its last page, at most `maxListSize` entries. An entry that cannot be read, is nested too deep, or has the name of
 * another, is left out; its siblings stay.
 *
 * @throws ToolkitError `REMOTE_ERROR` where the pages go round in a circle or on without bringing anything new; whatever a request throws
 */
export async function readList<K extends Kind>(kind: K, options: ListOptions): Promise<DescriptorList<K>> {
  const { method, field } = lists[kind];
  const { request, server, limits } = options;
  const { maxListSize } = limits;
  const collector = new Collector(kind, options);
  const cursors = new Set<string>();
  let idlePages = 0;
  for (let cursor: string | undefined; ; ) {
    const page = await requestPage(request, method, cursor);
    if (page === undefined)
      return { items: [], warnings: kind === "template" ? [] : [`${server} does not know ${method}`] };
    const entries = isRecord(page) ? page[field] : undefined;
    if (!Array.isArray(entries)) throw badList(server, method, `without "${field}"`);
    const before = collector.items.length;
    if (isRecord(page)) collector.dated(page);
    for (const entry of entries) collector.add(entry);
    idlePages = collector.items.length > before ? 0 : idlePages + 1;
    cursor =
      isRecord(page) && typeof page.nextCursor === "string" && page.nextCursor !== "" ? page.nextCursor : undefined;
    if (collector.items.length > maxListSize) return truncated(collector, maxListSize);
    if (cursor === undefined) return collector;
    if (idlePages >= maxIdlePages)
      throw badList(server, method, `with ${idlePages} pages in a row that bring nothing new, and names another one`);
    // A server may give a cursor of a megabyte with each of thousands of pages.
    const known = digestTexts(cursor);
    if (cursors.has(known))
      throw badList(server, method, "with a cursor it gave before: its pages go round in a circle");
    cursors.add(known);
  }
}

/** Undefined where the server says that it has no such method. */
async function requestPage(
  request: ListOptions["request"],
  method: string,
  cursor: string | undefined,
): Promise<unknown> {
  try {
    return await request(method, cursor === undefined ? undefined : { cursor });
  } catch (error) {
    if (cursor === undefined && error instanceof RpcError && error.code === rpcCodes.methodNotFound) return undefined;
    throw error;
  }
}

class Collector<K extends Kind> implements DescriptorList<K> {
  readonly items: DescriptorMap[K][] = [];
  readonly warnings: string[] = [];
  readonly isParsed: boolean;
  readonly #kind: K;
  readonly #redactor: Redactor;
  readonly #maxNestingDepth: number;
  readonly #renamed: ListOptions["renamed"];
  readonly #faultOf: ListOptions["faultOf"];
  #ttlMs: number | undefined;
  #isPrivate = false;
  readonly #keys = new Set<unknown>();

  constructor(kind: K, { redactor, limits, renamed, faultOf, isParsed = false }: ListOptions) {
    this.isParsed = isParsed;
    this.#renamed = renamed;
    this.#faultOf = faultOf;
    this.#kind = kind;
    this.#redactor = redactor;
    this.#maxNestingDepth = limits.maxNestingDepth;
  }

  /** The time that the whole list is fresh, in milliseconds: that of its shortest page. */
  get ttlMs(): number | undefined {
    return this.#ttlMs === 0 ? undefined : this.#ttlMs;
  }

  get cacheScope(): "public" | "private" | undefined {
    if (this.ttlMs === undefined) return undefined;
    return this.#isPrivate ? "private" : "public";
  }

  /** Takes note of how long a page is fresh, and for whom. One that does not say is not fresh at all. */
  dated(page: Fields): void {
    const { ttlMs, cacheScope } = page;
    const ownMs = typeof ttlMs === "number" && ttlMs > 0 ? ttlMs : 0;
    this.#ttlMs = Math.min(this.#ttlMs ?? ownMs, ownMs);
    this.#isPrivate ||= cacheScope !== "public";
  }

  warn(text: string): void {
    this.warnings.push(this.#redactor.text(text));
  }

  add(entry: unknown): void {
    const { key, read } = lists[this.#kind];
    const item = isRecord(entry) ? read(entry, (text) => this.warn(text)) : undefined;
    if (item === undefined) {
      this.warnings.push(`a ${this.#kind} without "${key}" is left out`);
      return;
    }
    const id = (item as unknown as Readonly<Record<string, unknown>>)[key];
    if (this.#keys.has(id)) {
      this.warn(`a second ${this.#kind} with the ${key} ${String(id)} is left out`);
      return;
    }
    const fault = messageFault(entry, this.#maxNestingDepth)?.message ?? this.#faultOf?.(entry as Fields);
    if (fault !== undefined) {
      this.warn(`the ${this.#kind} ${String(id)} is left out: ${fault}`);
      return;
    }
    this.#keys.add(id);
    const shown = this.#redactor.described(item);
    const shownId = (shown as unknown as Readonly<Record<string, unknown>>)[key];
    if (shownId !== id) this.#renamed?.(String(id), String(shownId));
    this.items.push(shown);
  }
}

/** The entries read of a list that is longer than it may be. */
function truncated<K extends Kind>(
  { items, warnings, ttlMs, cacheScope, isParsed }: DescriptorList<K>,
  maxSize: number,
): DescriptorList<K> {
  return { items: items.slice(0, maxSize), warnings, cutAt: maxSize, ttlMs, cacheScope, isParsed };
}

function badList(server: string, method: string, how: string): ToolkitError<"REMOTE_ERROR"> {
  return new ToolkitError("REMOTE_ERROR", `${server} answered ${method} ${how}.`, { server });
}
