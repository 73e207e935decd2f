import type { EventListener, ToolkitEventType } from "./event.ts";
import type { Toolbox } from "./item.ts";

/** A toolbox that also says what happens. */
export interface Host extends Toolbox {
  on<T extends ToolkitEventType | "*">(type: T, listener: EventListener<T>): () => void;
}
