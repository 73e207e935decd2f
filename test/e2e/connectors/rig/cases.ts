import { describeFault, type FaultName, type FaultOptions } from "../../../../src/testing/faulty/faults.ts";

/** The transports to the servers of the matrix. */
export type Way = "in-memory" | "stdio" | "http with events" | "http with JSON";

/**
 * A connection is lost; a request fails alone; an answer is late; what was not asked for is heard; there is too much of something; lists
 * cannot be had as they are; a process does not end.
 */
export type Kind = "loss" | "refusal" | "delay" | "noise" | "excess" | "list" | "process";

/** One fault, and what a service may see of it. */
export interface Case {
  readonly fault: FaultName;
  /** The part of the service that it tests. */
  readonly kind: Kind;
  /** The way over which `npm test` puts it; over the others only `npm run test:long` does. */
  readonly usual: Way;
  readonly options?: FaultOptions;
  /** The time it stays on. Missing, it is on until it has happened as often as its options say. */
  readonly forMs?: number;
  /** Whether the connection is lost by it, and has to come back. Default false. */
  readonly loses?: boolean;
  /** The codes with which calls may fail. Default: none. */
  readonly codes?: readonly string[];
  /** The longest time of a call. Default: longer than a half-open connection may go unnoticed. */
  readonly timeoutMs?: number;
  /** Whether the server says that its lists changed when it comes on and when it is off. Default false. */
  readonly relists?: boolean;
  /** The number of changes of the tools that must be reported. Default: 0. */
  readonly changes?: number;
  /** Whether tools may be missing while their pages are read, and that is told or not. Default false. */
  readonly shifts?: boolean;
  /** Whether it is of a process, and so shows only in one that is started with it, and when that ends. Default false. */
  readonly ofProcess?: boolean;
}

const lost = ["OUTCOME_UNKNOWN", "UNAVAILABLE"];
const once = { times: 1 };
const loss = { kind: "loss", loses: true, codes: lost } as const;
const noise = { kind: "noise", options: { times: 50 } } as const;
const list = { kind: "list", forMs: 300, relists: true } as const;

/** Every fault, as it is put to a Toolkit under load. */
const cases: readonly Case[] = [
  { fault: "die-before", usual: "stdio", options: once, ...loss },
  { fault: "die-after", usual: "in-memory", options: once, ...loss },
  { fault: "down", usual: "http with events", forMs: 400, ...loss },
  { fault: "half-open", usual: "http with events", options: once, ...loss },
  { fault: "black-hole", usual: "http with JSON", forMs: 400, ...loss },
  {
    fault: "hang",
    usual: "http with JSON",
    options: { times: 3 },
    codes: ["TIMEOUT"],
    timeoutMs: 1_500,
    kind: "delay",
  },
  { fault: "slow", usual: "http with JSON", options: { times: 10, ms: 300 }, kind: "delay" },
  { fault: "end-stream", usual: "http with events", options: { times: 3 }, codes: lost, kind: "refusal" },
  { fault: "http-error", usual: "http with JSON", options: { times: 3 }, codes: ["UNAVAILABLE"], kind: "refusal" },
  { fault: "drop-session-404", usual: "http with events", options: once, ...loss },
  { fault: "drop-session-400", usual: "http with JSON", options: once, ...loss },
  { fault: "close-stream", usual: "http with events", options: { times: 2 }, kind: "noise" },
  { fault: "garbage", usual: "stdio", ...noise },
  {
    fault: "oversized",
    usual: "stdio",
    options: { times: 3, bytes: 3_000_000 },
    codes: ["LIMIT_EXCEEDED"],
    kind: "excess",
  },
  {
    fault: "deep",
    usual: "http with JSON",
    options: { times: 3, depth: 50_000 },
    codes: ["LIMIT_EXCEEDED"],
    kind: "excess",
  },
  { fault: "duplicate-answer", usual: "in-memory", ...noise },
  { fault: "unknown-id", usual: "in-memory", ...noise },
  { fault: "wrong-id-type", usual: "http with events", ...noise },
  { fault: "late-progress", usual: "in-memory", ...noise },
  { fault: "flood", usual: "in-memory", options: { perSecond: 20_000 }, forMs: 400, kind: "excess" },
  { fault: "list-storm", usual: "stdio", options: { perSecond: 5_000 }, forMs: 400, kind: "excess" },
  { fault: "request-flood", usual: "http with events", options: { perSecond: 5_000 }, forMs: 400, kind: "excess" },
  { fault: "schema-drift", usual: "http with events", ...list, changes: 2 },
  { fault: "odd-schema", usual: "in-memory", ...list, changes: 2 },
  { fault: "duplicate-names", usual: "http with JSON", ...list },
  { fault: "cursor-loop", usual: "in-memory", ...list },
  // Switched off in the middle of its pages, it ends them without the rest: until they are read again, something is missing.
  { fault: "endless-pages", usual: "http with JSON", ...list, shifts: true, codes: ["NOT_FOUND"] },
  { fault: "unknown-version", usual: "stdio", options: once, ...loss, codes: [...lost, "UNSUPPORTED_PROTOCOL"] },
  { fault: "ignore-term", usual: "stdio", ofProcess: true, ...loss, kind: "process" },
  { fault: "grandchild", usual: "stdio", ofProcess: true, ...loss, kind: "process" },
  { fault: "stderr-flood", usual: "stdio", options: { perSecond: 50_000 }, forMs: 300, kind: "process" },
];

/** Those that can happen on a way. */
export function casesOf(way: Way): readonly Case[] {
  const transport = way === "in-memory" || way === "stdio" ? way : "http";
  return cases.filter(({ fault }) => describeFault(fault).transports.includes(transport));
}
