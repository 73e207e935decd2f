/** A transport of a faulty server. `http` is Streamable HTTP. */
export type FaultTransport = "in-memory" | "stdio" | "http";

/** Options of a fault. */
export interface FaultOptions {
  /** The number of times it happens before it switches itself off. Default: until it is switched off. */
  readonly times?: number | undefined;
  /** Only for requests of this method. Default for faults of a request: `tools/call`. */
  readonly method?: string | undefined;
  /** Only for calls of this tool. Of `schema-drift`: the tool that changes. Default: any, the first. */
  readonly tool?: string | undefined;
  /** Of `slow`: the delay of the answer, in milliseconds. Default 1,000. */
  readonly ms?: number | undefined;
  /** Of `oversized`: the length of the text in the answer. Default 80 MiB, which is above the default limit of a connector. */
  readonly bytes?: number | undefined;
  /** Of `deep`: the number of levels. Default 100,000. */
  readonly depth?: number | undefined;
  /** Of floods: messages a second. Default 10,000. */
  readonly perSecond?: number | undefined;
  /** Of `http-error`: the status. Default 503. */
  readonly status?: number | undefined;
}

interface FaultDescription {
  /** The behaviour of the server. */
  readonly summary: string;
  /** The unit of `times`. */
  readonly time: "request" | "connection" | "list" | "message" | "stream" | "handshake";
  readonly transports: readonly FaultTransport[];
  /** True where it happens to sessions, which only the first era has. */
  readonly needsSession?: boolean;
  /** Its options beside `times`. */
  readonly options?: readonly Exclude<keyof FaultOptions, "times">[];
}

const everywhere: readonly FaultTransport[] = ["in-memory", "stdio", "http"];
const http: readonly FaultTransport[] = ["http"];
const stdio: readonly FaultTransport[] = ["stdio"];
const filters = ["method", "tool"] as const;

/** Every fault: its behaviour, the unit of `times`, and its transports. */
export const faultCatalog = {
  "die-before": {
    summary:
      "The server dies when a call arrives; the tool does not run. A child is killed; over HTTP all connections break and all sessions are forgotten, as when a server crashes and is started again at once.",
    time: "request",
    transports: everywhere,
    options: filters,
  },
  "die-after": {
    summary: "The server dies when the tool has run, before it answers.",
    time: "request",
    transports: everywhere,
    options: filters,
  },
  down: {
    summary:
      "All clients are disconnected, and none can connect: the port is closed, where `times` counts nothing; a child exits at its start.",
    time: "connection",
    transports: everywhere,
  },
  "half-open": {
    summary: "The connection stays open, and nothing is read or written any more. It never recovers; a new one may.",
    time: "connection",
    transports: everywhere,
  },
  "black-hole": {
    summary:
      "The network drops everything while it is on: connections stay open and nothing is read or written any more, by those that are opened meanwhile neither. They never recover; those that are opened afterwards work.",
    time: "connection",
    transports: ["stdio", "http"],
  },
  hang: {
    summary: "The request is never answered, and nothing runs. Others are answered.",
    time: "request",
    transports: everywhere,
    options: filters,
  },
  slow: {
    summary: "The answer comes `ms` later.",
    time: "request",
    transports: everywhere,
    options: [...filters, "ms"],
  },
  "end-stream": {
    summary: "The tool runs, and the answer ends politely without a result.",
    time: "request",
    transports: http,
    options: filters,
  },
  "http-error": {
    summary: "The request is answered with an HTTP status, `status`; nothing runs.",
    time: "request",
    transports: http,
    options: [...filters, "status"],
  },
  "drop-session-404": {
    summary: "The session is forgotten; its next request is answered with 404, as the specification has it.",
    time: "request",
    transports: http,
    needsSession: true,
  },
  "drop-session-400": {
    summary: "The session is forgotten; its next request is answered with 400, as some servers have it.",
    time: "request",
    transports: http,
    needsSession: true,
  },
  "close-stream": {
    summary: "The stream of server messages is closed politely as soon as it is open.",
    time: "stream",
    transports: http,
  },
  garbage: {
    summary: "Before the answer comes a line that is no message.",
    time: "request",
    transports: everywhere,
    options: filters,
  },
  oversized: {
    summary: "The answer is a text of `bytes`.",
    time: "request",
    transports: everywhere,
    options: [...filters, "bytes"],
  },
  deep: {
    summary: "The answer has `depth` objects inside each other.",
    time: "request",
    transports: everywhere,
    options: [...filters, "depth"],
  },
  "duplicate-answer": {
    summary: "The answer comes twice.",
    time: "request",
    transports: everywhere,
    options: filters,
  },
  "unknown-id": {
    summary: "Before the answer comes one to a request that was never made.",
    time: "request",
    transports: everywhere,
    options: filters,
  },
  "wrong-id-type": {
    summary: "The answer bears the id as a text where it was a number.",
    time: "request",
    transports: everywhere,
    options: filters,
  },
  "late-progress": {
    summary: "After the answer comes progress of the same request, where the request asked for progress.",
    time: "request",
    transports: everywhere,
    options: filters,
  },
  flood: {
    summary: "Log messages without end, `perSecond`, to all clients.",
    time: "message",
    transports: everywhere,
    options: ["perSecond"],
  },
  "list-storm": {
    summary: "Notifications that the lists changed, without end, `perSecond`; they have not.",
    time: "message",
    transports: everywhere,
    options: ["perSecond"],
  },
  "request-flood": {
    summary: "Requests to the client without end, `perSecond`: `ping`, and an unknown method.",
    time: "message",
    transports: everywhere,
    options: ["perSecond"],
  },
  "schema-drift": {
    summary: "A tool has another input schema while it is on. A notification of the changed list is sent at both ends.",
    time: "list",
    transports: everywhere,
    options: ["tool"],
  },
  "odd-schema": {
    summary: "Among the tools are some with a bad schema, without one, and without a name.",
    time: "list",
    transports: everywhere,
  },
  "duplicate-names": {
    summary: "Every list has every entry twice.",
    time: "list",
    transports: everywhere,
  },
  "cursor-loop": {
    summary: "After the last page of a list comes the first.",
    time: "list",
    transports: everywhere,
  },
  "endless-pages": {
    summary: "Lists have no last page: each is empty and has a new cursor.",
    time: "list",
    transports: everywhere,
  },
  "unknown-version": {
    summary: "The handshake is answered with an unknown protocol version.",
    time: "handshake",
    transports: everywhere,
  },
  "ignore-term": {
    summary: "The child ends neither when its stdin ends nor on SIGTERM.",
    time: "connection",
    transports: stdio,
  },
  grandchild: {
    summary: "The child starts a process that holds its stdout and outlives it.",
    time: "connection",
    transports: stdio,
  },
  "stderr-flood": {
    summary: "The child writes to stderr without end, `perSecond` lines.",
    time: "connection",
    transports: stdio,
    options: ["perSecond"],
  },
} as const satisfies Readonly<Record<string, FaultDescription>>;

/** The name of a fault; each is described in `faultCatalog`. */
export type FaultName = keyof typeof faultCatalog;

/** The entry of a fault in `faultCatalog`. */
export function describeFault(name: FaultName): FaultDescription {
  return faultCatalog[name];
}
