import { Catalog } from "../catalog/catalog.ts";
import { Directory } from "../catalog/directory.ts";
import type { Toolbox } from "../core/item.ts";
import { silentLogger } from "../core/logger.ts";
import type { Logger } from "../core/session.ts";
import { readToolkitOptions } from "../core/toolkit-options.ts";
import { Desk } from "../execute/approval/desk.ts";
import { Ledger } from "../execute/approval/ledger.ts";
import { Shelf } from "../execute/approval/shelf.ts";
import { Dispatch } from "../execute/dispatch.ts";
import { Executor } from "../execute/executor.ts";
import { Settings } from "../execute/settings.ts";
import { Telemetry } from "../execute/trace/telemetry.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { Emitter } from "../lib/emitter.ts";
import { WaitingRoom } from "../lib/waiting-room.ts";
import { memoryStore } from "../store/memory.ts";
import { Answers } from "./answers.ts";
import { Delegates } from "./delegates.ts";

/** How a toolbox without a toolkit is made. */
export interface LoneToolboxOptions {
  /** Default: one that says nothing. */
  readonly logger?: Logger | undefined;
  /** Default: the machine's. */
  readonly clock?: Clock | undefined;
  /** Whether its calls have spans, and are measured, where somebody looks. Default false. */
  readonly isTraced?: boolean | undefined;
}

/** A toolbox that has nothing, and runs what it is handed in the way of every call. It holds nothing open. */
export function loneToolbox({
  logger = silentLogger,
  clock = systemClock,
  isTraced,
}: LoneToolboxOptions = {}): Toolbox {
  const ignore = () => undefined;
  const directory = new Directory(new Catalog({ strictNames: false, emit: ignore }), ignore);
  const options = readToolkitOptions({ logger, clock });
  const room = new WaitingRoom(clock);
  const shelf = new Shelf({ store: memoryStore({ clock }), logger, limit: options.approvals.limit });
  const ledger = new Ledger({ ...options.approvals, shelf, room, logger, emit: ignore });
  const delegates = new Delegates(undefined);
  const gauges = () => ({ connections: [], queued: 0 });
  const executor: Executor = new Executor({
    ...options,
    settings: new Settings({}),
    room,
    desk: new Desk({ ledger, ask: async () => undefined, current: (entry) => entry, emit: ignore }),
    telemetry: isTraced ? new Telemetry({ options: {}, clock, gauges }) : undefined,
    asker: new Answers(delegates),
    subscribe: () => ignore,
    events: new Emitter(ignore),
    runPrompt: (entry, input, context) => delegates.runPrompt(entry, input, context),
    onBadSchema: (_entry, message) => logger.warn(message),
  });
  return new Dispatch(directory, executor);
}
