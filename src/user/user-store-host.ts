import type { ToolkitError } from "../core/error.ts";
import type { Logger } from "../core/session.ts";
import type { Store } from "../core/store.ts";
import type { Clock } from "../lib/clock.ts";
import type { ItemsHost } from "./user-items.ts";

/** The parts that the user stores of a toolkit share. */
export interface UserStoreHost extends Pick<ItemsHost, "catalog" | "promptLimits" | "emit"> {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  /** Time that lookups wait for the items of an owner to be read, in milliseconds. */
  readonly startTimeoutMs: number;
}

/** The owner of user stores, which watches the store for all of them. */
export interface UserStoreOwner {
  readonly watchError: ToolkitError | undefined;
  watch(): void;
  pin(owner: string): () => void;
  /** Many items of an owner were read: together with those of others they may be too many. */
  loaded(): void;
}
