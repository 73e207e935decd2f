import type { Catalog } from "../catalog/catalog.ts";
import type { CheckedRules } from "../catalog/rule-check.ts";
import { everything, type Visibility } from "../catalog/visibility.ts";
import { changedEntriesOf, type ListEventType, type ToolkitEvent } from "../core/event.ts";
import { isUri, userNamespace } from "../core/identifier.ts";
import { assertRules, ChoosingRules, RefusingRules } from "../core/name-rules.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../core/options.ts";
import { isAddressed, type Named } from "../core/rule-names.ts";
import { isGlob } from "../lib/glob.ts";

/** The part of a toolkit that a view shows. The rules are live: they hold for items that come later too. */
export interface ViewSelection {
  /**
   * Refs, globs on refs, such as `weather.*` or `*#weather` for its resources, or bare names, each of which means what `lookup` finds.
   * Default: everything.
   */
  readonly include?: readonly string[] | undefined;
  /** Names or refs, in every namespace, or globs on these: what fits is not there, included or not. */
  readonly exclude?: readonly string[] | undefined;
  /**
   * The principal it belongs to. Calls that come without a session, or with one without a principal, are made as this principal, and those of
   * another are `DENIED`; of the namespace `user`, and of what is called, it reports this principal's own alone. Default: that of each
   * caller.
   */
  readonly principal?: string | undefined;
}

const selectionNames: OptionNames<ViewSelection> = { include: true, exclude: true, principal: true };

/** Decides what a view shows. */
export class ViewFilter implements Visibility {
  readonly principal: string | undefined;
  readonly include: ChoosingRules | undefined;
  readonly exclude: RefusingRules;
  readonly rules: string;
  readonly followsNames: boolean;
  readonly #catalog: Catalog;

  /** @throws ToolkitError `INVALID_CONFIG` for what is no such selection */
  constructor(selection: ViewSelection, catalog: Catalog) {
    assertOptionNames(selection, selectionNames, "of a view");
    const { include, exclude = [], principal } = selection;
    if (principal !== undefined && (typeof principal !== "string" || principal === ""))
      throw invalidOption("principal", "a text that is not empty", principal, "of a view");
    this.principal = principal;
    assertRules(include, "include", "of a view");
    assertRules(exclude, "exclude", "of a view");
    this.include = include === undefined ? undefined : new ChoosingRules([...include]);
    this.exclude = new RefusingRules([...exclude]);
    this.rules = include === undefined && exclude.length === 0 ? everything.rules : JSON.stringify([include, exclude]);
    this.followsNames = include?.some((text) => !isGlob(text)) ?? false;
    this.#catalog = catalog;
  }

  /** Its rules, each list with the place it stands in. */
  lists(): readonly CheckedRules[] {
    const exclude = { at: "exclude of a view", rules: this.exclude };
    return this.include === undefined ? [exclude] : [exclude, { at: "include of a view", rules: this.include }];
  }

  entry(item: Named): boolean {
    if (this.exclude.ruleFor(item) !== undefined) return false;
    return this.include === undefined || this.include.ruleFor(item, this.#catalog) !== undefined;
  }

  isOpen(item: Named): boolean {
    return this.include?.isOpen(item) ?? false;
  }

  hides(namespace: string): boolean {
    return this.include?.neverChoosesIn(namespace) ?? false;
  }

  namespace(name: string): boolean {
    return this.include?.mayChooseIn(name, this.#catalog) ?? true;
  }

  /** Whether something may be reported that belongs to this principal, or to none. */
  of(principal: string | undefined): boolean {
    return this.principal === undefined || this.principal === principal;
  }

  ref(ref: string): boolean {
    const items = this.#itemsOf(ref);
    return items.every((item) => this.exclude.ruleFor(item) === undefined) && items.some((item) => this.entry(item));
  }

  /** The refs of a change that are, or were, visible. */
  refs(event: ToolkitEvent<ListEventType>): Pick<typeof event, "added" | "removed" | "changed"> {
    const entries = changedEntriesOf(event);
    const isVisible = (ref: string) => this.ref(ref);
    if (entries === undefined) {
      const { added, removed, changed } = event;
      return { added: added.filter(isVisible), removed: removed.filter(isVisible), changed: changed.filter(isVisible) };
    }
    const refs = (list: readonly Named[], shows: (item: Named) => boolean) => list.filter(shows).map(({ ref }) => ref);
    return {
      added: refs(entries.added, (item) => this.entry(item)),
      removed: refs(entries.removed, (item) => this.#showed(item)),
      changed: refs(entries.changed, (item) => this.entry(item)),
    };
  }

  /** Whether an item that is gone was visible: `lookup` finds it no more. */
  #showed(item: Named): boolean {
    if (this.entry(item)) return true;
    if (this.exclude.ruleFor(item) !== undefined) return false;
    return this.include?.namesFor(item).some((name) => this.#meant(name, item)) === true;
  }

  #meant(name: string, { namespace }: Named): boolean {
    const meant = this.#catalog.meaning(name);
    if (typeof meant !== "object") return meant === undefined;
    if (namespace === userNamespace) return false;
    const order = this.#catalog.namespaces().map((each) => each.name);
    // One that is gone has no place in the order: it may have been before all others.
    return order.indexOf(namespace) <= order.indexOf(meant.namespace);
  }

  /** The items a ref may be of: the one that has it, or what can be read from it. */
  #itemsOf(ref: string): readonly Named[] {
    const found = this.#catalog.meaning(ref);
    if (typeof found === "object" && (found.ref === ref || (isAddressed(found) && ref.endsWith(`#${found.namespace}`))))
      return [found];
    const dot = ref.indexOf(".");
    const tool: Named = { kind: "tool", namespace: ref.slice(0, Math.max(dot, 0)), name: ref.slice(dot + 1), ref };
    const hash = ref.lastIndexOf("#");
    if (hash < 0 || !isUri(ref)) return [tool];
    const resource: Named = { kind: "resource", namespace: ref.slice(hash + 1), name: ref.slice(0, hash), ref };
    return [resource, tool];
  }
}
