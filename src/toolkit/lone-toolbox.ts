import { ApprovalGate } from "../approval/approval-gate.ts";
import { ApprovalLedger } from "../approval/approval-ledger.ts";
import { ApprovalRecords } from "../approval/approval-records.ts";
import { CallRouter } from "../call/call-router.ts";
import { Executor } from "../call/executor.ts";
import { SettingsRules } from "../call/settings-rules.ts";
import { Telemetry } from "../call/trace/telemetry.ts";
import { Catalog } from "../catalog/catalog.ts";
import { Directory } from "../catalog/directory.ts";
import type { Toolbox } from "../core/item.ts";
import { silentLogger } from "../core/logger.ts";
import type { Logger } from "../core/session.ts";
import { readToolkitOptions } from "../core/toolkit-options.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { DeadlineScheduler } from "../lib/deadline-scheduler.ts";
import { Emitter } from "../lib/emitter.ts";
import { memoryStore } from "../store/memory-store.ts";
import { DelegatedInteractions } from "./delegated-interactions.ts";
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
  const directory = new Directory(new Catalog({ strictNames: false, emit: ignore }), {
    isClosing: false,
    assertOpen: ignore,
  });
  const options = readToolkitOptions({ logger, clock });
  const room = new DeadlineScheduler(clock);
  const shelf = new ApprovalRecords({ store: memoryStore({ clock }), logger, limit: options.approvals.limit });
  const ledger = new ApprovalLedger({ ...options.approvals, shelf, room, logger, emit: ignore });
  const delegates = new Delegates(undefined);
  const gauges = () => ({ connections: [], queued: 0 });
  const executor: Executor = new Executor({
    ...options,
    settings: new SettingsRules({}),
    deadlines: room,
    approvals: new ApprovalGate({ ledger, ask: async () => undefined, current: (entry) => entry, emit: ignore }),
    telemetry: isTraced ? new Telemetry({ options: {}, clock, gauges }) : undefined,
    interactions: new DelegatedInteractions(delegates),
    subscribe: () => ignore,
    events: new Emitter(ignore),
    runPrompt: (entry, input, context) => delegates.runPrompt(entry, input, context),
    onBadSchema: (_entry, message) => logger.warn(message),
  });
  return new CallRouter(directory, executor);
}
