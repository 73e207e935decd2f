import type { FaultTransport } from "./faults.ts";

/** The id of a request, as the client chose it. */
export type RequestId = string | number;

/** What a message belongs to. */
export interface About {
  readonly request: RequestId;
  /** Whether it answers it. */
  readonly answer: boolean;
}

/** The way to one client, for one connection. None of these throws. */
export interface Line {
  readonly transport: FaultTransport;
  /** Writes the text of one message, or of what is to be taken for one. */
  write(text: string, about?: About): void;
  /** Nothing more belongs to a request. Where it was not answered, its answer ends without a result. */
  done(request: RequestId): void;
  /** Reads and writes nothing more, and stays open. */
  freeze(): void;
  /** Ends the connection as the server's crash does. */
  kill(): void;
}
