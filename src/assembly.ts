import { Catalog } from "./catalog/catalog.ts";
import { Directory } from "./catalog/directory.ts";
import { messageOf } from "./core/error.ts";
import type { ToolkitEvent } from "./core/event.ts";
import { inlineNamespace } from "./core/identifier.ts";
import type { CallContext, Entry, Toolbox } from "./core/item.ts";
import type { PolicyRules } from "./core/policy.ts";
import type { Logger } from "./core/session.ts";
import type { Store } from "./core/store.ts";
import { readToolkitOptions, type ToolkitOptions } from "./core/toolkit-options.ts";
import type { UserNamespace } from "./core/user.ts";
import { DeskApprovals } from "./execute/approval/approvals.ts";
import { Desk } from "./execute/approval/desk.ts";
import { Ledger } from "./execute/approval/ledger.ts";
import { Shelf } from "./execute/approval/shelf.ts";
import { Dispatch } from "./execute/dispatch.ts";
import { Executor } from "./execute/executor.ts";
import { Settings } from "./execute/settings.ts";
import { Telemetry } from "./execute/trace/telemetry.ts";
import { isCallOf } from "./execute/whose-call.ts";
import type { Clock } from "./lib/clock.ts";
import { Emitter } from "./lib/emitter.ts";
import { HeldWork } from "./lib/held-work.ts";
import { WaitingRoom } from "./lib/waiting-room.ts";
import { Answers } from "./source/answers.ts";
import { Builtins } from "./source/builtin.ts";
import { Connectors } from "./source/connectors.ts";
import { Delegates } from "./source/delegates.ts";
import type { LocalSourceHost } from "./source/local.ts";
import { UserSpaces } from "./source/stored/spaces.ts";
import { userOf } from "./source/stored/user.ts";
import { memoryStore } from "./store/memory.ts";

/** The parts of a toolkit, wired. */
export interface Assembly {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly startTimeoutMs: number;
  readonly policy: PolicyRules;
  readonly delegates: Delegates;
  readonly events: Emitter<ToolkitEvent>;
  readonly telemetry: Telemetry | undefined;
  readonly catalog: Catalog;
  readonly builtins: Builtins;
  readonly connectors: Connectors;
  readonly sourceHost: LocalSourceHost;
  readonly store: Store;
  /** Undefined where nothing keeps what users make. */
  readonly spaces: UserSpaces | undefined;
  readonly user: UserNamespace;
  readonly ledger: Ledger;
  readonly executor: Executor;
  readonly toolbox: Dispatch;
  readonly approvals: DeskApprovals;
  /** What still writes to the store. */
  readonly writing: HeldWork;
}

/** The toolkit that the parts are of. */
export interface Assembled {
  readonly toolbox: Toolbox;
  isClosing(): boolean;
  /** @throws ToolkitError `CLOSED` */
  assertOpen(): void;
}

/** Ends what was never begun: builtins tell of their changes unasked. */
const nothingToEnd = () => undefined;

/** Makes the parts of a toolkit. @throws ToolkitError `INVALID_CONFIG` for an option out of its range, or one there is not */
export function assemble(options: ToolkitOptions, toolkit: Assembled): Assembly {
  const read = readToolkitOptions(options);
  const { clock, logger, startTimeoutMs, strictNames, random, policy } = read;
  const delegates = new Delegates(options.delegate);
  const events = new Emitter<ToolkitEvent>((error, { type }) =>
    logger.error(`A listener of ${type} failed: ${messageOf(error)}`, { error }),
  );
  for (const delegate of delegates.listeners) events.on("*", (event) => delegate.onEvent?.(event));
  // What is asked of parts that are made below is asked later.
  const gauges = () => ({ connections: connectors.connections, queued: executor.queued });
  const isLookedAt = options.tracer !== false || options.meter !== false;
  const telemetry = isLookedAt ? new Telemetry({ options, clock, gauges }) : undefined;
  const emit = (event: ToolkitEvent) => {
    telemetry?.heard(event);
    events.emit(event);
  };
  const catalog = new Catalog({ strictNames, emit });
  const sourceHost = { catalog, clock, logger, startTimeoutMs, emit };
  const asker = new Answers(delegates);
  const connectors = new Connectors({ ...sourceHost, asker, random, timeoutMs: read.timeoutMs });
  const { assertOpen, isClosing } = toolkit;
  const directory = new Directory(catalog, assertOpen);
  const room = new WaitingRoom(clock);
  const store = options.store ?? memoryStore({ clock });
  const spaces = options.store && new UserSpaces({ ...sourceHost, store, random, ...read.user });
  const user = userOf(spaces, { limits: read.user, assertOpen });
  const shelf = new Shelf({ store, logger, limit: read.approvals.limit });
  const ledger = new Ledger({ ...read.approvals, shelf, room, logger, emit });
  const desk = new Desk({
    ledger,
    ask: (request, signal) => delegates.approve(request, signal),
    current: (entry, owner) => (entry.namespace === inlineNamespace ? entry : directory.current(entry, owner)),
    emit,
  });
  const executor: Executor = new Executor({
    ...read,
    settings: new Settings(read.settings),
    room,
    desk,
    telemetry,
    asker,
    events,
    runPrompt: (entry, input, context) => delegates.runPrompt(entry, input, context),
    subscribe: ({ namespace, item }, call) =>
      catalog.namespace(namespace, call.givenSession?.principal)?.subscribe?.(item.uri, call) ?? nothingToEnd,
    onBadSchema: (entry, message) => badSchema(entry, message, { connectors, logger }),
  });
  const toolbox = new Dispatch(directory, executor);
  const writing = new HeldWork();
  const hold = writing.hold.bind(writing);
  const approvals = new DeskApprovals(ledger, {
    logger,
    hold,
    isClosing,
    origin: toolbox,
    assertOpen,
    find: (key, kinds, owner) => directory.find(key, kinds, owner, undefined),
    receive: executor.receive.bind(executor),
  });
  const serves = (context: CallContext) => isCallOf(context, executor);
  delegates.attach({ toolbox: toolkit.toolbox, approvals, store, logger, hold, serves });
  const made = { logger, clock, startTimeoutMs, policy, delegates, events, telemetry, catalog, connectors, sourceHost };
  const builtins = new Builtins(catalog, emit);
  return { ...made, builtins, store, spaces, user, ledger, executor, toolbox, approvals, writing };
}

/** A schema that cannot be compiled is told where an operator looks for what is wrong with the connection. */
function badSchema(
  { namespace }: Entry,
  message: string,
  { connectors, logger }: Pick<Assembly, "connectors" | "logger">,
): void {
  const connection = connectors.connections.find((each) => each.namespace === namespace);
  if (connection === undefined) logger.warn(message);
  else connection.warn(message);
}
