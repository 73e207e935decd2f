import type { ArgumentValues } from "./argument-values.ts";
import type { CompletionRequest } from "./completion.ts";
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
  /**
   * Values that an argument of a prompt or a variable of a resource template may have, for people who type one: from its `complete`, from
   * its server, or the choices of its schema. Where nothing completes it there are none. The policy lets it through as it would rendering
   * the prompt, or reading a resource of the template.
   *
   * @throws ToolkitError `NOT_FOUND`; `INVALID_INPUT` for an argument that there is not; else as `render`
   *
   * @example
   * ```ts
   * const { values } = await toolkit.complete({ ref: "letters.greet", argument: "city", value: "Be" });
   * ```
   */
  complete(request: CompletionRequest, options?: CallOptions): Promise<ArgumentValues>;
}
