import { isUri, userNamespace } from "../core/identifier.ts";
import type { Entry, Kind } from "../core/item.ts";
import { fromTemplate } from "./from-template.ts";
import type { Namespace, WantedItem } from "./namespace.ts";
import { parseKey } from "./parsed-key.ts";
import type { Scope } from "./scope.ts";
import type { Visibility } from "./visibility.ts";

/** A namespace that must settle before the key can be answered. */
export interface Unsettled {
  readonly unsettled: Namespace;
  /** The part of it that must settle. Default: all that the search is for. */
  readonly wanted?: WantedItem | undefined;
  /** Set where nothing has the key so far: the namespaces that are still coming and may have it. */
  readonly coming?: readonly Namespace[] | undefined;
}

/**
 * The namespaces that a search waits for. A `call` waits for each that has not settled, and where nothing has the key for each that is still
 * coming; a `lookup` only for those that it has to start itself, and for lists that a connected server is still giving.
 */
export type Patience = "call" | "lookup";

/** Options of a search. */
export interface Searched {
  readonly scope: Scope;
  readonly visibility: Visibility;
  readonly patience: Patience;
  /** Look on for more of an unscoped name, so that none is taken for the only one. */
  readonly strict: boolean;
  /** Receives an unscoped name that several namespaces have; the first is used. */
  ambiguous(name: string, found: readonly [Entry, ...Entry[]]): void;
}

/** Finds what a key means, reading it in each way in which it may be meant. */
export function search(key: string, kinds: readonly Kind[], searched: Searched): Entry | Unsettled | undefined {
  const parsed = parseKey(key, (name) => isNamespace(name, searched.scope));
  const named = kinds.filter((kind) => kind === "tool" || kind === "prompt");
  const addressed = kinds.filter((kind) => kind === "resource" || kind === "template");
  if (parsed.scopedName !== undefined && named.length > 0) {
    const found = inNamespace(parsed.scopedName.namespace, parsed.scopedName.name, named, searched);
    if (found !== undefined) return found;
  }
  if (parsed.scopedUri !== undefined && addressed.length > 0) {
    const found = inNamespace(parsed.scopedUri.namespace, parsed.scopedUri.uri, addressed, searched);
    if (found !== undefined) return found;
  }
  if (parsed.name !== undefined && named.length > 0) {
    const found = everywhere(parsed.name, named, searched);
    if (found !== undefined) return found;
  }
  if (addressed.length === 0) return undefined;
  const found = parsed.uri === undefined ? undefined : everywhere(parsed.uri, addressed, searched);
  return found ?? listedAs(key, addressed, searched) ?? listing({ kinds: addressed, key }, searched);
}

/**
 * The resource or template that is listed under a key as its URI or ref, where that does not look like a URI: servers list some without a
 * scheme, or with one of a letter.
 */
export function listedAs(
  key: string,
  kinds: readonly Kind[],
  { scope, visibility }: Pick<Searched, "scope" | "visibility">,
): Entry | undefined {
  if (isUri(key)) return undefined;
  const hash = key.lastIndexOf("#");
  const fragment = hash > 0 ? key.slice(hash + 1) : "";
  // As of other URIs: one that names a namespace is nowhere else, so that no server takes the ref of an item of another.
  const isScoped = isNamespace(fragment, scope);
  const uri = isScoped ? key.slice(0, hash) : key;
  for (const namespace of scope.namespaces) {
    if (isScoped && namespace.name !== fragment) continue;
    const found = kinds.map((kind) => namespace.get(kind, uri)).find((entry) => entry !== undefined);
    if (found !== undefined && visibility.entry(found)) return found;
  }
  return undefined;
}

/** The namespaces that a lookup, list or call has asked to begin. */
const asked = new WeakSet<Namespace>();

/** As `settling` of a namespace, which is asked to begin: all that needs it then waits for it, and not only what came first. */
export function begun(namespace: Namespace, wanted?: WantedItem): Promise<void> | undefined {
  if (namespace.connection?.state === "idle") asked.add(namespace);
  return namespace.settling(true, wanted);
}

/** Undefined where a list does not wait for a namespace; else resolves when it has what is wanted, or is known not to. */
export function settlingOf(namespace: Namespace, wanted: WantedItem): Promise<void> | undefined {
  const { connection } = namespace;
  if (connection === undefined) return namespace.settling(true);
  if (connection.state === "connected") return namespace.settling(false, wanted);
  // One that connects by itself is not waited for: it delays no list, and is among the failures until it is there.
  if (connection.state !== "idle" && !isBeginning(namespace)) return undefined;
  return begun(namespace)?.then(() => settlingOf(namespace, wanted));
}

/** The first namespace whose server is connected and still lists what may have a key: it may be one that does not look like a URI. */
function listing(wanted: WantedItem, { scope, patience }: Searched): Unsettled | undefined {
  const isListing = (each: Namespace) => each.connection?.state === "connected" && isAwaited(each, patience, wanted);
  const unsettled = scope.namespaces.find(isListing);
  return unsettled && { unsettled, wanted };
}

/** The namespaces that are still coming and may have a key that nothing has so far, the first of them apart. */
export function comingFor(
  key: string,
  kinds: readonly Kind[],
  scope: Scope,
  visibility: Visibility,
): Unsettled | undefined {
  const { scopedName, scopedUri } = parseKey(key, (name) => isNamespace(name, scope));
  const only = scopedName?.namespace ?? scopedUri?.namespace;
  const wanted = { kinds, key };
  const coming = scope.namespaces.filter((namespace) => {
    if (only !== undefined && namespace.name !== only) return false;
    return namespace.coming(wanted) !== undefined && visibility.namespace(namespace.name);
  });
  return coming[0] === undefined ? undefined : { unsettled: coming[0], coming };
}

function isAwaited(namespace: Namespace, patience: Patience, wanted: WantedItem): boolean {
  const state = namespace.connection?.state ?? "idle";
  // A server that connects by itself delays no lookup. One that is connected has its lists in a moment.
  if (patience === "lookup" && state !== "idle" && state !== "connected" && !isBeginning(namespace)) return false;
  return namespace.settling(false, wanted) !== undefined;
}

/** True for one that connects for the first time because something needs it. */
function isBeginning(namespace: Namespace): boolean {
  return namespace.connection?.state === "connecting" && asked.has(namespace);
}

/**
 * Finds what a key means in a rule for all, as `search` does, but for what may be a name or a URI: the namespace that comes first decides,
 * so that no server takes the meaning of one with an item of the other kind. What is scoped is nowhere else.
 *
 * @param find - what the key finds of some kinds
 */
export function searchForAll(
  key: string,
  scope: Scope,
  find: (kinds: readonly Kind[]) => Entry | Unsettled | undefined,
): Entry | Unsettled | undefined {
  const { scopedName, scopedUri, uri } = parseKey(key, (name) => isNamespace(name, scope));
  const named = scopedUri === undefined || scopedName !== undefined ? find(["tool", "prompt"]) : undefined;
  if (scopedName !== undefined || (scopedUri === undefined && uri === undefined)) return named;
  const addressed = find(["resource"]);
  if (named === undefined || addressed === undefined) return named ?? addressed;
  return placeOf(addressed, scope) < placeOf(named, scope) ? addressed : named;
}

function placeOf(found: Entry | Unsettled, scope: Scope): number {
  const name = "unsettled" in found ? found.unsettled.name : found.namespace;
  return scope.namespaces.findIndex((namespace) => namespace.name === name);
}

/**
 * True for a namespace of the scope, also for one that was removed: a rule that names an item of it must not come to mean one of another.
 * `user` is one where nothing is stored too: what is stored later changes the meaning of no key.
 */
export function isNamespace(name: string, scope: Scope): boolean {
  return scope.namespace(name) !== undefined || name === userNamespace || scope.hasLost(name);
}

/** The resource of a URI that a template of the namespace makes, where it may be seen. */
function visibleFromTemplate(namespace: Namespace, uri: string, visibility: Visibility): Entry<"resource"> | undefined {
  const entry = fromTemplate(namespace, uri);
  return entry !== undefined && visibility.entry(entry) ? entry : undefined;
}

function inNamespace(
  name: string,
  key: string,
  kinds: readonly Kind[],
  { scope, visibility, patience }: Searched,
): Entry | Unsettled | undefined {
  const namespace = scope.namespace(name);
  if (namespace === undefined) return undefined;
  const found = firstOf(namespace, key, kinds, visibility);
  if (found !== undefined) return found;
  const wanted = { kinds, key };
  if (isAwaited(namespace, patience, wanted)) return { unsettled: namespace, wanted };
  return kinds.includes("resource") ? visibleFromTemplate(namespace, key, visibility) : undefined;
}

function everywhere(key: string, kinds: readonly Kind[], searched: Searched): Entry | Unsettled | undefined {
  const { scope, visibility, patience } = searched;
  const found: Entry[] = [];
  const strict = searched.strict && !kinds.includes("resource");
  const wanted = { kinds, key };
  for (const namespace of scope.namespaces) {
    const entry = firstOf(namespace, key, kinds, visibility);
    if (entry !== undefined) found.push(entry);
    // The answer must not depend on who was faster: an earlier namespace that may still come to have it goes first, and a later one
    // may make it ambiguous.
    else if ((found.length === 0 || strict) && isAwaited(namespace, patience, wanted))
      return { unsettled: namespace, wanted };
  }
  const [chosen, ...others] = found;
  if (chosen === undefined) return kinds.includes("resource") ? fromAnyTemplate(key, searched) : undefined;
  if (others.length > 0 && (chosen.kind === "tool" || chosen.kind === "prompt"))
    searched.ambiguous(key, [chosen, ...others]);
  return chosen;
}

function fromAnyTemplate(uri: string, { scope, visibility }: Searched): Entry | undefined {
  for (const namespace of scope.namespaces) {
    const entry = visibleFromTemplate(namespace, uri, visibility);
    if (entry !== undefined) return entry;
  }
  return undefined;
}

function firstOf(namespace: Namespace, key: string, kinds: readonly Kind[], visibility: Visibility): Entry | undefined {
  for (const kind of kinds) {
    const entry: Entry | undefined = kind === "resource" ? namespace.resource(key) : namespace.get(kind, key);
    if (entry !== undefined && visibility.entry(entry)) return entry;
  }
  return undefined;
}
