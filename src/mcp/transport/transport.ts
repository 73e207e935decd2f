import type { Trace } from "../../call/trace/trace.ts";
import type { Session } from "../../core/session.ts";
import type { RequestId, RpcMessage } from "../rpc/message.ts";

/** Who made the call a message belongs to. Some make their session when it is asked for. */
export interface Caller {
  readonly session: Session;
  /** Where somebody looks at the call. */
  readonly trace?: Trace | undefined;
}

/** What a transport tells the one who uses it. None of these throws. */
export interface TransportEvents {
  /** A message came; with the id of the request it came in answer to, where the transport tells. */
  message(message: RpcMessage, answering?: RequestId): void;
  /** A message came and cannot be read: the answer to a request, where that much is known of it. What comes next can. */
  unreadable(error: Error, answered: RequestId | undefined): void;
  /** Notifications may have been missed: whatever is known of the server has to be read again. */
  gap(): void;
  /** Something is odd and harms nothing else. */
  warning(text: string): void;
  /** The connection ended; with why, unless `close` was called. Once, and nothing follows. */
  closed(error: Error | undefined): void;
}

/** Carries messages to one server and back, for one connection generation. */
export interface Transport {
  /** `stdio`, `streamable-http`, `sse`, `in-memory`. */
  readonly name: string;
  /** How a span names the network it goes over, and the session. Missing, there is none. */
  readonly network?: Readonly<Record<string, string | number>>;
  /** Opens it. Rejects when it cannot be opened, or with the signal's reason; then nothing it started is left. */
  start(events: TransportEvents, options: { readonly signal: AbortSignal }): Promise<void>;
  /**
   * Sends a message. Undefined means it was handed over at once. Where it rejects no answer will come, while the connection as such
   * goes on; an error that says `sent: false` (ConnectionLostError) means that it surely never left.
   */
  send(message: RpcMessage, caller?: Caller): Promise<void> | undefined;
  /** Told the version both speak, before anything else is sent. */
  negotiated?(protocolVersion: string): void;
  /** Called when the handshake is done. Resolves when what the server says unasked can arrive, or never will. */
  ready?(): Promise<void>;
  /**
   * How long the far side may be silent though it is asked, in milliseconds, before it is taken for gone: not long where nothing tells
   * that it is, longer where silence only means that it is busy.
   */
  readonly silenceMs: number;
  /** False where the server has no way to say something unasked. Missing, it has. */
  readonly hasNotifications?: boolean;
  /** The answer to a request is no longer wanted; the far side has been told. */
  forget?(id: RequestId): void;
  /** Of the child process it speaks to, while that runs. */
  readonly processId?: number | undefined;
  /** The last of what the far side wrote to stderr. */
  stderr?(): string;
  /** What came in place of messages, for the error of a handshake that failed. */
  diagnosis?(): string | undefined;
  /** Ends it and all it started; idempotent and bounded. Never rejects. */
  close(): Promise<void>;
}
