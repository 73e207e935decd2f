import { randomUUID } from "node:crypto";
import type { Connection } from "../core/connection.ts";
import { ToolkitError } from "../core/error.ts";
import type { Host } from "../core/host.ts";
import type { Entry, Kind, ListQuery } from "../core/item.ts";
import { kinds } from "../core/item.ts";
import type { CallReport, Session } from "../core/session.ts";
import { present } from "../lib/value.ts";
import { lintPrompts } from "../prompt/lint/lint-prompts.ts";
import type { Toolkit } from "../toolkit/toolkit.ts";
import type { ViewSelection } from "../toolkit/view-filter.ts";
import type {
  InspectionStatus,
  ListedItems,
  NamespaceStatus,
  ShownApproval,
  ShownItem,
  ShownLint,
  ShownOutcome,
  ShownPin,
  ShownPrompt,
} from "./inspection-face.ts";
import type { RunLog } from "./run-log.ts";
import {
  listedItem,
  namespaceStatus,
  shownApproval,
  shownContent,
  shownError,
  shownItem,
  shownPrompt,
} from "./shown-items.ts";

/** The parts of an inspection. */
export interface InspectionParts {
  readonly toolkit: Toolkit;
  /** Undefined for an operator, who sees all. */
  readonly selection: ViewSelection | undefined;
  readonly isOperator: boolean;
  /** Files and folders of prompts that lint checks. */
  readonly prompts: readonly string[];
  readonly runs: RunLog;
}

/** A page of the catalogue. */
export interface ItemQuery {
  readonly kind?: Kind | undefined;
  readonly namespace?: string | undefined;
  /** Words that the ref, title or description must all have. */
  readonly words: string;
  readonly offset: number;
  readonly limit: number;
}

type Counts = Readonly<Record<Kind, number>>;

const noCounts: Counts = { tool: 0, prompt: 0, resource: 0, template: 0 };

/** Reads and does, for the page, what its principal may. */
export class InspectionData {
  /** The part of the toolkit that the page may see. */
  readonly host: Host;
  readonly #parts: InspectionParts;
  readonly #session: Session;

  constructor(parts: InspectionParts) {
    const { toolkit, selection } = parts;
    this.#parts = parts;
    this.host = selection === undefined ? toolkit : toolkit.view(selection);
    this.#session = {
      id: randomUUID(),
      clientInfo: { name: "toolweave", version: "page" },
      ...present({ principal: selection?.principal }),
    };
  }

  async status(isOperator = this.#parts.isOperator): Promise<InspectionStatus> {
    const byNamespace = await this.#counts();
    const { connections } = this.#parts.toolkit;
    const remote = connections
      .filter(({ namespace }) => this.#sees(namespace, byNamespace))
      .map((each) => namespaceStatus(each, byNamespace.get(each.namespace) ?? noCounts, isOperator));
    const named = new Set(connections.map(({ namespace }) => namespace));
    const local = [...byNamespace]
      .filter(([namespace]) => !named.has(namespace))
      .map(([namespace, counts]): NamespaceStatus => ({ namespace, state: "local", counts }));
    const waiting = await this.approvals();
    return {
      health: connections.every((each) => !this.#sees(each.namespace, byNamespace) || isWell(each)) ? "ok" : "degraded",
      at: Date.now(),
      isOperator,
      namespaces: [...local, ...remote],
      pendingApprovals: waiting.filter(({ status }) => status === "pending").length,
      changedContracts: (await this.pins()).length,
    };
  }

  async items({ kind, namespace, words, offset, limit }: ItemQuery): Promise<ListedItems> {
    const query: ListQuery<Kind> = { kind: kind ?? kinds, session: this.#session, ...present({ namespace }) };
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    if (wanted.length === 0) {
      const { entries, count } = await this.host.list({ ...query, offset, limit });
      return { items: entries.map(listedItem), count, offset };
    }
    const { entries } = await this.host.list(query);
    const found = entries.filter(({ ref, item: { title = "", description = "" } }) => {
      const text = `${ref} ${title} ${description}`.toLowerCase();
      return wanted.every((word) => text.includes(word));
    });
    return { items: found.slice(offset, offset + limit).map(listedItem), count: found.length, offset };
  }

  async item(ref: string, kind: Kind): Promise<ShownItem> {
    const entry = await this.#entry(ref, kind);
    const { toolkit, selection, isOperator } = this.#parts;
    // An explanation names everything that a key may mean, what a selection hides included.
    if (!isOperator || selection !== undefined || kind === "template") return shownItem(entry);
    const explanation = await toolkit.explain(ref, { session: this.#session });
    const steps = explanation.steps.map(({ name, settings }) => ({ name, settings: { ...settings } }));
    return { ...shownItem(entry), steps, explanation: String(explanation) };
  }

  async call(ref: string, kind: "tool" | "prompt", input: unknown, signal: AbortSignal): Promise<ShownOutcome> {
    const report: CallReport = {};
    const startedAt = performance.now();
    const outcome = await this.#outcome(async () => {
      const entry = await this.#entry(ref, kind);
      const onEvent = this.#parts.runs.add.bind(this.#parts.runs);
      return this.host.call(entry as Entry<"tool" | "prompt">, input, {
        session: this.#session,
        signal,
        report,
        ...(kind === "prompt" ? { onEvent } : {}),
      });
    });
    const { attempts, cached } = report;
    return { ...outcome, durationMs: performance.now() - startedAt, ...present({ attempts, cached }) };
  }

  async read(ref: string, signal: AbortSignal): Promise<ShownOutcome> {
    const startedAt = performance.now();
    const outcome = await this.#outcome(() => this.host.read(ref, { session: this.#session, signal }));
    return { ...outcome, durationMs: performance.now() - startedAt };
  }

  async render(ref: string, input: unknown, signal: AbortSignal): Promise<ShownPrompt> {
    const entry = (await this.#entry(ref, "prompt")) as Entry<"prompt">;
    return shownPrompt(await this.host.render(entry, input, { session: this.#session, signal }), signal);
  }

  async lint(signal: AbortSignal): Promise<ShownLint> {
    const { prompts, isOperator } = this.#parts;
    if (prompts.length === 0 || !isOperator) return { files: [], problems: [], isUnknown: true };
    return lintPrompts(prompts, { toolbox: this.host, recursive: true, signal });
  }

  /** The newest first. */
  async approvals(): Promise<readonly ShownApproval[]> {
    const { toolkit, selection, isOperator } = this.#parts;
    const principal = selection?.principal;
    // A selection without a principal says what is seen, and not whose calls.
    if (principal === undefined && !isOperator) return [];
    const known = await toolkit.approvals.list(present({ principal }));
    const seen = await Promise.all(known.map(async (each) => ((await this.#isSeen(each.tool)) ? [each] : [])));
    return seen.flat().map(shownApproval).reverse();
  }

  /** Decides. What is approved runs before this resolves. */
  async decide(id: string, approved: boolean, reason: string | undefined): Promise<void> {
    this.#assertOperator("Approvals are decided");
    if (!(await this.approvals()).some((each) => each.id === id)) throw missing("approval", id);
    await this.#parts.toolkit.approvals.resolve(id, { approved, by: "page", ...present({ reason }) });
  }

  /** The contracts that changed. */
  async pins(): Promise<readonly ShownPin[]> {
    if (!this.#parts.isOperator) return [];
    const changed = this.#parts.toolkit.pins.list({ changed: true });
    const counts = await this.#counts();
    const seen = changed.map(async (pin) => {
      const isSeen = pin.kind === "instructions" ? this.#sees(pin.namespace, counts) : await this.#isSeen(pin.ref);
      return isSeen ? [pin] : [];
    });
    return (await Promise.all(seen)).flat();
  }

  async accept(ref: string, version: string): Promise<void> {
    this.#assertOperator("Contracts are accepted");
    if (!(await this.pins()).some((pin) => pin.ref === ref)) throw missing("changed contract", ref);
    await this.#parts.toolkit.pins.accept({ ref, version });
  }

  async reconnect(namespace: string): Promise<void> {
    this.#assertOperator("Connectors are reconnected");
    const connection = this.#parts.toolkit.connections.find((each) => each.namespace === namespace);
    if (connection === undefined || !this.#sees(namespace, await this.#counts())) throw missing("connector", namespace);
    connection.reconnect();
  }

  async #outcome(action: () => Promise<Awaited<ReturnType<Host["call"]>>>) {
    try {
      return shownContent(await action());
    } catch (error) {
      return { error: shownError(error) };
    }
  }

  #entry(ref: string, kind: Kind): Promise<Entry> {
    return this.host.lookup(ref, { kind, session: this.#session });
  }

  async #isSeen(ref: string): Promise<boolean> {
    if (this.#parts.selection === undefined) return true;
    return this.host.lookup(ref, { session: this.#session }).then(
      () => true,
      () => false,
    );
  }

  #sees(namespace: string, counts: ReadonlyMap<string, Counts>): boolean {
    return this.#parts.selection === undefined || counts.has(namespace);
  }

  async #counts(): Promise<ReadonlyMap<string, Counts>> {
    const { entries } = await this.host.list({ kind: kinds, session: this.#session });
    const byNamespace = Map.groupBy(entries, ({ namespace }) => namespace);
    return new Map(
      [...byNamespace].map(([namespace, own]) => {
        const counts = { ...noCounts };
        for (const { kind } of own) counts[kind] += 1;
        return [namespace, counts];
      }),
    );
  }

  #assertOperator(action: string): void {
    if (this.#parts.isOperator) return;
    throw new ToolkitError("DENIED", `${action} by operators. This page is for a principal: see the option operator.`, {
      rule: "operator: false",
    });
  }
}

function missing(what: string, key: string): ToolkitError<"NOT_FOUND"> {
  const message = `There is no ${what} ${JSON.stringify(key)}.`;
  return new ToolkitError("NOT_FOUND", message, { key, suggestions: [] });
}

function isWell({ state }: Connection): boolean {
  return state === "connected" || state === "idle";
}
