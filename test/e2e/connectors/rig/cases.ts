import { describeFault, type FaultName, type FaultOptions } from "../../../../src/testing/faulty/faults.ts";

/** How the servers of the matrix are reached. */
export type Way = "in-memory" | "stdio" | "http with events" | "http with JSON";

/** One fault, and what a service may see of it. */
export interface Case {
  readonly fault: FaultName;
  /** The requirements it proves. */
  readonly proves: readonly string[];
  readonly options?: FaultOptions;
  /** How long it stays on. Missing, it is on until it has happened as often as its options say. */
  readonly forMs?: number;
  /** Whether the connection is lost by it, and has to come back. Default false. */
  readonly loses?: boolean;
  /** The codes with which calls may fail. Default: none. */
  readonly codes?: readonly string[];
  /** How long calls may take. Default: longer than a half-open connection may go unnoticed. */
  readonly timeoutMs?: number;
  /** Whether the server says that its lists changed when it comes on and when it is off. Default false. */
  readonly relists?: boolean;
  /** Whether it is of a process, and so shows only in one that is started with it, and when that ends. Default false. */
  readonly ofProcess?: boolean;
}

const lost = ["OUTCOME_UNKNOWN", "UNAVAILABLE"];
const once = { times: 1 };
const many = { times: 50 };
const loss = { loses: true, codes: lost, proves: ["M5", "M7", "C8"] };
const odd = { options: many, proves: ["M7"] };
const listing = { forMs: 300, relists: true, proves: ["L4", "M6"] };

/** Every fault, as it is put to a Toolkit under load. */
const cases: readonly Case[] = [
  { fault: "die-before", options: once, ...loss },
  { fault: "die-after", options: once, ...loss },
  { fault: "down", forMs: 400, ...loss },
  { fault: "half-open", options: once, ...loss },
  { fault: "hang", options: { times: 3 }, codes: ["TIMEOUT"], timeoutMs: 1_500, proves: ["C7"] },
  { fault: "slow", options: { times: 10, ms: 300 }, proves: ["C7"] },
  { fault: "end-stream", options: { times: 3 }, codes: lost, proves: ["M7", "C8"] },
  { fault: "http-error", options: { times: 3 }, codes: ["UNAVAILABLE"], proves: ["C8"] },
  { fault: "drop-session-404", options: once, ...loss },
  { fault: "drop-session-400", options: once, ...loss },
  { fault: "close-stream", options: { times: 2 }, proves: ["M6"] },
  { fault: "garbage", ...odd },
  { fault: "oversized", options: { times: 3, bytes: 3_000_000 }, codes: ["LIMIT_EXCEEDED"], proves: ["M12"] },
  { fault: "deep", options: { times: 3, depth: 50_000 }, codes: ["LIMIT_EXCEEDED"], proves: ["M12"] },
  { fault: "duplicate-answer", ...odd },
  { fault: "unknown-id", ...odd },
  { fault: "wrong-id-type", ...odd },
  { fault: "late-progress", ...odd },
  { fault: "flood", options: { perSecond: 20_000 }, forMs: 400, proves: ["M10", "M12"] },
  { fault: "list-storm", options: { perSecond: 5_000 }, forMs: 400, proves: ["E3", "M12"] },
  { fault: "request-flood", options: { perSecond: 5_000 }, forMs: 400, proves: ["M10"] },
  { fault: "schema-drift", ...listing },
  { fault: "odd-schema", ...listing },
  { fault: "duplicate-names", ...listing },
  { fault: "cursor-loop", ...listing },
  // What a server says of its tools is believed: none of them is left.
  { fault: "endless-pages", ...listing, codes: ["NOT_FOUND"] },
  { fault: "unknown-version", options: once, ...loss },
  { fault: "ignore-term", ofProcess: true, ...loss, proves: ["M8"] },
  { fault: "grandchild", ofProcess: true, ...loss, proves: ["M8"] },
  { fault: "stderr-flood", options: { perSecond: 50_000 }, forMs: 300, proves: ["M8", "M12"] },
];

/** Those that can happen on a way. */
export function casesOf(way: Way): readonly Case[] {
  const transport = way === "in-memory" || way === "stdio" ? way : "http";
  return cases.filter(({ fault }) => describeFault(fault).transports.includes(transport));
}
