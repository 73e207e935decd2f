import type { Definition } from "../core/definition.ts";
import { definitionOf, templateOf } from "../core/entry.ts";
import { ToolkitError } from "../core/error.ts";
import type { Entry } from "../core/item.ts";
import { shown } from "../core/options.ts";
import type { Pin, PinnedKind, PinQuery, Pins, PinTarget } from "../core/pin.ts";
import { nearest, orDidYouMean } from "../lib/similar.ts";
import { isRecord } from "../lib/value.ts";
import type { PinPlace } from "./pin-place.ts";
import { type PinKeeping, PinnedContract, type PinnedContractHost } from "./pinned-contract.ts";

/** The parts of a toolkit that its pins need. */
export interface ToolkitPinsHost {
  readonly place: PinPlace;
  /** The path of the lock file that is the place, if it is one. */
  readonly file: string | undefined;
  /** Keeps the store open while something is written. */
  hold(work: Promise<unknown>): void;
  readonly closing: AbortSignal;
}

type PinsByRef = ReadonlyMap<string, readonly Pin[]>;

/** The pinned contracts of all connectors of a toolkit. */
export class ToolkitPins implements Pins {
  readonly file: string | undefined;
  readonly #contracts = new Map<string, PinnedContract>();
  #keeping: PinKeeping;

  constructor({ place, file, hold, closing }: ToolkitPinsHost) {
    this.file = file;
    this.#keeping = { place, isHeld: false, hold };
    const unwatch = place.watch((namespace) => {
      for (const contract of this.#contracts.values()) {
        if (namespace === undefined || namespace === contract.namespace) void contract.reload();
      }
    });
    closing.addEventListener("abort", unwatch, { once: true });
  }

  get contracts(): readonly PinnedContract[] {
    return [...this.#contracts.values()];
  }

  /** Pins the contract of a connection. */
  add(host: PinnedContractHost): PinnedContract {
    const contract = new PinnedContract(host, () => this.#keeping);
    this.#contracts.set(host.namespace, contract);
    return contract;
  }

  /** The connection has ended; what is kept stays. */
  remove(contract: PinnedContract): void {
    if (this.#contracts.get(contract.namespace) === contract) this.#contracts.delete(contract.namespace);
  }

  /** From now on contracts are compared with another place, and nothing is kept unasked. */
  checkAgainst(place: PinPlace): void {
    this.#keeping = { ...this.#keeping, place, isHeld: true };
  }

  /** The pin of an entry, or of the template that made it. */
  of(entry: Entry): Pin | undefined {
    const { kind, key }: Definition = definitionOf(templateOf(entry) ?? entry);
    return this.#contracts.get(entry.namespace)?.pin(kind, key);
  }

  list({ namespace, changed }: PinQuery = {}): readonly Pin[] {
    const contracts = this.contracts.filter((contract) => (namespace ?? contract.namespace) === contract.namespace);
    return contracts
      .flatMap(({ pins }) => pins)
      .filter((pin) => changed === undefined || changed === (pin.state !== "pinned"));
  }

  async accept(...targets: readonly PinTarget[]): Promise<readonly Pin[]> {
    const chosen = new Map<PinnedContract, Pin[]>();
    const byRef = Map.groupBy(this.list(), ({ ref }) => ref);
    for (const target of targets) {
      for (const pin of this.#find(target, byRef)) {
        const contract = this.#contracts.get(pin.namespace);
        if (contract === undefined) continue;
        const pins = chosen.get(contract) ?? [];
        chosen.set(contract, pins);
        pins.push(pin);
      }
    }
    for (const [contract, pins] of chosen) await contract.accept(pins);
    return [...chosen].flatMap(([contract, pins]) =>
      pins.map((pin) => contract.pin(pin.kind, pin.key) ?? { ...pin, state: "pinned" as const, changes: [] }),
    );
  }

  #find(target: PinTarget, byRef: PinsByRef): readonly Pin[] {
    if (typeof target === "string") {
      const contract = this.#contracts.get(target);
      if (contract !== undefined) return contract.pins.filter(({ state }) => state !== "pinned");
      return this.#ofRef(target, byRef);
    }
    if (!isRecord(target) || typeof target.ref !== "string" || typeof target.version !== "string")
      throw noTarget(target);
    const { ref, version, kind } = target as {
      readonly ref: string;
      readonly version: string;
      readonly kind?: PinnedKind;
    };
    const found = this.#ofRef(ref, byRef).filter((pin) => (kind ?? pin.kind) === pin.kind);
    const same = found.filter((pin) => pin.version === version);
    if (same.length > 0) return same;
    const message = `${ref} has changed again since you looked at it. Look at its changes, and accept it as it is now.`;
    throw new ToolkitError("CONFLICT", message, { key: ref, owners: [] });
  }

  #ofRef(ref: string, byRef: PinsByRef): readonly Pin[] {
    const found = byRef.get(ref);
    if (found !== undefined) return found;
    const suggestions = nearest(ref, [...this.#contracts.keys(), ...byRef.keys()]);
    const hint = orDidYouMean(suggestions);
    const message = `There is no pin of ${shown(ref)}: no connector with the option pins has shown that yet.${hint}`;
    throw new ToolkitError("NOT_FOUND", message, { key: ref, suggestions });
  }
}

function noTarget(target: unknown): ToolkitError<"INVALID_INPUT"> {
  const message = `a target must be a namespace, a ref, a pin, or { ref, version }, and is ${shown(target)}`;
  const issues = [{ pointer: "", message }];
  return new ToolkitError("INVALID_INPUT", `Nothing was accepted: ${message}.`, { issues });
}
