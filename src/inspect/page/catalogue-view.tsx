import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { InspectionStatus, ListedItem, ListedItems } from "../inspection-face.ts";
import { listTypes, namespaceTypes, read, useRead } from "./client.ts";
import { ItemView } from "./item-view.tsx";
import { Badge, Heading, Problem, plural } from "./parts.tsx";

/** The place of the catalogue in the page. */
export interface CatalogueProps {
  /** `prompts` shows these alone. */
  readonly place: "catalogue" | "prompts";
  /** The kind and the ref of the item that is open. */
  readonly kind: string | undefined;
  readonly item: string | undefined;
}

/** Items that are shown before more are asked for. */
const pageSize = 100;
const kindNames = [
  ["", "Everything"],
  ["tool", "Tools"],
  ["prompt", "Prompts"],
  ["resource", "Resources"],
  ["template", "Templates"],
] as const;

/** The items, found by words, and the one that is open. */
export function CatalogueView({ place, kind, item }: CatalogueProps) {
  const [words, search] = useState("");
  const [only, choose] = useState("");
  const [namespace, within] = useState("");
  const [limit, show] = useState(pageSize);
  const query = { words: useSettled(words), kind: place === "prompts" ? "prompt" : only, namespace, limit };
  const list = useRead(JSON.stringify(query), () => read<ListedItems>("items", query), listTypes);
  const shown = useLatest(list.value);
  const field = useRef<HTMLInputElement>(null);
  // Before it is painted: a key may be pressed as soon as the field is seen.
  useLayoutEffect(() => {
    const focus = (event: KeyboardEvent) => {
      const { target } = event;
      if (event.key !== "/" || (target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)))
        return;
      event.preventDefault();
      field.current?.focus();
    };
    addEventListener("keydown", focus);
    return () => removeEventListener("keydown", focus);
  }, []);
  const count = shown?.count ?? 0;
  const items = shown?.items ?? [];
  return (
    <>
      <Heading text={place === "prompts" ? "Prompts" : "Catalogue"} />
      <search class="filters">
        <label>
          Search
          <input
            ref={field}
            type="search"
            value={words}
            placeholder="Words of a name or a description"
            onInput={({ currentTarget }) => {
              search(currentTarget.value);
              show(pageSize);
            }}
          />
        </label>
        {place === "catalogue" && (
          <label>
            Kind
            <select value={only} onChange={({ currentTarget }) => choose(currentTarget.value)}>
              {kindNames.map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          </label>
        )}
        <NamespaceChoice value={namespace} onChoose={within} />
      </search>
      <Problem error={list.error} />
      <div class="columns">
        <div>
          <p role="status" class="quiet">
            {shown === undefined ? "Loading" : `${plural(count, "item")} found`}
          </p>
          <ul class="items">
            {items.map((each) => (
              <Row
                key={`${each.kind} ${each.ref}`}
                item={each}
                place={place}
                isOpen={each.ref === item && each.kind === kind}
              />
            ))}
          </ul>
          {items.length < count && (
            <button type="button" onClick={() => show(limit + pageSize)} disabled={limit >= 500}>
              {limit >= 500 ? "Search for the others" : `Show ${Math.min(pageSize, count - items.length)} more`}
            </button>
          )}
        </div>
        <div>
          {kind !== undefined && item !== undefined && <ItemView key={`${kind} ${item}`} kind={kind} item={item} />}
        </div>
      </div>
    </>
  );
}

function Row({ item, place, isOpen }: { readonly item: ListedItem; readonly place: string; readonly isOpen: boolean }) {
  const { kind, ref, label, title, description, stale, refusedBy } = item;
  return (
    <li>
      <a href={`#/${place}/${kind}/${encodeURIComponent(ref)}`} aria-current={isOpen ? "true" : undefined}>
        <span class="ref">{label}</span> {place === "catalogue" && <span class="kind">{kind}</span>}
        {stale && <Badge tone="bad">not connected</Badge>}
        {refusedBy !== undefined && <Badge tone="bad">refused</Badge>}
        {(title ?? description) !== undefined && <span class="about">{title ?? description}</span>}
      </a>
    </li>
  );
}

function NamespaceChoice({ value, onChoose }: { readonly value: string; onChoose(namespace: string): void }) {
  const status = useRead("status", () => read<InspectionStatus>("status"), namespaceTypes);
  return (
    <label>
      Namespace
      <select value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
        <option value="">All</option>
        {(status.value?.namespaces ?? []).map(({ namespace }) => (
          <option key={namespace} value={namespace}>
            {namespace}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A text once it has not changed for a moment: not every key is searched for. */
function useSettled(text: string): string {
  const [settled, settle] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => settle(text), 120);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

/** The last value that there was: a list stays until the next one is there. */
function useLatest<T>(value: T | undefined): T | undefined {
  const latest = useRef(value);
  if (value !== undefined) latest.current = value;
  return latest.current;
}
