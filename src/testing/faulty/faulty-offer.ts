import type { Clock } from "../../lib/clock.ts";

/** The context of a tool of a faulty server. */
export interface FaultyToolContext {
  /** Aborts when the client cancels the call or disconnects. */
  readonly signal: AbortSignal;
  /** Reports progress, where the client asked for it. */
  progress(progress: number, total?: number, message?: string): void;
  /** Sends a notification that belongs to the call. */
  notify(method: string, params?: object): void;
  /** Sends a request to the client, such as `elicitation/create`, and gives its result. @throws Error with any other answer */
  request(method: string, params?: object): Promise<unknown>;
}

/** A tool of a faulty server. All fields but `run` go over the wire unchanged, valid or not. */
export interface FaultyTool {
  readonly title?: string;
  readonly description?: string;
  /** Default: any object. */
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
  readonly annotations?: object;
  readonly _meta?: object;
  /**
   * Returns a text, a whole result (an object with `content`), or any other value, which becomes `structuredContent`. An error it throws
   * is answered as an error of the tool.
   */
  run(input: Readonly<Record<string, unknown>>, context: FaultyToolContext): unknown;
}

/** A prompt of a faulty server: its entry in lists, and the text it renders. */
export interface FaultyPrompt {
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly { readonly name: string; readonly description?: string; readonly required?: boolean }[];
  readonly text: string;
}

/** A resource of a faulty server: its entry in lists, and its text. */
export interface FaultyResource {
  /** Default: the URI. */
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly text: string;
}

/** The tools, prompts and resources of a faulty server. */
export interface FaultyOffer {
  /** By name. Default: `echo`, `add`, `slow`, `record`, `count`, `ask`, `sample` and `log`. */
  readonly tools?: Readonly<Record<string, FaultyTool>>;
  /** By name. Default: `greet`. */
  readonly prompts?: Readonly<Record<string, FaultyPrompt>>;
  /** By URI. Default: `memo://one`. */
  readonly resources?: Readonly<Record<string, FaultyResource>>;
}

/** Options of a faulty server. Each has a default. */
export interface FaultyServerOptions extends FaultyOffer {
  /** The name in its handshake. Default: `faulty`. */
  readonly name?: string | undefined;
  /** Entries on a page of a list. Default: all. */
  readonly pageSize?: number | undefined;
  /**
   * The era that it speaks: `2025-11-25` shakes hands, in whatever revision a client asks for, and keeps a session; `2026-07-28` has neither,
   * and a tool that asks runs again with the answers. Default: `2025-11-25`.
   */
  readonly protocol?: "2025-11-25" | "2026-07-28" | undefined;
  /** The capabilities it declares. Default: all, with `listChanged` and `subscribe`. */
  readonly capabilities?: object | undefined;
  /** The clock of `slow` and of floods. Default: the system clock. */
  readonly clock?: Clock | undefined;
}
