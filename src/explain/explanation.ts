import type { StepDescription } from "../call/pipeline.ts";
import type { KeyReading } from "../catalog/explain-key.ts";
import type { ConnectionState } from "../core/connection.ts";
import type { DefaultKind } from "../core/item.ts";
import type { ItemOrigin } from "../core/item-origin.ts";
import type { Pin } from "../core/pin.ts";
import type { StandingRule } from "../core/policy.ts";

/** A candidate for the item of a key. */
export interface ExplainedItem {
  readonly kind: DefaultKind;
  readonly ref: string;
  /** Its namespace was not connected: it may have changed since. */
  readonly stale: boolean;
}

/** A rule that applies to an item, as it is written, with the option that contains it. */
export interface ExplainedRule extends StandingRule {
  /** The owner of the rule. */
  readonly of: "toolkit" | "toolset" | "connector";
  /** The names of the settings that it sets. */
  readonly sets?: readonly string[] | undefined;
}

/** The meaning of a key, and the steps of a call of it: a plain value, and as a text for people. */
export interface Explanation {
  readonly key: string;
  /** Every way in which it may be meant, in the order in which they are tried. */
  readonly readings: readonly KeyReading[];
  /** Everything that fits, in the order of lookups. */
  readonly candidates: readonly ExplainedItem[];
  /** The item it means: the first candidate, unless there is a problem. */
  readonly winner?: ExplainedItem | undefined;
  /** Refs of the items it would mean if the winner were not there, in their order. */
  readonly shadowed: readonly string[];
  /** The reason why it means nothing. */
  readonly problem?: string | undefined;
  /** Namespaces that have not settled yet, and may have it. */
  readonly unsettled: readonly string[];
  readonly rules: readonly ExplainedRule[];
  /** The manifest or workflow that it is made of. */
  readonly origin?: ItemOrigin | undefined;
  /** The connector it comes from. */
  readonly connection?:
    | {
        readonly namespace: string;
        readonly trust: "standard" | "untrusted";
        readonly state: ConnectionState;
        readonly attempts: number;
        readonly lastError?: string | undefined;
        /** Milliseconds since the epoch. */
        readonly nextAttemptAt?: number | undefined;
      }
    | undefined;
  /** Its contract, where its connector is pinned. */
  readonly pin?: Pick<Pin, "state" | "version" | "changes"> | undefined;
  /** The name models know it by. */
  readonly alias?: string | undefined;
  /** The steps of a call, the outermost first; a step that has nothing to do there is not there. */
  readonly steps: readonly StepDescription[];
  /** An estimate of what its definition costs a model, in tokens. */
  readonly tokens?: number | undefined;
}
