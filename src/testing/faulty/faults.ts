/** How a faulty server is reached. `http` is Streamable HTTP. */
export type FaultTransport = "in-memory" | "stdio" | "http";

/** What a fault can be told beside its name. */
export interface FaultOptions {
  /** How often it happens before it is off by itself. Default: until it is switched off. */
  readonly times?: number | undefined;
  /** Only for requests of this method. Default for faults of a request: `tools/call`. */
  readonly method?: string | undefined;
  /** Only for calls of this tool. Of `schema-drift`: the tool that changes. Default: any, the first. */
  readonly tool?: string | undefined;
  /** Of `slow`: how much later the answer comes, in milliseconds. Default 1,000. */
  readonly ms?: number | undefined;
  /** Of `oversized`: the length of the text in the answer. Default 80 MiB, which is above the default limit of a connector. */
  readonly bytes?: number | undefined;
  /** Of `deep`: how many levels. Default 100,000. */
  readonly depth?: number | undefined;
  /** Of floods: how many messages a second. Default 10,000. */
  readonly perSecond?: number | undefined;
  /** Of `http-error`: the status. Default 503. */
  readonly status?: number | undefined;
}

interface FaultDescription {
  /** What the server does. */
  readonly summary: string;
  /** What one time is, where `times` counts. */
  readonly time: "request" | "connection" | "list" | "message" | "stream" | "handshake";
  readonly transports: readonly FaultTransport[];
  /** The options it takes beside `times`. */
  readonly options?: readonly Exclude<keyof FaultOptions, "times">[];
}

const everywhere: readonly FaultTransport[] = ["in-memory", "stdio", "http"];
const http: readonly FaultTransport[] = ["http"];
const stdio: readonly FaultTransport[] = ["stdio"];
const filters = ["method", "tool"] as const;

/** Every fault there is: what it does, what one time of it is, and where it can happen. */
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
      "Whoever is connected is thrown out, and nobody can connect: the port is closed, where `times` counts nothing; a child exits at its start.",
    time: "connection",
    transports: everywhere,
  },
  "half-open": {
    summary: "The connection stays open, and nothing is read or written any more. It never recovers; a new one may.",
    time: "connection",
    transports: everywhere,
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
  },
  "drop-session-400": {
    summary: "The session is forgotten; its next request is answered with 400, as some servers have it.",
    time: "request",
    transports: http,
  },
  "close-stream": {
    summary: "The stream of what the server says unasked is closed politely as soon as it is open.",
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
    summary: "Before the answer comes one to a request nobody made.",
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
    summary: "Log messages without end, `perSecond`, to everybody who is connected.",
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
    summary: "Requests to the client without end, `perSecond`: `ping`, and a method nobody knows.",
    time: "message",
    transports: everywhere,
    options: ["perSecond"],
  },
  "schema-drift": {
    summary: "A tool has another input schema while it is on. That the list changed is told at both ends.",
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
    summary: "The handshake is answered with a protocol version nobody knows.",
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

/** What `faultCatalog` says of a fault, whichever it is. */
export function describeFault(name: FaultName): FaultDescription {
  return faultCatalog[name];
}
