import { definitionOf } from "../core/entry.ts";
import { messageOf } from "../core/error.ts";
import { type DefaultKind, defaultKinds, type Entry } from "../core/item.ts";
import { fromTemplate } from "./from-template.ts";
import type { Namespace } from "./namespace.ts";
import { notFound } from "./not-found.ts";
import { parseKey } from "./parsed-key.ts";
import type { Scope } from "./scope.ts";
import { isNamespace, listedAs } from "./search.ts";
import { everything } from "./visibility.ts";

/** One way in which a key may be meant. */
export interface KeyReading {
  readonly as: "namespace.name" | "uri#namespace" | "name" | "uri";
  /** The only one that is searched; undefined where all are, in their order. */
  readonly namespace?: string | undefined;
  /** The text that is searched for. */
  readonly rest: string;
}

/** The meanings of a key. */
export interface KeyExplanation {
  /** In the order in which they are tried. */
  readonly readings: readonly KeyReading[];
  /** Everything that fits, the first of which is meant. */
  readonly candidates: readonly Entry<DefaultKind>[];
  /** Why it means nothing, where it does. */
  readonly problem?: string | undefined;
  /** Namespaces that may still come to have it. */
  readonly unsettled: readonly string[];
}

/** Everything a key may mean, in the order of lookups. Nothing is waited for, emitted or thrown. */
export function explainKey(key: string, within: Scope, strictNames: boolean): KeyExplanation {
  const { namespaces } = within;
  const readings = readingsOf(key, within);
  const found = readings.flatMap((reading) => searched(reading, namespaces));
  const candidates = [...new Map(found.map((entry) => [`${entry.kind} ${entry.ref}`, entry])).values()];
  const unsettled = readings.flatMap(({ as, namespace, rest }) => {
    const kinds: readonly DefaultKind[] = as === "name" || as === "namespace.name" ? ["tool", "prompt"] : ["resource"];
    return scope(namespace, namespaces).filter((each) => each.settling(false, { kinds, key: rest }) !== undefined);
  });
  return {
    readings,
    candidates,
    problem: problemOf(key, candidates, within, strictNames && readings[0]?.namespace === undefined),
    unsettled: [...new Set(unsettled.map(({ name }) => name))],
  };
}

function readingsOf(key: string, within: Scope): readonly KeyReading[] {
  const { scopedName, scopedUri, name, uri } = parseKey(key, (given) => isNamespace(given, within));
  const readings: KeyReading[] = [];
  if (scopedName !== undefined)
    readings.push({ as: "namespace.name", namespace: scopedName.namespace, rest: scopedName.name });
  if (scopedUri !== undefined)
    readings.push({ as: "uri#namespace", namespace: scopedUri.namespace, rest: scopedUri.uri });
  if (name !== undefined) readings.push({ as: "name", rest: name });
  if (uri !== undefined) readings.push({ as: "uri", rest: uri });
  const listed = listedAs(key, ["resource"], { scope: within, visibility: everything });
  if (listed !== undefined && uri === undefined && scopedUri === undefined)
    readings.push({ as: "uri#namespace", namespace: listed.namespace, rest: definitionOf(listed).key });
  return readings;
}

function searched({ as, namespace, rest }: KeyReading, namespaces: readonly Namespace[]): Entry<DefaultKind>[] {
  const where = scope(namespace, namespaces);
  if (as === "name" || as === "namespace.name")
    return where.flatMap((each) =>
      [each.get("tool", rest), each.get("prompt", rest)].filter((entry) => entry !== undefined),
    );
  const listed = where.map((each) => each.resource(rest)).filter((entry) => entry !== undefined);
  return [...listed, ...where.flatMap((each) => madeOf(each, rest))];
}

function madeOf(namespace: Namespace, uri: string): Entry<"resource">[] {
  try {
    return [fromTemplate(namespace, uri)].filter((entry) => entry !== undefined);
  } catch {
    return [];
  }
}

function scope(namespace: string | undefined, namespaces: readonly Namespace[]): readonly Namespace[] {
  return namespace === undefined ? namespaces : namespaces.filter(({ name }) => name === namespace);
}

function problemOf(key: string, candidates: readonly Entry[], within: Scope, mustBeOne: boolean): string | undefined {
  if (candidates.length === 0) return messageOf(notFound(key, defaultKinds, within, everything));
  const named = candidates.filter(({ kind }) => kind !== "resource");
  if (!mustBeOne || new Set(named.map(({ namespace }) => namespace)).size < 2) return undefined;
  return `It is in several namespaces, and strictNames is on: write one of ${named.map(({ ref }) => ref).join(", ")}.`;
}
