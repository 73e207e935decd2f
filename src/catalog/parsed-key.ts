import { isUri } from "../core/identifier.ts";

/** A key in every way in which it may be meant. */
export interface ParsedKey {
  /** `namespace.name`, where the part before the first dot is a known namespace. */
  readonly scopedName: { readonly namespace: string; readonly name: string } | undefined;
  /** `uri#namespace`, where the last fragment is a known namespace. */
  readonly scopedUri: { readonly namespace: string; readonly uri: string } | undefined;
  /** The whole key, without a namespace; undefined where a known namespace scopes it. */
  readonly name: string | undefined;
  readonly uri: string | undefined;
}

/**
 * Reads a key. A name splits at its first dot, a URI at its last `#`, and only where what is split off is a known namespace. A URI
 * that finds nothing may still be a name: remote tools may be called `a:b`.
 */
export function parseKey(key: string, isNamespace: (name: string) => boolean): ParsedKey {
  const dot = key.indexOf(".");
  const before = key.slice(0, Math.max(0, dot));
  const scopedName = dot > 0 && isNamespace(before) ? { namespace: before, name: key.slice(dot + 1) } : undefined;
  if (!isUri(key)) return { scopedName, scopedUri: undefined, name: scopedName ? undefined : key, uri: undefined };
  const hash = key.lastIndexOf("#");
  const fragment = hash > 0 ? key.slice(hash + 1) : "";
  const scopedUri = isNamespace(fragment) ? { namespace: fragment, uri: key.slice(0, hash) } : undefined;
  return { scopedName, scopedUri, name: scopedName ? undefined : key, uri: scopedUri ? undefined : key };
}
