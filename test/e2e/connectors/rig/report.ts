/** The result of one case, as the rig prints it. */
export interface Report {
  readonly fault: string;
  readonly way: string;
  /** Calls that were made while it went on. */
  readonly calls: number;
  /** The ends of calls, by code; `ok` for those that were answered. */
  readonly codes: Readonly<Record<string, number>>;
  /** Calls that did not end. */
  readonly unanswered: number;
  /** Ids of calls that are not safe to repeat and ran twice. */
  readonly twice: readonly string[];
  /** Ids of calls that were answered and never ran. */
  readonly invented: readonly string[];
  /** Ids of calls that failed as surely not sent, and ran. */
  readonly denied: readonly string[];
  /** The number of times the fault happened. */
  readonly happened: number;
  /** The number of changes of the tools that were reported. */
  readonly changes: number;
  /** From the fault until the connection was given up; undefined where it never was. */
  readonly noticedMs: number | undefined;
  /** From the fault until a call was answered again. */
  readonly healedMs: number;
  /** The longest time of a call of a tool in code. */
  readonly worstBuiltinMs: number;
  /** The differences between the tools of the server and the list of the toolkit. */
  readonly catalogue: readonly string[];
  /** The state that the server still had after the toolkit was closed. */
  readonly left: readonly string[];
  /** Open handles that were not there before, by type. */
  readonly handles: readonly string[];
  /** Abort listeners left on the signal that all calls shared. */
  readonly listeners: number;
  readonly unhandled: readonly string[];
  readonly heapGrownMb: number;
  readonly closeMs: number;
}
