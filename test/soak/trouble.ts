import type { ErrorCode } from "../../src/core/error-catalog.ts";
import type { FaultName, FaultOptions } from "../../src/testing/index.ts";
import type { Chance } from "./chance.ts";

/** Where a server runs: a faulty one by its transport, over HTTP with sessions or without; a real one as our child, or as a service that listens. */
export type Place = "in-memory" | "stdio" | "http" | "stateless-http" | "child" | "service";

/** Faults of the faulty server, and what is done to processes and offers from outside. */
export type TroubleName = FaultName | "kill" | "freeze" | "change";

/** The effects of a trouble on callers meanwhile. */
export interface Trouble {
  readonly places: readonly Place[];
  /** Its probability, beside others of 1. */
  readonly weight?: number;
  /** Whether the connection is lost. Where it is not said it may be or not. */
  readonly loses?: boolean;
  /** Where the connection goes on all the same. */
  readonly survivedAt?: readonly Place[];
  /** The codes with which calls may fail until all is well again, beside those that any lost connection explains. */
  readonly codes?: readonly ErrorCode[];
  /** Whether an answer that says ok may be another than the tool's. */
  readonly altersAnswers?: boolean;
  /** The shortest and the longest time it lasts, in milliseconds; absent where it is over as soon as it has happened. */
  readonly forMs?: readonly [number, number];
  /** The longest time until all is well, in milliseconds, where that is longer than of others. */
  readonly healMs?: number;
  /** Happens only where a connection is made anew. */
  readonly atHandshake?: boolean;
  /** Happens only where lists are read again. */
  readonly atLists?: boolean;
  /** Of a fault of the faulty server. */
  readonly options?: (chance: Chance) => FaultOptions;
}

const faulty: readonly Place[] = ["in-memory", "stdio", "http", "stateless-http"];
const http: readonly Place[] = ["http", "stateless-http"];
const sessions: readonly Place[] = ["http"];
const wired: readonly Place[] = ["stdio", "http", "stateless-http"];
const stdio: readonly Place[] = ["stdio"];
const processes: readonly Place[] = ["stdio", "child", "service"];

// Without a session there is nothing that a server could have forgotten when it answers again at once.
const stateless: readonly Place[] = ["stateless-http"];

const short = [300, 1_500] as const;
const once = () => ({ times: 1 });
const aFew = (chance: Chance) => ({ times: chance.between(1, 5) });
const perSecond = (chance: Chance) => ({ perSecond: chance.between(300, 3_000) });
const statuses = [400, 401, 404, 429, 500, 502, 503] as const;

/** The troubles of a server, and the failures that each excuses. */
export const troubles = {
  "die-before": { places: faulty, loses: true, survivedAt: stateless, options: once },
  "die-after": { places: faulty, loses: true, survivedAt: stateless, options: once },
  down: { places: faulty, loses: true, forMs: [200, 3_000], weight: 2 },
  // Everybody who is connected: a session its client has given up may be among them.
  // Without sessions it is one connection among several: a known problem (docs/rough-edges.md).
  "half-open": { places: ["in-memory", "stdio", "http"], loses: true, weight: 2 },
  // Also those who connect meanwhile. Once the network is back, all is to be well soon.
  "black-hole": { places: wired, loses: true, forMs: [7_000, 9_000], weight: 2, healMs: 6_000 },
  hang: { places: faulty, loses: false, forMs: short, codes: ["TIMEOUT"] },
  slow: { places: faulty, loses: false, forMs: short, options: (chance) => ({ ms: chance.between(100, 1_500) }) },
  "end-stream": { places: http, options: aFew },
  "http-error": {
    places: http,
    codes: ["REMOTE_ERROR", "RATE_LIMITED", "UNAUTHORIZED"],
    options: (chance) => ({ ...aFew(chance), status: chance.pick(statuses) }),
  },
  "drop-session-404": { places: sessions, loses: true, options: once },
  "drop-session-400": { places: sessions, loses: true, options: once },
  // A question of the server is lost with its stream, which is opened again more and more slowly.
  "close-stream": { places: http, loses: false, forMs: [500, 3_000], codes: ["TIMEOUT"], healMs: 30_000 },
  garbage: { places: faulty, loses: false, forMs: short },
  oversized: {
    places: faulty,
    weight: 0.3,
    codes: ["LIMIT_EXCEEDED"],
    altersAnswers: true,
    options: (chance) => ({ times: 1, tool: "record", bytes: chance.pick([2, 20, 70]) * 1024 * 1024 }),
  },
  deep: {
    places: faulty,
    codes: ["LIMIT_EXCEEDED"],
    altersAnswers: true,
    options: () => ({ times: 1, tool: "record" }),
  },
  "duplicate-answer": { places: faulty, loses: false, forMs: short },
  "unknown-id": { places: faulty, loses: false, forMs: short },
  "wrong-id-type": { places: faulty, forMs: [100, 500], codes: ["TIMEOUT"] },
  "late-progress": { places: faulty, loses: false, forMs: short },
  flood: { places: faulty, loses: false, forMs: short, options: perSecond },
  "list-storm": { places: faulty, loses: false, forMs: short, options: perSecond },
  "request-flood": { places: faulty, loses: false, forMs: short, options: perSecond },
  "schema-drift": { places: faulty, loses: false, forMs: short, atLists: true, options: () => ({ tool: "record" }) },
  // Lists come in pages: what changes between two of them may be on neither, until the list is read again.
  "odd-schema": { places: faulty, loses: false, forMs: short, atLists: true, codes: ["NOT_FOUND"] },
  "duplicate-names": { places: faulty, loses: false, forMs: short, atLists: true, codes: ["NOT_FOUND"] },
  "cursor-loop": { places: faulty, loses: false, forMs: short, atLists: true },
  // Where it ends amid a list, the rest of the pages is empty: the server then says that it has nothing.
  "endless-pages": {
    places: ["in-memory", "stdio"],
    weight: 0.3,
    loses: false,
    forMs: [100, 300],
    atLists: true,
    codes: ["NOT_FOUND"],
  },
  "unknown-version": {
    places: faulty,
    loses: true,
    forMs: short,
    atHandshake: true,
    codes: ["UNSUPPORTED_PROTOCOL"],
  },
  "ignore-term": { places: stdio, loses: true, forMs: short, atHandshake: true },
  grandchild: { places: stdio, loses: true, forMs: short, atHandshake: true },
  "stderr-flood": { places: stdio, loses: false, forMs: short, options: perSecond },
  kill: { places: processes, loses: true, forMs: [100, 2_000], weight: 3 },
  freeze: { places: processes, loses: true, forMs: [7_000, 8_000] },
  change: { places: faulty, loses: false, forMs: short, weight: 2, codes: ["NOT_FOUND"] },
} as const satisfies Readonly<Record<TroubleName, Trouble>>;

/** The entry of `troubles` for one, whichever it is. */
export function describeTrouble(name: TroubleName): Trouble {
  return troubles[name];
}
