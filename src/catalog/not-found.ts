import { basename } from "node:path";
import { ToolkitError } from "../core/error.ts";
import { isUri, userNamespace } from "../core/identifier.ts";
import { type Kind, kinds } from "../core/item.ts";
import { didYouMean, nearest } from "../lib/similar.ts";
import { kindsBehind } from "./from-template.ts";
import type { Namespace } from "./namespace.ts";
import { parseKey } from "./parsed-key.ts";
import type { Scope } from "./scope.ts";
import { isNamespace, type Patience } from "./search.ts";
import { everything, type Visibility } from "./visibility.ts";

/** Above so many names none are compared: an error must not be dear. */
const maxCompared = 20_000;

/** The most namespaces that an error names. */
const maxNamespaces = 20;

/** The error for a key that namespaces would have to have whose servers never listed such items; undefined where each has. */
export function unreached(
  key: string,
  kinds: readonly Kind[],
  namespaces: Iterable<Namespace>,
): ToolkitError<"UNAVAILABLE"> | undefined {
  const behind = kindsBehind(kinds);
  for (const namespace of namespaces) {
    const { name } = namespace;
    const isUnknown = namespace.connection === undefined || !namespace.hasListed(behind);
    const error = isUnknown ? namespace.failures(behind)[0]?.error : undefined;
    if (!ToolkitError.is(error, "UNAVAILABLE")) continue;
    const message = `There is no ${kinds.join(" or ")} "${key}" yet: ${error.message}`;
    const details = { ...error.details, namespace: name };
    return new ToolkitError("UNAVAILABLE", message, details, { cause: error, phase: "resolve" });
  }
  return undefined;
}

/**
 * The error for a key that finds nothing: near matches, and why a namespace that was asked for has nothing. A call that names the
 * namespace of a connector that has never connected gets `UNAVAILABLE`: what its server has is not known.
 */
export function notFound(
  key: string,
  kinds: readonly Kind[],
  within: Scope,
  visibility: Visibility,
  patience: Patience = "lookup",
): ToolkitError<"NOT_FOUND" | "UNAVAILABLE"> {
  const parsed = parseKey(key, (name) => isNamespace(name, within));
  const scope = parsed.scopedName?.namespace ?? parsed.scopedUri?.namespace;
  const seen = within.namespaces.filter(({ name }) => visibility.namespace(name));
  const searched = scope === undefined ? seen : seen.filter(({ name }) => name === scope);
  const named = scope === undefined || patience === "lookup" ? [] : searched;
  const error = unreached(
    key,
    kinds,
    named.filter(({ connection }) => connection !== undefined),
  );
  if (error !== undefined) return error;
  const suggestions = nearest(key, refs(searched, kinds, visibility), 4)
    .filter((ref) => ref !== key)
    .slice(0, 3);
  const failures = searched.flatMap((namespace) => namespace.failures(kindsBehind(kinds)).map(({ error }) => error));
  const message = [
    `There is no ${kinds.length < 3 ? kinds.join(" or ") : "item"} "${key}".`,
    ...reasonsFor(parsed.scopedName?.name ?? key, failures, scope !== undefined),
    ...(scope === undefined ? namespacesFor(key, seen, visibility) : []),
    didYouMean(suggestions),
  ]
    .filter(Boolean)
    .join(" ");
  return new ToolkitError("NOT_FOUND", message, { key, suggestions }, { phase: "resolve" });
}

/**
 * The failures that may be why a name is not there: of a broken file that has this name, else of what was not reached. Those of other files say
 * something of a namespace that was named, and are noise elsewhere.
 */
function reasonsFor(name: string, failures: readonly Error[], isScoped: boolean): readonly string[] {
  const inFiles = failures.filter((error) => fileOf(error) !== undefined);
  const ofName = inFiles.filter((error) => stem(fileOf(error) ?? "") === name);
  const others = failures.filter((error) => fileOf(error) === undefined);
  const [first, ...more] = ofName.length > 0 || !isScoped ? ofName : inFiles;
  const counted =
    more.length === 0 ? [] : [`${more.length} more ${more.length === 1 ? "file has" : "files have"} mistakes.`];
  return [
    ...(isScoped ? others : others.slice(0, 1)).map(({ message }) => message),
    ...(first === undefined ? [] : [first.message, ...counted]),
  ];
}

function fileOf(error: Error): string | undefined {
  const file = ToolkitError.is(error) && "file" in error.details ? error.details.file : undefined;
  return typeof file === "string" ? file : undefined;
}

/** The last part of a path or name, without its ending. */
function stem(path: string): string {
  return basename(path).replace(/\.[^.]*$/, "");
}

/** Says which namespaces there are, where a key seems to name one that there is not. A view tells of those only that have something in it. */
function namespacesFor(key: string, seen: readonly Namespace[], visibility: Visibility): readonly string[] {
  const [, name] = /^([A-Za-z][A-Za-z0-9_-]*)\./.exec(key) ?? [];
  if (name === undefined || isUri(key)) return [];
  const isShown = (namespace: Namespace) =>
    visibility === everything || !refs([namespace], kinds, visibility).next().done;
  const names = seen.filter((each) => each.name !== userNamespace && isShown(each)).map((each) => each.name);
  if (names.length === 0) return [];
  const shown = names.length > maxNamespaces ? [...names.slice(0, maxNamespaces), "…"] : names;
  return [`There is no namespace "${name}": there are ${shown.join(", ")}.`];
}

function* refs(namespaces: readonly Namespace[], kinds: readonly Kind[], visibility: Visibility): Generator<string> {
  let left = maxCompared;
  for (const namespace of namespaces) {
    for (const kind of kinds) {
      for (const item of namespace.sorted(kind)) {
        if (left-- === 0) return;
        if (visibility.entry(item)) yield item.ref;
      }
    }
  }
}
