import type { ServerInfo } from "../../core/connection.ts";
import type { ConnectorMemory } from "../../core/connector.ts";
import { digestTexts } from "../../lib/canonical.ts";
import { isRecord } from "../../lib/value.ts";

/** The eras of the protocol: `handshake` up to 2025-11-25, with sessions; `stateless` from 2026-07-28, without. */
export type Era = "handshake" | "stateless";

/** The verdict about a server. */
interface Verdict {
  readonly era: Era;
  /** When, in milliseconds since the epoch. */
  readonly at: number;
  /** The server that it was found of, by name and version. */
  readonly server: string;
}

/** So long a server that was found to want a handshake is not asked again: it may have been updated. */
const freshMs = 24 * 60 * 60_000;

/**
 * The era that the server of one target speaks, as it was found out: kept beyond the process where there is something to keep it in, with
 * its date, so that a server is not asked each time, and one that was updated is.
 */
export class EraMemory {
  /** Undefined where nothing tells the target from others: then it is known to this process alone. */
  readonly #key: string | undefined;
  #verdict: Verdict | undefined;
  #isRead = false;

  /** @param target - the texts that tell the target from others; they may hold secrets, and are kept as a digest */
  constructor(...target: readonly string[]) {
    this.#key = target.length === 0 ? undefined : digestTexts(...target);
  }

  /** The era to begin with; undefined where it is to be found out. */
  async recall(memory: ConnectorMemory | undefined): Promise<Era | undefined> {
    if (!this.#isRead) {
      const kept = this.#key === undefined ? undefined : parseVerdict(await memory?.recall(this.#key));
      this.#isRead = true;
      this.#verdict ??= kept;
    }
    const { era, at = 0 } = this.#verdict ?? {};
    const age = Date.now() - at;
    return era === "handshake" && !(age >= 0 && age < freshMs) ? undefined : era;
  }

  /** It was found out, of this server. */
  found(era: Era, { name, version = "" }: ServerInfo, memory: ConnectorMemory | undefined): void {
    this.#keep({ era, at: Date.now(), server: `${name} ${version}` }, memory);
  }

  /** The server answered in the era that was kept. Another version of it may speak another one: it is found out the next time. */
  confirm({ name, version = "" }: ServerInfo, memory: ConnectorMemory | undefined): void {
    const server = `${name} ${version}`;
    if (this.#verdict === undefined || this.#verdict.server === server) return;
    // One that was supposed is proven now.
    const at = this.#verdict.server === "" ? Date.now() : 0;
    this.#keep({ ...this.#verdict, at, server }, memory);
  }

  /** Supposed for this process, without an answer that says so. */
  suppose(era: Era): void {
    this.#verdict = { era, at: Date.now(), server: this.#verdict?.server ?? "" };
  }

  #keep(verdict: Verdict, memory: ConnectorMemory | undefined): void {
    const { era, at, server } = this.#verdict ?? {};
    const isSame = era === verdict.era && server === verdict.server && era === "stateless";
    this.#verdict = isSame ? { ...verdict, at: at ?? verdict.at } : verdict;
    if (!isSame && this.#key !== undefined) memory?.keep(this.#key, { ...verdict });
  }
}

function parseVerdict(value: unknown): Verdict | undefined {
  if (!isRecord(value)) return undefined;
  const { era, at, server } = value;
  if ((era !== "handshake" && era !== "stateless") || typeof at !== "number" || typeof server !== "string")
    return undefined;
  return { era, at, server };
}
