import type { Readable, Writable } from "node:stream";
import type { OptionNames } from "../../core/options.ts";
import { Audiences } from "../audiences.ts";
import { ClientSession, toolSessionId } from "../client-session.ts";
import { RequestAudit } from "../request-audit.ts";
import {
  readServeOptions,
  type ServableHost,
  type ServeOptions,
  serveOptionNames,
  wholeNumber,
} from "../serve-options.ts";
import { StatelessService } from "../stateless/stateless-service.ts";
import { StdioChannel } from "./stdio-channel.ts";

/** Options of serving over stdin and stdout. */
export interface ServeStdioOptions extends ServeOptions {
  /** Identity of the client, for what it may see and what is its own. Default: none. */
  readonly principal?: string | undefined;
  /** Default: stdin of the process. */
  readonly input?: Readable | undefined;
  /** Default: stdout of the process. Nothing else may write to it: log to stderr. */
  readonly output?: Writable | undefined;
  /**
   * When the client is gone, the host is closed, where it has a `close`, and the process exits: a server whose client is gone is an orphan.
   * Default: true where the streams are those of the process.
   */
  readonly exitAtEnd?: boolean | undefined;
  /** Time for requests that run when it is closed, in milliseconds. Default: 5,000. */
  readonly drainMs?: number | undefined;
}

/** A host that is served over stdio. */
export interface StdioService extends AsyncDisposable {
  /** Resolves when the client is gone, or it was closed. Never rejects. */
  readonly closed: Promise<void>;
  /** Ends it: requests that run have `drainMs` to finish. Idempotent. */
  close(): Promise<void>;
}

const optionNames: OptionNames<ServeStdioOptions> = {
  ...serveOptionNames,
  principal: true,
  input: true,
  output: true,
  exitAtEnd: true,
  drainMs: true,
};

/** The longest that the host may take to close before the process exits, in milliseconds. */
const closeHostMs = 5_000;

/**
 * Serves a host to the client that started this process, over stdin and stdout, until the client closes them.
 *
 * @param host - a Toolkit, which is to be started, or a view of one
 * @throws ToolkitError `INVALID_CONFIG` for an option that is not what it must be, or that there is not
 *
 * @example
 * ```ts
 * const toolkit = new Toolkit({ items: [greet] });
 * toolkit.addConnector("https://weather.example/mcp");
 * await toolkit.start();
 * await serveStdio(toolkit);
 * ```
 */
export async function serveStdio(host: ServableHost, options: ServeStdioOptions = {}): Promise<StdioService> {
  const read = readServeOptions(host, options, optionNames);
  const { principal, input = process.stdin, output = process.stdout } = read;
  const { exitAtEnd = input === process.stdin && output === process.stdout } = read;
  const drainMs = wholeNumber("drainMs", read.drainMs, 5_000);
  const audiences = new Audiences(host, read);
  const audit = new RequestAudit(read, "stdio");
  const sessionId = toolSessionId();
  const audience = await audiences.of({ id: sessionId, principal });
  const transport = new StdioChannel({ input, output, maxMessageBytes: read.maxMessageBytes });
  const stateless = read.protocol === "2025-11-25" ? undefined : new StatelessService(read, audit);
  const session = new ClientSession({
    ...{ audience, transport, options: read, audit, sessionId, principal, stateless },
    isStateful: true,
  });
  let isClosing = false;
  const closed = session.closed.then(async (error) => {
    stateless?.end();
    audiences.end();
    if (error !== undefined && !isClosing) read.logger.info(`The client of stdio is gone: ${error.message}`);
    if (exitAtEnd && !isClosing) await exit(host);
  });
  await session.begin();
  const close = async () => {
    isClosing = true;
    session.drain();
    stateless?.endStreams();
    await Promise.race([audit.idle(), after(drainMs)]);
    // The last answer is on its way.
    await after(0);
    await session.close();
    await closed;
  };
  return { closed, close, [Symbol.asyncDispose]: close };
}

function after(delayMs: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, delayMs).unref());
}

/** Closes the host, and ends the process whatever keeps it alive. */
async function exit(host: ServableHost): Promise<void> {
  const close = (host as { readonly close?: unknown }).close;
  // Its children are to end with it.
  if (typeof close === "function")
    await Promise.race([Promise.resolve(close.call(host)).catch(() => undefined), after(closeHostMs)]);
  process.exit();
}
