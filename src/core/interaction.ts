import type { JsonSchema } from "./schema/types.ts";

// Requests of a server or a tool to a person or a model while it works. The names and shapes are those of MCP.

/**
 * A request to a person: to fill in a form, or to visit a page.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
 */
export interface ElicitRequest {
  /** Why, for the person. */
  readonly message: string;
  /** The form: an object whose members are texts, numbers, booleans or choices. Undefined where a page is to be visited. */
  readonly schema?: JsonSchema | undefined;
  /** The page to visit. Show the person where it leads, and open it only with consent. */
  readonly url?: string | undefined;
  /** The id under which the server reports that the visit to the page is over. */
  readonly elicitationId?: string | undefined;
  /**
   * Of the form of a server: its members that seem to ask for a secret, such as a password, which the specification forbids. Warn the person,
   * or decline. It is a guess by their names and texts: what is not here may be a secret too.
   */
  readonly secrets?: readonly string[] | undefined;
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
}

/** The answer of the person: `cancel` if the form was closed without one. */
export type ElicitResult =
  | {
      readonly action: "accept";
      /** The members that were filled in. Members that are left out get the default the schema names. */
      readonly content?: Readonly<Record<string, unknown>> | undefined;
      /** For the server that asked. */
      readonly meta?: Readonly<Record<string, unknown>> | undefined;
    }
  | {
      readonly action: "decline" | "cancel";
      readonly content?: undefined;
      readonly meta?: Readonly<Record<string, unknown>> | undefined;
    };

/** A folder or other place a server may work in. */
export interface Root {
  /** A `file:` URI. */
  readonly uri: string;
  readonly name?: string | undefined;
}

/** One block of a message to or from a model, as MCP sends it. */
export type SampleContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image" | "audio" /** Base64. */; readonly data: string; readonly mimeType: string };

/** One message of a conversation with a model. */
export interface SampleMessage {
  readonly role: "user" | "assistant";
  readonly content: SampleContent | readonly SampleContent[];
}

/**
 * A request to a model.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/client/sampling
 */
export interface SampleRequest {
  readonly messages: readonly SampleMessage[];
  readonly maxTokens: number;
  readonly systemPrompt?: string | undefined;
  /** Which model is wished for, as hints and priorities from 0 to 1. */
  readonly modelPreferences?:
    | {
        readonly hints?: readonly { readonly name?: string | undefined }[] | undefined;
        readonly costPriority?: number | undefined;
        readonly speedPriority?: number | undefined;
        readonly intelligencePriority?: number | undefined;
      }
    | undefined;
  readonly temperature?: number | undefined;
  readonly stopSequences?: readonly string[] | undefined;
  readonly includeContext?: "none" | "thisServer" | "allServers" | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
}

/** The message of the model. */
export interface SampleResult {
  readonly role: "user" | "assistant";
  readonly content: SampleContent | readonly SampleContent[];
  /** The name of the model that said it. */
  readonly model: string;
  /** Such as `endTurn`, `stopSequence` or `maxTokens`. */
  readonly stopReason?: string | undefined;
}
