import type { CallSettings } from "./call-settings.ts";

/**
 * Hints about what a tool does. They are hints: nothing is to be trusted because of them.
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

/** How a tool is run. */
export interface ToolOptions extends CallSettings {
  /** Part of the fingerprint: change it when the tool's behaviour changes and its description does not. */
  readonly version?: string | undefined;
}
