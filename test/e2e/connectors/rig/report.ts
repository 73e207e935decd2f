/** What one case came to, as the rig prints it. */
export interface Report {
  readonly fault: string;
  readonly way: string;
  /** Calls that were made while it went on. */
  readonly calls: number;
  /** How calls ended, by code; `ok` for those that were answered. */
  readonly codes: Readonly<Record<string, number>>;
  /** Calls that did not end. */
  readonly unanswered: number;
  /** Ids of calls that are not safe to repeat and ran twice. */
  readonly twice: readonly string[];
  /** Ids of calls that were answered and never ran. */
  readonly invented: readonly string[];
  /** Ids of calls that failed as surely not sent, and ran. */
  readonly denied: readonly string[];
  /** How often the fault happened. */
  readonly happened: number;
  /** How often it was told that the tools changed. */
  readonly changes: number;
  /** From the fault until the connection was given up; undefined where it never was. */
  readonly noticedMs: number | undefined;
  /** From the fault until a call was answered again. */
  readonly healedMs: number;
  /** How late a call of a tool in code was answered at worst. */
  readonly worstBuiltinMs: number;
  /** What differs between what the server offers and what the toolkit lists. */
  readonly catalogue: readonly string[];
  /** What the server still had after the toolkit was closed. */
  readonly left: readonly string[];
  /** Open handles that were not there before, by type. */
  readonly handles: readonly string[];
  /** Abort listeners left on the signal that all calls shared. */
  readonly listeners: number;
  readonly unhandled: readonly string[];
  readonly heapGrownMb: number;
  readonly closeMs: number;
}
