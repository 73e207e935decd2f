import type { EventListener, ToolkitEvent, ToolkitEventType } from "../core/event.ts";
import type { Host } from "../core/host.ts";
import { builtinNamespace, userNamespace } from "../core/identifier.ts";
import type { Entry } from "../core/item.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../core/options.ts";
import { refGlob } from "../core/ref-glob.ts";
import { glob } from "../lib/glob.ts";
import { assertGlobs } from "../toolset/selection.ts";

/**
 * What may be seen through a view. The globs are live rules: they hold for what comes later too, and one that nothing fits now is no
 * mistake.
 */
export interface ViewSelection {
  /** Globs on refs, such as `weather.*` or `*#weather` for its resources, or bare names of builtin tools and prompts. Default: everything. */
  readonly include?: readonly string[] | undefined;
  /** The same: what fits is not there, included or not. */
  readonly exclude?: readonly string[] | undefined;
  /**
   * Whose view it is. Calls that come without a session, or with one that names nobody, are made as this principal, and those of another
   * are `DENIED`; of the namespace `user`, and of what is called, it tells this principal's own alone. Default: of whoever calls.
   */
  readonly principal?: string | undefined;
}

const selectionNames: OptionNames<ViewSelection> = { include: true, exclude: true, principal: true };

/** Says what a view shows, from globs on refs. */
export class ViewFilter {
  readonly principal: string | undefined;
  readonly #shows: (ref: string) => boolean;
  readonly #namespaces: ((name: string) => boolean) | undefined;

  /** @throws ToolkitError `INVALID_CONFIG` for what is no such selection */
  constructor(selection: ViewSelection) {
    assertOptionNames(selection, selectionNames, "of a view");
    const { include, exclude = [], principal } = selection;
    if (principal !== undefined && (typeof principal !== "string" || principal === ""))
      throw invalidOption("principal", "a text that is not empty", principal, "of a view");
    this.principal = principal;
    assertGlobs("include", include, "of a view");
    assertGlobs("exclude", exclude, "of a view");
    const included = include?.map(refGlob);
    const excluded = exclude.map(refGlob);
    this.#shows = (ref) =>
      (included === undefined || included.some((fits) => fits(ref))) && !excluded.some((fits) => fits(ref));
    const namespaces = include?.map(namespacePattern);
    this.#namespaces = namespaces === undefined ? undefined : (name) => namespaces.some((fits) => fits(name));
  }

  entry({ ref }: Entry): boolean {
    return this.#shows(ref);
  }

  /** Whether something may be told that is of this principal, or of nobody. */
  of(principal: string | undefined): boolean {
    return this.principal === undefined || this.principal === principal;
  }

  ref(ref: string): boolean {
    return this.#shows(ref);
  }

  namespace(name: string): boolean {
    return this.#namespaces?.(name) ?? true;
  }
}

/** The namespaces a glob on refs may mean: what stands before its first dot, or behind the `#` of a resource. */
function namespacePattern(pattern: string): (name: string) => boolean {
  const hash = pattern.lastIndexOf("#");
  if (hash >= 0) return glob(pattern.slice(hash + 1));
  const dot = pattern.indexOf(".");
  // A `*` before the dot may stand for a dot as well.
  if (dot >= 0) return glob(pattern.slice(0, dot));
  // Without a dot it may be the bare name of a builtin.
  const fits = glob(pattern);
  return (name) => name === builtinNamespace || fits(name);
}

type Toolbox = Omit<Host, "on">;

/** A live view: a Host that shows only a part, changes included. */
export class View implements Host {
  readonly lookup: Host["lookup"];
  readonly list: Host["list"];
  readonly call: Host["call"];
  readonly read: Host["read"];
  readonly render: Host["render"];
  readonly subscribe: Host["subscribe"];
  readonly #on: Host["on"];
  readonly #sight: ViewFilter;

  /**
   * @param toolbox - finds only what may be seen
   * @param on - hears of everything
   */
  constructor(toolbox: Toolbox, on: Host["on"], sight: ViewFilter) {
    this.lookup = toolbox.lookup.bind(toolbox);
    this.list = toolbox.list.bind(toolbox);
    this.call = toolbox.call.bind(toolbox);
    this.read = toolbox.read.bind(toolbox);
    this.render = toolbox.render.bind(toolbox);
    this.subscribe = toolbox.subscribe.bind(toolbox);
    this.#on = on;
    this.#sight = sight;
  }

  on<T extends ToolkitEventType | "*">(type: T, listener: EventListener<T>): () => void {
    return this.#on(type, ((event: ToolkitEvent) => {
      const shown = this.#shown(event);
      if (shown !== undefined) (listener as (event: ToolkitEvent) => void)(shown);
    }) as EventListener<T>);
  }

  /** Everybody has what is in other namespaces. */
  #isOwn({ namespace, principal }: { readonly namespace: string; readonly principal?: string | undefined }): boolean {
    return namespace !== userNamespace || this.#sight.of(principal);
  }

  /** What of an event may be told; undefined where nothing may. */
  #shown(event: ToolkitEvent): ToolkitEvent | undefined {
    const sight = this.#sight;
    const seen = (refs: readonly string[]) => refs.filter((ref) => sight.ref(ref));
    switch (event.type) {
      case "toolListChanged":
      case "promptListChanged":
      case "resourceListChanged": {
        if (!this.#isOwn(event)) return undefined;
        const { added, removed, changed } = event;
        const shown = { ...event, added: seen(added), removed: seen(removed), changed: seen(changed) };
        return shown.added.length + shown.removed.length + shown.changed.length > 0 ? shown : undefined;
      }
      case "ambiguousName": {
        const candidates = seen(event.candidates);
        if (event.principal !== undefined && !sight.of(event.principal)) return undefined;
        return candidates.length > 1 && sight.ref(event.chosen) ? { ...event, candidates } : undefined;
      }
      case "resourceUpdated":
        return this.#isOwn(event) && sight.ref(`${event.uri}#${event.namespace}`) ? event : undefined;
      case "approvalRequested":
      case "approvalResolved":
      case "callStarted":
      case "callFinished":
      case "agentStep":
        return sight.of(event.principal) && sight.ref(event.ref) ? event : undefined;
      default:
        return "namespace" in event && !sight.namespace(event.namespace) ? undefined : event;
    }
  }
}
