import type { FinishReason, TokenUsage } from "../core/agent-event.ts";
import type { ApprovalStatus } from "../core/approval.ts";
import type { ConnectionState } from "../core/connection.ts";
import type { ErrorCode } from "../core/error-catalog.ts";
import type { Kind } from "../core/item.ts";
import type { ContractChange, PinnedKind, PinState } from "../core/pin.ts";
import type { ContentJson } from "../core/resource.ts";
import type { JsonSchema } from "../core/schema/types.ts";
import type { LintProblem } from "../prompt/lint/lint-findings.ts";

// The JSON that the page and its server exchange. Times are in milliseconds since the epoch.

/** A namespace with the state of its connector. */
export interface NamespaceStatus {
  readonly namespace: string;
  /** `local` for items of no connector. */
  readonly state: ConnectionState | "local";
  readonly counts: Readonly<Record<Kind, number>>;
  readonly since?: number | undefined;
  readonly latencyMs?: number | undefined;
  readonly callsInFlight?: number | undefined;
  /** The rest is for operators. */
  readonly label?: string | undefined;
  readonly transport?: string | undefined;
  readonly trust?: "standard" | "untrusted" | undefined;
  readonly server?: string | undefined;
  readonly protocolVersion?: string | undefined;
  readonly attempts?: number | undefined;
  readonly nextAttemptAt?: number | undefined;
  readonly lastError?: string | undefined;
  readonly warnings?: readonly string[] | undefined;
  readonly stderr?: string | undefined;
}

/** `status.json`: the state of the whole. */
export interface InspectionStatus {
  /** `degraded` while a connector that was started is not connected. */
  readonly health: "ok" | "degraded";
  readonly at: number;
  /** May decide approvals, accept contracts and reconnect. */
  readonly isOperator: boolean;
  readonly namespaces: readonly NamespaceStatus[];
  readonly pendingApprovals: number;
  readonly changedContracts: number;
}

/** An item in a list. */
export interface ListedItem {
  readonly kind: Kind;
  readonly ref: string;
  /** The ref for people: what does not show is escaped. */
  readonly label: string;
  readonly namespace: string;
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly stale: boolean;
  /** The rule of its connector that refuses it. */
  readonly refusedBy?: string | undefined;
}

/** A page of the catalogue. */
export interface ListedItems {
  readonly items: readonly ListedItem[];
  /** All that match. */
  readonly count: number;
  readonly offset: number;
}

/** A step of a call, with its settings. */
export interface ShownStep {
  readonly name: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** An item with its schemas. */
export interface ShownItem extends ListedItem {
  readonly uri?: string | undefined;
  readonly mediaType?: string | undefined;
  readonly size?: number | undefined;
  readonly input?: JsonSchema | undefined;
  readonly output?: JsonSchema | undefined;
  readonly annotations?: Readonly<Record<string, unknown>> | undefined;
  /** The steps that a call passes; for operators. */
  readonly steps?: readonly ShownStep[] | undefined;
  /** The explanation as a text; for operators. */
  readonly explanation?: string | undefined;
}

/** An error of a call, or of a request of the page. */
export interface ShownError {
  readonly code?: ErrorCode | undefined;
  readonly message: string;
  readonly remedy?: string | undefined;
  readonly phase?: string | undefined;
  /** Of the approval that a call waits for. */
  readonly approval?: string | undefined;
}

/** A result, or as much of it as is shown. */
export interface ShownContent {
  readonly content: ContentJson;
  /** The size of a result that was too large to be shown whole. */
  readonly cutFrom?: number | undefined;
}

/** The outcome of a call or read. */
export interface ShownOutcome extends Partial<ShownContent> {
  readonly error?: ShownError | undefined;
  readonly durationMs: number;
  readonly attempts?: number | undefined;
  readonly cached?: boolean | undefined;
}

/** A rendered prompt. */
export interface ShownPrompt {
  readonly system?: string | undefined;
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly content: readonly ShownContent[] }[];
}

/** The findings of lint in the folders of prompts. */
export interface ShownLint {
  readonly files: readonly string[];
  readonly problems: readonly LintProblem[];
  /** No folder of prompts is known. */
  readonly isUnknown?: boolean | undefined;
}

/** A call that waits, or has waited. */
export interface ShownApproval {
  readonly id: string;
  readonly kind: "approval" | "completion";
  readonly status: ApprovalStatus;
  readonly tool: string;
  readonly arguments: unknown;
  readonly reason: string;
  readonly message: string;
  readonly requestedAt: number;
  readonly expiresAt: number;
  readonly principal?: string | undefined;
  readonly decidedBy?: string | undefined;
  readonly decisionReason?: string | undefined;
  readonly result?: ShownContent | undefined;
  readonly error?: ShownError | undefined;
}

/** A part of a contract that changed. */
export interface ShownPin {
  readonly namespace: string;
  readonly kind: PinnedKind;
  readonly key: string;
  readonly ref: string;
  readonly state: PinState;
  readonly version: string;
  readonly changes: readonly ContractChange[];
}

/** An answer of a model within a run. */
export interface RunStep {
  readonly step: number;
  readonly provider: string;
  readonly model: string;
  readonly finishReason: FinishReason;
  readonly usage: TokenUsage;
  readonly startedAt: number;
  readonly durationMs: number;
}

/** A tool call within a run. Known of runs that were started from the page. */
export interface RunCall {
  readonly id: string;
  readonly name: string;
  readonly step: number;
  readonly status: "running" | "ok" | "failed" | "denied" | "pending";
  readonly startedAt: number;
  readonly durationMs?: number | undefined;
}

/** A run of an agent. */
export interface ShownRun {
  readonly run: string;
  readonly ref: string;
  readonly depth: number;
  readonly principal?: string | undefined;
  readonly startedAt: number;
  readonly lastAt: number;
  /** `waiting` for an approval, or for work elsewhere. */
  readonly status: "running" | "finished" | "failed" | "waiting";
  readonly usage: TokenUsage;
  readonly steps: readonly RunStep[];
  readonly calls: readonly RunCall[];
}

/** An event of the toolkit, for people. */
export interface ShownEvent {
  /** Counts up from 1 in each process. */
  readonly id: number;
  readonly at: number;
  readonly type: string;
  /** The namespace or ref that it is about. */
  readonly about: string;
  readonly text: string;
  readonly isProblem: boolean;
}

/** A message of the event stream. */
export interface EventBatch {
  /** Differs in each process, and with it the ids of events. */
  readonly process: string;
  readonly events: readonly ShownEvent[];
}
