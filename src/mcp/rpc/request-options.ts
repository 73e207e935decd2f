import type { CallContext } from "../../core/item.ts";
import type { Progress } from "../../core/session.ts";
import type { RequestOwner } from "../transport/transport.ts";
import type { Cancellation } from "./cancellation.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Options of a request. */
export interface RequestOptions {
  readonly cancellation?: Cancellation | undefined;
  /** Handles the progress the server reports. With it the request carries a progress token. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** The call it is made for: it carries the credentials of that, and requests of the server in answer belong to that. */
  readonly context?: CallContext | undefined;
  /** The request of the far side that it is made for, in place of a call. */
  readonly owner?: RequestOwner | undefined;
  /** Handles the notifications of a subscription, where the request opens one. */
  readonly onNotification?: ((method: string, params: Fields) => void) | undefined;
  /** True where the caller checks the nesting and the numbers of the result itself, part by part. */
  readonly isUnchecked?: boolean | undefined;
}

/** The limits of messages of the server. */
export interface PeerLimits {
  /** The most objects and lists inside each other, in a result, the data of an error or parameters. */
  readonly maxNestingDepth: number;
  /** The most requests of the far side that are worked on at once and belong to no call of ours. Default 100. */
  readonly maxRequests?: number | undefined;
}
