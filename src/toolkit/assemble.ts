import { ApprovalGate } from "../approval/approval-gate.ts";
import { ApprovalRelay } from "../approval/approval-relay.ts";
import { ToolkitApprovals } from "../approval/approvals.ts";
import { type ApprovalJobs, approvalJobs } from "../approval/stored-approval.ts";
import { callStateOf } from "../call/call-port.ts";
import { CallRouter } from "../call/call-router.ts";
import { Executor } from "../call/executor.ts";
import { Observers, observedInteractions, setObserved } from "../call/observers.ts";
import { SettingsRules } from "../call/settings-rules.ts";
import { Telemetry } from "../call/trace/telemetry.ts";
import { Builtins } from "../catalog/builtins.ts";
import { Catalog } from "../catalog/catalog.ts";
import { Directory } from "../catalog/directory.ts";
import type { LocalSourceHost } from "../catalog/local-source.ts";
import { RuleCheck } from "../catalog/rule-check.ts";
import { type AddConnectorOptions, connectorOf } from "../connection/connect-options.ts";
import { TargetMemory } from "../connection/connection-host.ts";
import { Connectors } from "../connection/connectors.ts";
import type { Connector } from "../core/connector.ts";
import { messageOf } from "../core/error.ts";
import type { ToolkitEvent } from "../core/event.ts";
import { setBus } from "../core/host-bus.ts";
import { inlineNamespace } from "../core/identifier.ts";
import type { CallContext, Entry, Item, Toolbox } from "../core/item.ts";
import type { PolicyRules } from "../core/policy.ts";
import type { Logger } from "../core/session.ts";
import type { Store } from "../core/store.ts";
import { StoredPromptRules } from "../core/stored-prompt-rules.ts";
import type { ConnectorTarget } from "../core/target.ts";
import { readToolkitOptions, type ToolkitOptions } from "../core/toolkit-options.ts";
import type { UserNamespace } from "../core/user.ts";
import type { Clock } from "../lib/clock.ts";
import { DeadlineScheduler } from "../lib/deadline-scheduler.ts";
import { Emitter } from "../lib/emitter.ts";
import { PendingWork } from "../lib/promise.ts";
import { mcpConnector } from "../mcp/mcp-connector.ts";
import { lockFile } from "../pins/lock-file.ts";
import { pinsInStore } from "../pins/pin-place.ts";
import { ToolkitPins } from "../pins/pins.ts";
import { memoryStore } from "../store/memory-store.ts";
import { openUserNamespace } from "../user/user-namespace.ts";
import { UserStores } from "../user/user-stores.ts";
import { DelegatedInteractions } from "./delegated-interactions.ts";
import { Delegates } from "./delegates.ts";

/** The parts of a toolkit, wired. */
export interface Assembly {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly startTimeoutMs: number;
  readonly policy: PolicyRules;
  readonly settings: SettingsRules;
  readonly ruleCheck: RuleCheck;
  readonly delegates: Delegates;
  readonly events: Emitter<ToolkitEvent>;
  readonly telemetry: Telemetry | undefined;
  readonly catalog: Catalog;
  readonly builtins: Builtins;
  readonly connectors: Connectors;
  readonly pins: ToolkitPins;
  /** The connector of a target. @throws ToolkitError `INVALID_TARGET`, `INVALID_CONFIG` or `RESERVED_NAME` */
  connectorFor(target: ConnectorTarget | Connector, options: AddConnectorOptions): Connector;
  readonly sourceHost: LocalSourceHost;
  readonly store: Store;
  /** Undefined where nothing keeps what users make. */
  readonly userStores: UserStores | undefined;
  readonly user: UserNamespace;
  /** The calls that wait for approval, or for work elsewhere. */
  readonly pending: ApprovalJobs;
  readonly executor: Executor;
  readonly toolbox: CallRouter;
  readonly approvals: ToolkitApprovals;
  /** The work that still writes to the store. */
  readonly writing: PendingWork;
}

/** The state of the toolkit that its parts ask for. */
export interface LifecycleState {
  readonly isClosing: boolean;
  /** Aborts when the toolkit begins to close. */
  readonly closing: AbortSignal;
  /** Resolves when the toolkit has started. */
  readonly started: Promise<void>;
  /** @throws ToolkitError `CLOSED` */
  assertOpen(): void;
}

const callableKinds = ["tool", "prompt"] as const;

/** Ends nothing: builtins report their changes without a subscription. */
const nothingToEnd = () => undefined;

/** Makes the parts of a toolkit. @throws ToolkitError `INVALID_CONFIG` for an option out of its range, or one there is not */
export function assemble(options: ToolkitOptions, toolkit: Toolbox, lifecycle: LifecycleState): Assembly {
  const read = readToolkitOptions(options);
  const { clock, logger, startTimeoutMs, strictNames, random } = read;
  const delegates = new Delegates(options.delegate);
  const events = new Emitter<ToolkitEvent>((error, { type }) =>
    logger.error(`A listener of ${type} failed: ${messageOf(error)}`, { error }),
  );
  for (const delegate of delegates.listeners) events.on("*", (event) => delegate.onEvent?.(event));
  // Parts that are made below are asked later.
  const gauges = () => ({ connections: connectors.connections, queued: executor.queued });
  const isLookedAt = options.tracer !== false || options.meter !== false;
  const telemetry = isLookedAt ? new Telemetry({ options, clock, gauges }) : undefined;
  const emit = (event: ToolkitEvent) => {
    telemetry?.observe(event);
    events.emit(event);
  };
  const catalog = new Catalog({ strictNames, emit, hasListeners: events.hasListeners.bind(events) });
  const policy = read.policy.within(catalog);
  const settings = new SettingsRules(read.settings);
  const ruleCheck = new RuleCheck(catalog, logger);
  // Without a store nothing is stored.
  const storedPromptRules = options.store && new StoredPromptRules(read.userTools, catalog);
  ruleCheck.add(...policy.lists("policy"), { at: "settings", rules: settings.names, kinds: callableKinds });
  if (storedPromptRules !== undefined)
    ruleCheck.add({ at: "user.tools", rules: storedPromptRules.rules, kinds: callableKinds });
  const sourceHost = { catalog, clock, logger, startTimeoutMs, emit };
  const observers = new Observers();
  const interactions = observedInteractions(new DelegatedInteractions(delegates), observers);
  const { timeoutMs, maxQueuedCalls } = read;
  const assertOpen = () => lifecycle.assertOpen();
  const isClosing = () => lifecycle.isClosing;
  const directory = new Directory(catalog, lifecycle);
  const deadlines = new DeadlineScheduler(clock);
  const store = options.store ?? memoryStore({ clock });
  setBus(toolkit, options.store?.bus);
  const promptLimits = read.userPromptLimits;
  const userStores = options.store && new UserStores({ ...sourceHost, store, random, promptLimits, ...read.user });
  const user = openUserNamespace(userStores, { limits: read.user, promptLimits, assertOpen });
  const writing = new PendingWork();
  const hold = writing.add.bind(writing);
  const { closing, started } = lifecycle;
  const file = options.pins?.file;
  const place = file === undefined ? pinsInStore(store) : lockFile(file);
  const pins = new ToolkitPins({ place, file, hold, closing });
  const memory = new TargetMemory({ store, hold, closing });
  const chosen = [policy.allow, storedPromptRules?.rules].flatMap((rules) => rules?.texts ?? []);
  const hasBareRules = () => chosen.some((text) => ruleCheck.isBare(text));
  const connecting = { interactions, pins, memory, random, hasBareRules };
  const connectors = new Connectors({ ...sourceHost, ...connecting, timeoutMs, maxQueuedCalls });
  const unwatch = store.watch((event) => {
    if (event.type === "warning") logger.warn(event.message);
  });
  closing.addEventListener("abort", unwatch, { once: true });
  const pending = approvalJobs({
    ...read.approvals,
    store,
    clock,
    logger,
    hold,
    emit,
    closing,
    repeat: (approval) => approvals.repeat(approval),
  });
  const relay = new ApprovalRelay({
    bus: options.store?.bus,
    logger,
    closing,
    take: (answer) => approvals.take(answer),
  });
  const approvalGate = new ApprovalGate({
    jobs: pending,
    ttlMs: read.approvals.ttlMs,
    ask: (request, signal) => delegates.approve(request, signal),
    current: (entry, owner) => (entry.namespace === inlineNamespace ? entry : directory.current(entry, owner)),
    emit,
    address: () => relay.address(),
  });
  const executor: Executor = new Executor({
    ...read,
    policy,
    settings,
    storedPromptRules,
    deadlines,
    approvals: approvalGate,
    observers,
    telemetry,
    interactions,
    events,
    runPrompt: (entry, input, context) => delegates.runPrompt(entry, input, context),
    subscribe: ({ namespace, item }, context) => {
      const owner = callStateOf(context)?.givenSession?.principal;
      return catalog.namespace(namespace, owner)?.subscribe?.(item.uri, context) ?? nothingToEnd;
    },
    onBadSchema: (entry, message) => badSchema(entry, message, { connectors, logger }),
  });
  const toolbox = new CallRouter(directory, executor);
  const approvals: ToolkitApprovals = new ToolkitApprovals(pending, {
    logger,
    hold,
    isClosing,
    origin: toolbox,
    relay,
    assertOpen,
    find: (key, kinds, owner) => directory.find(key, kinds, owner, undefined, "call"),
    receive: executor.receive.bind(executor),
  });
  const ownEgress = { allow: [...(options.egress?.allow ?? [])] };
  const connectorFor = (target: ConnectorTarget | Connector, given: AddConnectorOptions) =>
    connectorOf(
      target,
      given,
      (remote, { egress = ownEgress, ...making }) =>
        delegates.createConnector(remote) ?? mcpConnector(remote, { ...making, egress }),
    );
  const serves = (context: CallContext) => callStateOf(context)?.host === executor;
  const checkPolicy = (rules: PolicyRules, at: string) => ruleCheck.add(...rules.lists(at));
  const builtins = new Builtins(catalog, emit);
  const add = (...items: readonly Item[]) => builtins.add(items);
  setObserved(toolkit, { observers, clock, logger, redact: options.redact ?? [] });
  const suspendedPrompt = delegates.suspendedPrompt.bind(delegates);
  const shared = { toolbox: toolkit, approvals, store, logger, hold, checkPolicy, serves, started, closing, add };
  delegates.attach({ ...shared, suspendedPrompt });
  const made = {
    logger,
    clock,
    startTimeoutMs,
    policy,
    settings,
    ruleCheck,
    delegates,
    events,
    telemetry,
    catalog,
    connectors,
    pins,
    connectorFor,
    sourceHost,
  };
  return { ...made, builtins, store, userStores, user, pending, executor, toolbox, approvals, writing };
}

/** Reports a schema that cannot be compiled among the warnings of its connection, where operators look for problems. */
function badSchema(
  { namespace }: Entry,
  message: string,
  { connectors, logger }: Pick<Assembly, "connectors" | "logger">,
): void {
  const connection = connectors.connections.find((each) => each.namespace === namespace);
  if (connection === undefined) logger.warn(message);
  else connection.warn(message);
}
