import type { EventListener, ToolkitEventType } from "./event.ts";
import type { Toolbox } from "./item.ts";

/** A toolbox that also says what happens. */
export interface Host extends Toolbox {
  /** Listens to events of a type, or to all with `*`, until the returned function is called. */
  on<T extends ToolkitEventType | "*">(type: T, listener: EventListener<T>): () => void;
}
