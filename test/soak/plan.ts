import { createHash } from "node:crypto";
import type { FaultOptions } from "../../src/testing/index.ts";
import { type Chance, chance } from "./chance.ts";
import { describeTrouble, type Place, type TroubleName, troubles } from "./trouble.ts";

/** A server as the plan knows it. */
export interface Planned {
  readonly name: string;
  readonly place: Place;
}

/** One trouble to come. */
export interface PlannedTrouble {
  readonly server: string;
  readonly trouble: TroubleName;
  /** From the start, in milliseconds; later where the one before took longer to heal. */
  readonly atMs: number;
  /** Its duration; 0 where it is over as soon as it has happened. */
  readonly forMs: number;
  readonly options: FaultOptions;
}

/** Between two troubles of a server: it is to be well for a while, and calls in between have no excuse. */
const pauseMs = [2_000, 6_000] as const;
/** No trouble begins so late that it could not be seen to heal. */
const quietEndMs = 3_000;

/** Plans what happens to each server, by the seed alone: what is planned for one does not depend on the others. */
export function planTroubles(seed: string, servers: readonly Planned[], durationMs: number): readonly PlannedTrouble[] {
  return servers
    .flatMap((server) => [...troublesOf(server, chance(`${seed}/${server.name}`), durationMs - quietEndMs)])
    .sort((a, b) => a.atMs - b.atMs || (a.server < b.server ? -1 : 1));
}

/** The same for the same plan. */
export function digestOf(plan: readonly PlannedTrouble[]): string {
  return createHash("sha256").update(JSON.stringify(plan)).digest("hex").slice(0, 12);
}

function* troublesOf({ name, place }: Planned, chosen: Chance, untilMs: number): Generator<PlannedTrouble> {
  const names = Object.keys(troubles) as TroubleName[];
  const possible = names
    .map((trouble) => ({ trouble, weight: describeTrouble(trouble).weight ?? 1 }))
    .filter(({ trouble }) => describeTrouble(trouble).places.includes(place));
  let atMs = chosen.between(0, pauseMs[1]);
  while (atMs < untilMs) {
    const { trouble } = chosen.weighted(possible);
    const { forMs: range = [0, 0], options } = describeTrouble(trouble);
    const forMs = chosen.between(...range);
    yield { server: name, trouble, atMs, forMs, options: options?.(chosen) ?? {} };
    atMs += forMs + chosen.between(...pauseMs);
  }
}
