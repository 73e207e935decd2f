import type { StepDescription } from "../call/pipeline.ts";
import type { KeyReading } from "../catalog/explain-key.ts";
import type { ConnectionState } from "../core/connection.ts";
import type { DefaultKind } from "../core/item.ts";

/** Something a key may mean. */
export interface ExplainedItem {
  readonly kind: DefaultKind;
  readonly ref: string;
  /** Its namespace was not connected: it may have changed since. */
  readonly stale: boolean;
}

/** A rule that has a say. */
export interface ExplainedRule {
  /** Whose it is. */
  readonly of: "toolkit" | "toolset";
  readonly rule: string;
  /** Whether it refuses it, hides it from models, or is asked at each call. */
  readonly verdict: "refuses" | "hides" | "decides";
}

/** What a key means, and what a call of it would go through: a plain value, and as a text for people. */
export interface Explanation {
  readonly key: string;
  /** Every way in which it may be meant, in the order in which they are tried. */
  readonly readings: readonly KeyReading[];
  /** Everything that fits, in the order of lookups. */
  readonly candidates: readonly ExplainedItem[];
  /** What it means: the first candidate, unless there is a problem. */
  readonly winner?: ExplainedItem | undefined;
  /** What it would mean if the winner were not there: refs, in their order. */
  readonly shadowed: readonly string[];
  /** Why it means nothing. */
  readonly problem?: string | undefined;
  /** Namespaces that are only just coming, and may have it. */
  readonly unsettled: readonly string[];
  readonly rules: readonly ExplainedRule[];
  /** The connector it comes from. */
  readonly connection?:
    | {
        readonly namespace: string;
        readonly state: ConnectionState;
        readonly attempts: number;
        readonly lastError?: string | undefined;
        /** Milliseconds since the epoch. */
        readonly nextAttemptAt?: number | undefined;
      }
    | undefined;
  /** The name models know it by. */
  readonly alias?: string | undefined;
  /** What a call goes through, the outermost first; a step that has nothing to do there is not there. */
  readonly steps: readonly StepDescription[];
  /** About what its definition costs a model, in tokens. */
  readonly tokens?: number | undefined;
}
