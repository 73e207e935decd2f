import type { CallSettings } from "./call-settings.ts";

/**
 * Hints about the behaviour of a tool. They are hints: nothing is to be trusted because of them.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations
 */
export interface ToolAnnotations {
  readonly title?: string | undefined;
  /** It changes nothing. */
  readonly readOnlyHint?: boolean | undefined;
  /** It may destroy something; meaningful only where it is not read-only. */
  readonly destructiveHint?: boolean | undefined;
  /** To call it again with the same input changes nothing more. */
  readonly idempotentHint?: boolean | undefined;
  /** It reaches an open world, such as the web. */
  readonly openWorldHint?: boolean | undefined;
}

/** The options of a tool. */
export interface ToolOptions extends CallSettings {
  /** Part of the fingerprint: change it when the tool's behaviour changes and its description does not. */
  readonly version?: string | undefined;
  /** Keys of its arguments and result whose values are never recorded on spans, by glob, beside those of the toolkit's own `redact`. */
  readonly redact?: readonly string[] | undefined;
  /** For a model's system prompt: how to use it. */
  readonly guidance?: string | undefined;
  /** For a model that has used it: how to read its result. */
  readonly formatGuidance?: string | undefined;
  /** Carried to the events, metrics and spans of its calls. Metrics keep each combination apart: use few values. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Called alone, its result is the final answer of a model run; in a batch with others nothing runs. */
  readonly takesControl?: boolean | undefined;
  /** Offered to a model only where it is forced, and then alone. */
  readonly exclusive?: boolean | undefined;
  /** It only adds an ability, such as search, and stays where others are forced. */
  readonly capability?: boolean | undefined;
  /** Names of evaluations a run that used it is to be put to. */
  readonly evaluations?: readonly string[] | undefined;
}
