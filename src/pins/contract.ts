import type {
  DescriptorMap,
  PromptDescriptor,
  ResourceDescriptor,
  TemplateDescriptor,
  ToolDescriptor,
} from "../core/connector.ts";
import { ToolkitError } from "../core/error.ts";
import { type Kind, kinds } from "../core/item.ts";
import type { Pin, PinnedKind } from "../core/pin.ts";
import { canonicalJson, digest, digestOfJson } from "../lib/canonical.ts";
import { isRecord, present } from "../lib/value.ts";

/** The description of an item as plain data: without `meta` and size, which differ at each list. */
export type ItemContract = Readonly<Record<string, unknown>>;

/** The contract of a connector. A kind whose list was never read is missing. */
export interface Contract {
  /** Null where the server gives none; undefined where that was never seen. */
  readonly instructions?: string | null | undefined;
  readonly items: ReadonlyMap<Kind, ReadonlyMap<string, ItemContract>>;
}

/** The contract of nothing that was seen. */
export const noContract: Contract = { items: new Map() };

const readers: { readonly [K in Kind]: (descriptor: DescriptorMap[K]) => ItemContract } = {
  tool: ({ title, description, input, output, annotations, uncallable }: ToolDescriptor) =>
    present({ title, description, input, output, annotations, uncallable }),
  prompt: ({ title, description, arguments: list }: PromptDescriptor) =>
    present({ title, description, arguments: list?.length === 0 ? undefined : list }),
  resource: ({ name, title, description, mediaType }: ResourceDescriptor) =>
    present({ name, title, description, mediaType }),
  template: ({ name, title, description, mediaType }: TemplateDescriptor) =>
    present({ name, title, description, mediaType }),
};

/** The contract of a descriptor: a copy, which nothing changes afterwards. @throws TypeError for what JSON cannot hold */
export function contractOf<K extends Kind>(kind: K, descriptor: DescriptorMap[K]): ItemContract {
  const read = readers[kind] as (given: DescriptorMap[K]) => ItemContract;
  const text = canonicalJson(read(descriptor));
  const contract = JSON.parse(text) as ItemContract;
  versions.set(contract, digestOfJson(text));
  return contract;
}

/** Made where the text is: a server may have 10,000 items. */
const versions = new WeakMap<ItemContract, string>();

/** Identifies a contract of an item, or instructions; equal however it was written, not by meaning. */
export function versionOf(contract: ItemContract | string | null | undefined): string {
  if (contract === undefined) return "absent";
  return (typeof contract === "object" && contract !== null && versions.get(contract)) || digest(contract);
}

/** The contract as JSON, with the members in the order of a reader. */
export function contractToJson({ instructions, items }: Contract): Readonly<Record<string, unknown>> {
  const lists = kinds.flatMap((kind) => {
    const list = items.get(kind);
    return list === undefined ? [] : [[kind, Object.fromEntries([...list].sort(byKey))] as const];
  });
  return { ...present({ instructions }), ...Object.fromEntries(lists) };
}

/**
 * Reads a contract that was kept.
 *
 * @param at - where it stands, for the message
 * @throws Error that says where it is no contract
 */
export function parseContract(value: unknown, at: string): Contract {
  if (!isRecord(value)) throw new Error(`${at} is no object`);
  const { instructions, ...rest } = value;
  if (instructions !== undefined && instructions !== null && typeof instructions !== "string")
    throw new Error(`${at}/instructions is no text`);
  const items = new Map<Kind, ReadonlyMap<string, ItemContract>>();
  for (const [kind, list] of Object.entries(rest)) {
    if (!(kinds as readonly string[]).includes(kind)) throw new Error(`${at}/${kind} is no kind of item`);
    if (!isRecord(list)) throw new Error(`${at}/${kind} is no object`);
    const contracts = Object.entries(list).map(([key, contract]): [string, ItemContract] => {
      if (!isRecord(contract)) throw new Error(`${at}/${kind}/${key} is no object`);
      return [key, contract];
    });
    items.set(kind as Kind, new Map(contracts));
  }
  return { instructions, items };
}

/** A part of a contract that is accepted: as it was kept, and as it was seen; undefined where it was not there, or is gone. */
export interface AcceptedPart {
  readonly kind: PinnedKind;
  readonly key: string;
  readonly ref: string;
  readonly before: unknown;
  readonly after: unknown;
}

const maxBytes = 32 * 2 ** 20;

/** The contract with what it lacks, taken from others; itself where it lacks nothing that they have. */
export function completed(contract: Contract, others: readonly Contract[]): Contract {
  let { instructions } = contract;
  const items = new Map(contract.items);
  for (const other of others) {
    instructions = instructions === undefined ? other.instructions : instructions;
    for (const [kind, list] of other.items) if (!items.has(kind)) items.set(kind, list);
  }
  const isSame = instructions === contract.instructions && items.size === contract.items.size;
  return isSame ? contract : { instructions, items };
}

/**
 * The contract with some parts as they were seen.
 *
 * @throws ToolkitError `CONFLICT` where another process has accepted something else meanwhile
 */
export function replaced(contract: Contract, accepted: readonly AcceptedPart[]): Contract {
  let { instructions } = contract;
  const items = new Map([...contract.items].map(([kind, list]) => [kind, new Map(list)]));
  for (const { kind, key, ref, before, after } of accepted) {
    const kept = kind === "instructions" ? (contract.instructions ?? null) : contract.items.get(kind)?.get(key);
    if (![before, after].some((each) => versionOf(each as ItemContract) === versionOf(kept)))
      throw new ToolkitError(
        "CONFLICT",
        `${ref} was accepted by another process meanwhile, as something else. Look at its changes again.`,
        { key: ref, owners: [] },
      );
    if (kind === "instructions") instructions = after as string | null;
    else {
      const list = items.get(kind) ?? new Map<string, ItemContract>();
      items.set(kind, list);
      if (after === undefined) list.delete(key);
      else list.set(key, after as ItemContract);
    }
  }
  return { instructions, items };
}

/** @throws ToolkitError `LIMIT_EXCEEDED` */
export function assertSize(namespace: string, contract: Contract): void {
  const bytes = Buffer.byteLength(JSON.stringify(contractToJson(contract)));
  if (bytes <= maxBytes) return;
  const message = `The contract of "${namespace}" has ${bytes} bytes, and at most ${maxBytes} are pinned. Lower maxListSize, or do without pins.`;
  throw new ToolkitError("LIMIT_EXCEEDED", message, { limit: "pins", max: maxBytes, actual: bytes });
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The error for an item that changed and is not accepted. Its message quotes nothing of the server: a model may get it. */
export function quarantined(
  ref: string,
  { namespace, changes }: Pick<Pin, "namespace" | "changes">,
): ToolkitError<"QUARANTINED"> {
  const parts = [...new Set(changes.map(({ what }) => (what === "added" ? "it is new" : `its ${what} changed`)))];
  const why = parts.length === 0 ? "it changed" : parts.join(", ");
  const message = `${ref} is in quarantine, for its server shows something else than was accepted: ${why}. Look at toolkit.pins.list, and accept it with toolkit.pins.accept.`;
  return new ToolkitError("QUARANTINED", message, { namespace, changes }, { ref, phase: "policy" });
}
