import type { EventListener, ToolkitEvent, ToolkitEventType } from "../core/event.ts";
import type { Host } from "../core/host.ts";
import { busOf, setBus } from "../core/host-bus.ts";
import { userNamespace } from "../core/identifier.ts";
import type { ViewFilter } from "./view-filter.ts";

type Toolbox = Omit<Host, "on">;

/** A live view: a Host that shows only a part, changes included. */
export class View implements Host {
  readonly lookup: Host["lookup"];
  readonly list: Host["list"];
  readonly call: Host["call"];
  readonly read: Host["read"];
  readonly render: Host["render"];
  readonly subscribe: Host["subscribe"];
  readonly complete: Host["complete"];
  readonly #on: Host["on"];
  readonly #filter: ViewFilter;

  /**
   * @param toolbox - finds only what is visible
   * @param whole - the host that it shows a part of
   */
  constructor(toolbox: Toolbox, whole: Host, filter: ViewFilter) {
    setBus(this, busOf(whole));
    this.lookup = toolbox.lookup.bind(toolbox);
    this.list = toolbox.list.bind(toolbox);
    this.call = toolbox.call.bind(toolbox);
    this.read = toolbox.read.bind(toolbox);
    this.render = toolbox.render.bind(toolbox);
    this.subscribe = toolbox.subscribe.bind(toolbox);
    this.complete = toolbox.complete.bind(toolbox);
    this.#on = whole.on.bind(whole);
    this.#filter = filter;
  }

  on<T extends ToolkitEventType | "*">(type: T, listener: EventListener<T>): () => void {
    return this.#on(type, ((event: ToolkitEvent) => {
      const shown = this.#shown(event);
      if (shown !== undefined) (listener as (event: ToolkitEvent) => void)(shown);
    }) as EventListener<T>);
  }

  /** Items of other namespaces belong to all. */
  #isOwn({ namespace, principal }: { readonly namespace: string; readonly principal?: string | undefined }): boolean {
    return namespace !== userNamespace || this.#filter.of(principal);
  }

  /** The visible part of an event; undefined where there is none. */
  #shown(event: ToolkitEvent): ToolkitEvent | undefined {
    const filter = this.#filter;
    switch (event.type) {
      case "toolListChanged":
      case "promptListChanged":
      case "resourceListChanged": {
        if (!this.#isOwn(event)) return undefined;
        const shown = { ...event, ...filter.refs(event) };
        return shown.added.length + shown.removed.length + shown.changed.length > 0 ? shown : undefined;
      }
      case "ambiguousName": {
        const candidates = event.candidates.filter((ref) => filter.ref(ref));
        if (event.principal !== undefined && !filter.of(event.principal)) return undefined;
        return candidates.length > 1 && filter.ref(event.chosen) ? { ...event, candidates } : undefined;
      }
      case "contractChanged": {
        const changes = event.changes.filter(({ kind, ref }) =>
          kind === "instructions" ? filter.namespace(event.namespace) : filter.ref(ref),
        );
        return changes.length > 0 ? { ...event, changes } : undefined;
      }
      case "resourceUpdated":
        return this.#isOwn(event) && filter.ref(`${event.uri}#${event.namespace}`) ? event : undefined;
      case "approvalRequested":
      case "approvalResolved":
      case "callStarted":
      case "callFinished":
      case "agentStep":
        return filter.of(event.principal) && filter.ref(event.ref) ? event : undefined;
      default:
        return "namespace" in event && !filter.namespace(event.namespace) ? undefined : event;
    }
  }
}
