import type { Trace } from "../../call/trace/trace.ts";
import type { Session } from "../../core/session.ts";
import type { RpcId, RpcMessage } from "../rpc/rpc-message.ts";

/** The caller that a message belongs to. Some make their session when it is asked for. */
export interface RequestOwner {
  readonly session: Session;
  /** OpenTelemetry trace of the call, if recording. */
  readonly trace?: Trace | undefined;
}

/** The events of a transport. None of these throws. */
export interface TransportEvents {
  /** A message came; with the id of the request it came in answer to, where the transport knows. */
  message(message: RpcMessage, answering?: RpcId): void;
  /** A message came and cannot be read: the answer to a request, where that much is known of it. The next one can. */
  unreadable(error: Error, answered: RpcId | undefined): void;
  /** Notifications may have been missed: every list of the server has to be read again. */
  gap(): void;
  /** Something is odd and harms nothing else. */
  warning(text: string): void;
  /** The connection ended; with why, unless `close` was called. Once, and nothing follows. */
  closed(error: Error | undefined): void;
}

/** An explanation of a handshake that failed. */
export interface Diagnosis {
  /** In words of ours. */
  readonly reason: string | undefined;
  /** Quotes of what the server printed: for its operator, never for a caller. */
  readonly output: string | undefined;
}

/** Carries messages to one server and back, for one connection generation. */
export interface Transport {
  /** `stdio`, `streamable-http`, `sse`, `in-memory`. */
  readonly name: string;
  /** The span attributes of the network it goes over, and of the session. Missing, there is none. */
  readonly network?: Readonly<Record<string, string | number>>;
  /** Opens it. Rejects when it cannot be opened, or with the signal's reason; then nothing it started is left. */
  start(events: TransportEvents, options: { readonly signal: AbortSignal }): Promise<void>;
  /**
   * Sends a message. Undefined means it was handed over at once. Where it rejects no answer will come, while the connection as such
   * goes on; an error that says `sent: false` (ConnectionLostError) means that it surely never left.
   */
  send(message: RpcMessage, owner?: RequestOwner): Promise<void> | undefined;
  /** Called with the version both speak, before anything else is sent. */
  negotiated?(protocolVersion: string): void;
  /**
   * Called when both sides have agreed on a version. Resolves when notifications can arrive, or never will.
   *
   * @param initialized - resolves when the server has taken note that the handshake is done: some take no other request before
   */
  ready?(initialized: Promise<void>): Promise<void>;
  /**
   * The time the server may be silent though it is asked, in milliseconds, before it counts as gone: not long where nothing else shows
   * that it is, longer where silence only means that it is busy.
   */
  readonly silenceMs: number;
  /** True where messages are handed over as the objects they are: the server has those too. Missing, they are parsed from text. */
  readonly sharesObjects?: boolean;
  /** False where the server has no way to send notifications. Missing, it has. */
  readonly hasNotifications?: boolean;
  /** The answer to a request is no longer wanted; the server has been notified. */
  forget?(id: RpcId): void;
  /** The id of the child process, while that runs. */
  readonly processId?: number | undefined;
  /** The end of the output of the server to stderr. */
  stderr?(): string;
  /** The end and the output that came in place of an answer, for the error of a handshake that failed. */
  diagnosis?(): Diagnosis;
  /** Ends it and all it started; idempotent and bounded. Never rejects. */
  close(): Promise<void>;
}
