import type { EventListener, ToolkitEventType } from "./event.ts";
import type { Entry, Toolbox } from "./item.ts";
import type { CallOptions } from "./session.ts";
import type { Unsubscribe } from "./source.ts";

/** A toolbox with events and views: a Toolkit, or a view of one. */
export interface Host extends Toolbox {
  /** Listens to events of a type, or to all with `*`, until the returned function is called. */
  on<T extends ToolkitEventType | "*">(type: T, listener: EventListener<T>): () => void;
  /**
   * Subscribes to changes of a resource's content: `resourceUpdated` is emitted until the returned function is called. The subscription
   * survives a reconnect, which emits the event too, because a change may have been missed.
   *
   * @throws ToolkitError `REMOTE_ERROR` where the server has no subscriptions; else as `read`
   */
  subscribe(target: string | Entry<"resource">, options?: CallOptions): Promise<Unsubscribe>;
}
