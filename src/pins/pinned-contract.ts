import { refOf } from "../core/entry.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import { type Kind, kinds } from "../core/item.ts";
import type { ContractChange, Pin, PinnedKind } from "../core/pin.ts";
import { StepBudget } from "../lib/step-budget.ts";
import { compareContracts, compareInstructions } from "./compare-contracts.ts";
import {
  assertSize,
  type Contract,
  completed,
  type ItemContract,
  noContract,
  quarantined,
  replaced,
  versionOf,
} from "./contract.ts";
import type { KeptContract, PinPlace } from "./pin-place.ts";

/** The contract of a server: as of a handshake, or of the kinds whose lists changed. */
export interface SeenContract {
  /** Null where it gives none; undefined where that was not asked. */
  readonly instructions?: string | null | undefined;
  readonly items: ReadonlyMap<Kind, ReadonlyMap<string, ItemContract>>;
  /** Kinds of which the list was cut: what is missing may be there. */
  readonly cut: ReadonlySet<Kind>;
  /** Kinds whose list could not be read. */
  readonly unread: readonly Kind[];
}

/** The connection of a contract. */
export interface PinnedContractHost {
  readonly namespace: string;
  readonly onChange: "report" | "quarantine";
  /** Reports a problem that fails nothing. */
  warn(message: string): void;
  /** Changes that were not seen before; of very many the first. */
  report(changes: readonly ContractChange[], omitted: number): void;
  /** Other items may be refused than before. */
  changed(): void;
}

/** Where the contract is kept. `isHeld`: nothing is kept unasked, such as for a check. */
export interface PinKeeping {
  readonly place: PinPlace;
  readonly isHeld: boolean;
  hold(work: Promise<unknown>): void;
}

/** A pin, and the two contracts that it compares. */
interface ComparedPin extends Pin {
  readonly before: unknown;
  readonly after: unknown;
}

/** Steps of all comparisons after one reading of lists: some 100 ms. */
const maxSteps = 400_000;
const maxReported = 1_000;
/** Contracts that are remembered as reported: a server can make up any number. */
const maxRemembered = 20_000;
const maxConflicts = 10;

/** The contract of one connector: what was accepted, what was seen, and how they differ. */
export class PinnedContract {
  readonly namespace: string;
  readonly #host: PinnedContractHost;
  readonly #keeping: () => PinKeeping;
  #kept: KeptContract | undefined;
  #instructions: string | null | undefined;
  readonly #seen = new Map<Kind, ReadonlyMap<string, ItemContract>>();
  #cut = new Set<Kind>();
  readonly #unread = new Set<Kind>();
  #pins = new Map<string, ComparedPin>();
  /** The versions that were reported, by pin. */
  readonly #reported = new Map<string, Set<string>>();
  #remembered = 0;
  /** One after the other: what is loaded later is newer. */
  #working: Promise<unknown> = Promise.resolve();

  constructor(host: PinnedContractHost, keeping: () => PinKeeping) {
    this.namespace = host.namespace;
    this.#host = host;
    this.#keeping = keeping;
  }

  get pins(): readonly Pin[] {
    return [...this.#pins.values()].map(({ before: _, after: __, ...pin }) => Object.freeze(pin));
  }

  /** True once anything was seen. */
  get isSeen(): boolean {
    return this.#seen.size > 0 || this.#unread.size > 0;
  }

  get unread(): readonly Kind[] {
    return [...this.#unread];
  }

  /** The instructions that models may be given: in quarantine the accepted ones. */
  get instructions(): string | undefined {
    const pin = this.#pins.get(idOf("instructions", ""));
    const text = pin?.state === "quarantined" ? this.#kept?.contract.instructions : this.#instructions;
    return text ?? undefined;
  }

  /** The pin of an item that is refused. */
  quarantined(kind: Kind, key: string): Pin | undefined {
    const pin = this.#pins.get(idOf(kind, key));
    if (pin !== undefined) return pin.state === "quarantined" ? pin : undefined;
    if (this.#host.onChange === "report") return undefined;
    // An item without a contract that can be compared was not accepted.
    const { namespace } = this;
    const ref = refOf(kind, namespace, key);
    return { namespace, kind, key, ref, state: "quarantined", version: "absent", changes: [] };
  }

  /** @throws ToolkitError `QUARANTINED` */
  assertAccepted(kind: Kind, key: string): void {
    const pin = this.quarantined(kind, key);
    if (pin !== undefined) throw quarantined(pin.ref, pin);
  }

  pin(kind: PinnedKind, key: string): Pin | undefined {
    return this.#pins.get(idOf(kind, key));
  }

  /**
   * Loads what is kept, and keeps what is seen for the first time. A failure is a warning.
   *
   * @throws ToolkitError in quarantine, where nothing is known that could be compared
   */
  async prepare(seen: SeenContract, signal?: AbortSignal): Promise<void> {
    try {
      await this.#inTurn(() => this.#load(seen, signal));
    } catch (error) {
      signal?.throwIfAborted();
      if (this.#host.onChange === "quarantine" && this.#kept === undefined) throw error;
      this.#host.warn(`Its pins cannot be loaded or kept: ${messageOf(error)}`);
      const contract = completed(this.#kept?.contract ?? noContract, [seen]);
      this.#kept = { contract, version: this.#kept?.version ?? "" };
    }
  }

  /** Takes what was seen, after `prepare`. */
  see({ instructions, items, cut, unread }: SeenContract): void {
    if (instructions !== undefined) this.#instructions = instructions;
    for (const [kind, list] of items) {
      this.#seen.set(kind, list);
      this.#unread.delete(kind);
      if (cut.has(kind)) this.#cut.add(kind);
      else this.#cut.delete(kind);
    }
    for (const kind of unread) this.#unread.add(kind);
    this.#compare();
  }

  /** Reports the changes that were not reported before. */
  report(): void {
    const changes: ContractChange[] = [];
    for (const [id, { version, changes: found }] of this.#pins) {
      if (found.length === 0 || this.#reported.get(id)?.has(version)) continue;
      this.#remember(id, version);
      changes.push(...found);
    }
    if (changes.length === 0) return;
    this.#host.report(Object.freeze(changes.slice(0, maxReported)), Math.max(0, changes.length - maxReported));
  }

  #remember(id: string, version: string): void {
    if (this.#remembered >= maxRemembered) {
      this.#reported.clear();
      this.#remembered = 0;
    }
    const versions = this.#reported.get(id) ?? new Set();
    this.#reported.set(id, versions.add(version));
    this.#remembered += 1;
  }

  /** Loads what others have accepted meanwhile. A failure is a warning. */
  async reload(): Promise<void> {
    if (!this.isSeen) return;
    try {
      await this.#inTurn(() => this.#load({ items: new Map(), cut: new Set(), unread: [] }, undefined));
      this.#changed();
    } catch (error) {
      this.#host.warn(`Its pins cannot be loaded: ${messageOf(error)}`);
    }
  }

  /**
   * Keeps what is seen now of some pins as accepted.
   *
   * @throws ToolkitError `CONFLICT` where one of them was seen changed; `STORE_FAILED`
   */
  async accept(pins: readonly Pin[]): Promise<void> {
    const accepted = pins.map(({ kind, key, ref, version }) => {
      const pin = this.#pins.get(idOf(kind, key));
      if (pin?.version === version) return pin;
      const message = `${ref} has changed again since you looked at it. Look at its changes, and accept it as it is now.`;
      throw new ToolkitError("CONFLICT", message, { key: ref, owners: [] });
    });
    await this.#inTurn(() => this.#save((contract) => replaced(contract, accepted)));
    // To go back is another change.
    for (const { kind, key } of accepted) this.#reported.delete(idOf(kind, key));
    this.#changed();
  }

  /** Keeps all that is seen now. */
  async acceptAll(): Promise<void> {
    const seen = { instructions: this.#instructions, items: new Map(this.#seen) };
    await this.#inTurn(() => this.#save((contract) => completed(seen, [contract])));
    this.#changed();
  }

  #changed(): void {
    this.#compare();
    this.#host.changed();
    this.report();
  }

  async #load(seen: Contract & SeenContract, signal: AbortSignal | undefined): Promise<void> {
    const { place, isHeld } = this.#keeping();
    const loaded = await place.load(this.namespace, { signal });
    // The contract that was seen first counts, also where it could not be kept at that time.
    const contract = completed(loaded.contract, [...(this.#kept === undefined ? [] : [this.#kept.contract]), seen]);
    if (contract === loaded.contract || isHeld) this.#kept = loaded;
    else await this.#save((kept) => completed(kept, [contract]), loaded);
  }

  async #save(change: (contract: Contract) => Contract, known?: KeptContract): Promise<void> {
    const { place, hold } = this.#keeping();
    for (let conflicts = 0; ; conflicts += 1) {
      const loaded = known ?? (await place.load(this.namespace));
      known = undefined;
      const contract = change(loaded.contract);
      if (contract === loaded.contract) {
        this.#kept = loaded;
        return;
      }
      assertSize(this.namespace, contract);
      try {
        const saving = place.save(this.namespace, contract, loaded.version);
        hold(saving);
        this.#kept = await saving;
        return;
      } catch (error) {
        if (!ToolkitError.is(error, "CONFLICT") || conflicts >= maxConflicts) throw error;
      }
    }
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#working.then(work);
    this.#working = mine.catch(() => undefined);
    return mine;
  }

  #compare(): void {
    const budget = new StepBudget(maxSteps);
    const kept = this.#kept?.contract ?? noContract;
    const pins = new Map<string, ComparedPin>();
    const add = (kind: PinnedKind, key: string, before: unknown, after: unknown) => {
      const id = idOf(kind, key);
      pins.set(id, this.#compared(this.#pins.get(id), { kind, key, before, after }, budget));
    };
    if (this.#instructions !== undefined) add("instructions", "", kept.instructions ?? null, this.#instructions);
    for (const kind of kinds) {
      const seen = this.#seen.get(kind);
      if (seen === undefined) continue;
      const known = kept.items.get(kind) ?? new Map<string, ItemContract>();
      const keys = new Set([...seen.keys(), ...(this.#cut.has(kind) ? [] : known.keys())]);
      for (const key of [...keys].sort()) add(kind, key, known.get(key), seen.get(key));
    }
    this.#pins = pins;
  }

  #compared(
    last: ComparedPin | undefined,
    { kind, key, before, after }: Pick<ComparedPin, "kind" | "key" | "before" | "after">,
    budget: StepBudget,
  ): ComparedPin {
    const version = last?.after === after && last !== undefined ? last.version : versionOf(after as ItemContract);
    if (last !== undefined && last.before === before && last.version === version) return { ...last, after };
    const { namespace } = this;
    const ref = kind === "instructions" ? `instructions#${namespace}` : refOf(kind, namespace, key);
    const item = { kind, key, ref };
    const changes =
      kind === "instructions"
        ? compareInstructions(before as string | null, after as string | null, item)
        : compareContracts(before as ItemContract | undefined, after as ItemContract | undefined, item, budget);
    const isRefused = this.#host.onChange === "quarantine" && after !== undefined;
    const state = changes.length === 0 ? "pinned" : isRefused ? "quarantined" : "changed";
    return { namespace, ...item, state, version, changes: Object.freeze(changes), before, after };
  }
}

function idOf(kind: PinnedKind, key: string): string {
  return `${kind}\0${key}`;
}
