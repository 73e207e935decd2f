import type { ContractChange, ContractEffect, PinnedKind } from "../core/pin.ts";
import { maxSchemaSize, sizeOf } from "../core/schema/size.ts";
import { canonicalJson } from "../lib/canonical.ts";
import { jsonFault } from "../lib/nesting.ts";
import { pointerTo } from "../lib/pointer.ts";
import { type StepBudget, StepsSpent } from "../lib/step-budget.ts";
import { isRecord } from "../lib/value.ts";
import { visible } from "../lib/visible-text.ts";
import { compareSchemas } from "./compare-schemas.ts";
import type { ItemContract } from "./contract.ts";
import { own } from "./schema-parts.ts";

/** The item that is compared, for the changes. */
export interface ComparedItem {
  readonly kind: PinnedKind;
  readonly key: string;
  readonly ref: string;
}

type Part = Pick<ContractChange, "what" | "effect" | "pointer"> & { readonly before: unknown; readonly after: unknown };

/** More changes of one item are not listed. */
const maxChanges = 50;
/** Values that are nested deeper are compared as text. */
const maxDepth = 256;
/** So much of a text is shown, and of what precedes its first difference. */
const shownLength = 200;
const leadLength = 40;

/** The changes of an item that have a meaning. It never takes more steps than there are left: what is not compared then is `different`. */
export function compareContracts(
  before: ItemContract | undefined,
  after: ItemContract | undefined,
  item: ComparedItem,
  budget: StepBudget,
): readonly ContractChange[] {
  if (before === undefined && after === undefined) return [];
  const parts: readonly Part[] =
    before === undefined
      ? [{ what: "added", pointer: "", before, after: after?.description ?? after?.title }]
      : after === undefined
        ? [{ what: "removed", pointer: "", before: before.description ?? before.title, after }]
        : [...partsOf(before, after, budget)];
  return parts.slice(0, maxChanges).map((part) => changeOf(item, part));
}

/** The change of the instructions of a server; none where they are equal. */
export function compareInstructions(
  before: string | null | undefined,
  after: string | null | undefined,
  item: ComparedItem,
): readonly ContractChange[] {
  const [one, other] = [before ?? undefined, after ?? undefined];
  return one === other ? [] : [changeOf(item, { what: "instructions", pointer: "", before: one, after: other })];
}

function* partsOf(before: ItemContract, after: ItemContract, budget: StepBudget): Iterable<Part> {
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [one, other] = [own(before, name), own(after, name)];
    if (one === other) continue;
    const pointer = pointerTo("", name);
    if (name === "input" || name === "output") yield* schemaParts(name, one, other, budget);
    else if (name === "arguments") yield* argumentParts(one, other);
    else if (name === "annotations") yield* annotationParts(one, other);
    else if (canonicalJson(one) !== canonicalJson(other))
      yield { what: whatOf(name), pointer, before: one, after: other };
  }
}

/** Names of resources are titles: their URI identifies them. */
function whatOf(name: string): ContractChange["what"] {
  if (name === "uncallable") return "annotations";
  return name === "description" || name === "mediaType" ? name : "title";
}

function* schemaParts(
  what: "input" | "output",
  given: unknown,
  givenAfter: unknown,
  budget: StepBudget,
): Iterable<Part> {
  // A tool without an input schema takes any object.
  const missing = what === "input" ? { type: "object" } : undefined;
  const [one = missing, other = missing] = [given, givenAfter];
  if (canonicalJson(one) === canonicalJson(other)) return;
  const pointer = `/${what}`;
  const whole: Part = { what, effect: "different", pointer, before: one, after: other };
  if (!isRecord(one) || !isRecord(other)) {
    const effect: ContractEffect = one === undefined ? "narrower" : other === undefined ? "wider" : "different";
    yield { ...whole, effect };
    return;
  }
  const isLarge = [one, other].some((each) => sizeOf(each, maxSchemaSize + 1) > maxSchemaSize);
  if (isLarge || [one, other].some((each) => jsonFault(each, maxDepth) !== undefined)) {
    yield whole;
    return;
  }
  try {
    for (const { what: kind, pointer: inside, before, after } of compareSchemas(one, other, budget)) {
      const at = { pointer: `${pointer}${inside}`, before, after };
      yield kind === "description" || kind === "title" ? { what: kind, ...at } : { what, effect: kind, ...at };
    }
  } catch (error) {
    if (!(error instanceof StepsSpent)) throw error;
    yield whole;
  }
}

/** The arguments of a prompt: a list without a meaning in its order. */
function* argumentParts(one: unknown, other: unknown): Iterable<Part> {
  const [before, after] = [byName(one), byName(other)];
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const [was, is] = [before.get(name), after.get(name)];
    const pointer = pointerTo("/arguments", name);
    const change = { what: "arguments", pointer, before: was, after: is } as const;
    if (was === undefined) yield { ...change, effect: is?.required === true ? "different" : "wider" };
    else if (is === undefined) yield { ...change, effect: "narrower" };
    else {
      if ((was.required === true) !== (is.required === true))
        yield { ...change, effect: is.required === true ? "narrower" : "wider" };
      for (const what of ["title", "description"] as const) {
        if (canonicalJson(was[what]) !== canonicalJson(is[what]))
          yield { what, pointer: pointerTo(pointer, what), before: was[what], after: is[what] };
      }
    }
  }
}

function byName(list: unknown): ReadonlyMap<string, Readonly<Record<string, unknown>>> {
  const records = Array.isArray(list) ? list.filter(isRecord) : [];
  return new Map(records.map((each) => [String(each.name), each]));
}

function* annotationParts(one: unknown, other: unknown): Iterable<Part> {
  const [before, after] = [isRecord(one) ? one : {}, isRecord(other) ? other : {}];
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [was, is] = [own(before, name), own(after, name)];
    if (canonicalJson(was) === canonicalJson(is)) continue;
    const what = name === "title" ? "title" : "annotations";
    yield { what, pointer: pointerTo("/annotations", name), before: was, after: is };
  }
}

function changeOf(item: ComparedItem, { what, effect, pointer, before, after }: Part): ContractChange {
  const [was, is] = shownTexts(before, after);
  const subject = visible(item.ref.length > shownLength ? `${item.ref.slice(0, shownLength)}…` : item.ref);
  const message = `${subject}: ${sentence({ what, effect, pointer: visible(pointer), was, is })}`;
  const fields = { kind: item.kind, key: item.key, ref: item.ref, what, pointer, message };
  return {
    ...fields,
    ...(effect === undefined ? {} : { effect }),
    ...(was === undefined ? {} : { before: was }),
    ...(is === undefined ? {} : { after: is }),
  };
}

const verbs = { wider: "takes more", narrower: "takes less", different: "is different" } as const;
const outputVerbs = { wider: "may give more", narrower: "gives less", different: "is different" } as const;

interface Shown {
  readonly what: ContractChange["what"];
  readonly effect: ContractEffect | undefined;
  readonly pointer: string;
  readonly was: string | undefined;
  readonly is: string | undefined;
}

function sentence({ what, effect, pointer, was, is }: Shown): string {
  if (what === "added") return `it is new${is === undefined ? "." : `: ${is}`}`;
  if (what === "removed") return "it is gone.";
  const at = pointer === "" ? "" : ` (${pointer})`;
  const verb = effect === undefined ? "changed" : (what === "output" ? outputVerbs : verbs)[effect];
  const from = was === undefined ? "there was nothing" : `it was ${was}`;
  return `the ${what === "mediaType" ? "media type" : what}${at} ${verb}: ${from}, and now ${is === undefined ? "there is nothing" : `it is ${is}`}.`;
}

/** Both as people can read them, from shortly before the first difference on. */
function shownTexts(before: unknown, after: unknown): readonly [string | undefined, string | undefined] {
  const [was, is] = [textOf(before), textOf(after)];
  let start = 0;
  if (was !== undefined && is !== undefined) {
    while (start < was.length && start < is.length && was[start] === is[start]) start += 1;
    start = Math.max(was.length, is.length) <= shownLength ? 0 : Math.max(0, start - leadLength);
  }
  return [cut(was, start), cut(is, start)];
}

function textOf(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  return typeof value === "string" ? JSON.stringify(value) : canonicalJson(value);
}

function cut(text: string | undefined, start: number): string | undefined {
  if (text === undefined) return undefined;
  const part = text.slice(start, start + shownLength);
  return visible(`${start > 0 ? "…" : ""}${part}${start + shownLength < text.length ? "…" : ""}`);
}
