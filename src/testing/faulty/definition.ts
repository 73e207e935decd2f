import type { Clock } from "../../lib/clock.ts";

/** What a tool of a faulty server can do while it runs. */
export interface FaultyToolContext {
  /** Aborts when the client cancels the call, or is gone. */
  readonly signal: AbortSignal;
  /** Reports progress, where the client asked for it. */
  progress(progress: number, total?: number, message?: string): void;
  /** Sends a notification that belongs to the call. */
  notify(method: string, params?: object): void;
  /** Asks the client, such as `elicitation/create`, and gives its result. @throws Error with what it answered instead */
  request(method: string, params?: object): Promise<unknown>;
}

/** A tool of a faulty server. What is not `run` goes over the wire as it is, right or wrong. */
export interface FaultyTool {
  readonly title?: string;
  readonly description?: string;
  /** Default: any object. */
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
  readonly annotations?: object;
  readonly _meta?: object;
  /**
   * Gives a text, a whole result (an object with `content`), or anything else, which becomes `structuredContent`. What it throws is
   * answered as an error of the tool.
   */
  run(input: Readonly<Record<string, unknown>>, context: FaultyToolContext): unknown;
}

/** A prompt of a faulty server: what stands in its list, and the text it renders. */
export interface FaultyPrompt {
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly { readonly name: string; readonly description?: string; readonly required?: boolean }[];
  readonly text: string;
}

/** A resource of a faulty server: what stands in its list, and its text. */
export interface FaultyResource {
  /** Default: the URI. */
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly text: string;
}

/** What a faulty server offers. */
export interface FaultyOffer {
  /** By name. Default: `echo`, `add`, `slow`, `record`, `count`, `ask`, `sample` and `log`. */
  readonly tools?: Readonly<Record<string, FaultyTool>>;
  /** By name. Default: `greet`. */
  readonly prompts?: Readonly<Record<string, FaultyPrompt>>;
  /** By URI. Default: `memo://one`. */
  readonly resources?: Readonly<Record<string, FaultyResource>>;
}

/** How a faulty server is made. Everything has a default. */
export interface FaultyServerOptions extends FaultyOffer {
  /** The name it says of itself. Default: `faulty`. */
  readonly name?: string | undefined;
  /** How many entries a page of a list has. Default: all. */
  readonly pageSize?: number | undefined;
  /** The capabilities it declares. Default: all, with `listChanged` and `subscribe`. */
  readonly capabilities?: object | undefined;
  /** Time, for `slow` and floods. Default: the machine's. */
  readonly clock?: Clock | undefined;
}
