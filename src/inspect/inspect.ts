import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { messageOf, ToolkitError } from "../core/error.ts";
import { silentLogger, steadyLogger } from "../core/logger.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../core/options.ts";
import type { Logger } from "../core/session.ts";
import { readHandlerOptions } from "../server/http/handler-options.ts";
import { NodeExchange } from "../server/http/node-exchange.ts";
import { RequestGate } from "../server/http/request-gate.ts";
import type { Toolkit } from "../toolkit/toolkit.ts";
import type { ViewSelection } from "../toolkit/view-filter.ts";
import { EventFeed } from "./event-feed.ts";
import { InspectionData } from "./inspection-data.ts";
import { type PageAssets, packagedPage } from "./page-assets.ts";
import { PageServer } from "./page-server.ts";
import { PageSessions } from "./page-sessions.ts";
import { RunLog } from "./run-log.ts";

/** The options of the page. */
export interface InspectionOptions {
  /** The port on 127.0.0.1. Default: any that is free. */
  readonly port?: number | undefined;
  /** The part of the toolkit that the page shows, and the principal whose calls it makes. Default: everything, for an operator. */
  readonly selection?: ViewSelection | undefined;
  /** The page may decide approvals, accept contracts and reconnect, in what it shows. Default: true without a selection, else false. */
  readonly operator?: boolean | undefined;
  /** Files and folders of prompts, which lint checks beside a rendered prompt. Default: none. */
  readonly prompts?: readonly string[] | undefined;
  /**
   * The readers of `/health` and `/status.json`: those who opened the page, those who send a token of at least 16 characters as `Authorization: Bearer`,
   * or everyone who reaches the port, who learns of namespaces and states alone. Default `page`.
   */
  readonly health?: "page" | "open" | { readonly token: string } | undefined;
  /** Receives what operators should know. Default: nothing is logged. */
  readonly logger?: Logger | undefined;
}

/** A page that is served. */
export interface Inspection extends AsyncDisposable {
  /** The link that opens the page, once: its token is exchanged for a cookie. */
  readonly url: string;
  /** Makes another link, for another browser. */
  link(): string;
  /** Ends the page, and the calls that it is waiting for. The toolkit goes on. */
  close(): Promise<void>;
}

const optionNames: OptionNames<InspectionOptions> = {
  port: true,
  selection: true,
  operator: true,
  prompts: true,
  health: true,
  logger: true,
};

/**
 * Serves a page on this machine that shows a toolkit: its namespaces, catalogue, calls, approvals, events, runs and changed contracts.
 *
 * @throws ToolkitError `INVALID_CONFIG` for an option that is not what it must be, or a port that is taken; `NOT_FOUND` where the files of
 *   the page were left out of a bundle
 *
 * @example
 * ```ts
 * await using page = await inspect(toolkit, { port: 8809 });
 * console.log(`Look at it: ${page.url}`);
 * ```
 */
export async function inspect(toolkit: Toolkit, options: InspectionOptions = {}): Promise<Inspection> {
  assertOptions(options);
  return serveInspection(toolkit, options, await packagedPage());
}

/** As `inspect`, with the files of a page. */
export async function serveInspection(
  toolkit: Toolkit,
  options: InspectionOptions,
  assets: PageAssets,
): Promise<Inspection> {
  const { port = 0, selection, operator = selection === undefined, prompts = [], health = "page" } = options;
  const logger = options.logger === undefined ? silentLogger : steadyLogger(options.logger);
  const runs = new RunLog();
  const data = new InspectionData({ toolkit, selection, isOperator: operator, prompts, runs });
  const http = createServer();
  const actual = await listen(http, port);
  const allowedOrigins = ["127.0.0.1", "localhost"].map((host) => `http://${host}:${actual}`);
  const gate = new RequestGate(readHandlerOptions(data.host, { allowedOrigins, logger }));
  const sessions = new PageSessions(actual);
  const feed = new EventFeed(data.host, operator, (event) => {
    if (event.type === "agentStep") runs.step(event);
    else if (event.type === "callFinished") runs.ended(event);
  });
  const server = new PageServer({ gate, sessions, assets, data, feed, runs, health, logger });
  http.on("request", (request, response) => void server.answer(new NodeExchange(request, response)));
  http.on("error", (error) => logger.error(`The page failed: ${messageOf(error)}`, { error }));
  const link = () => `http://127.0.0.1:${actual}/?token=${sessions.makeToken()}`;
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= closed(http, feed);
    return closing;
  };
  return { url: link(), link, close, [Symbol.asyncDispose]: close };
}

async function listen(http: Server, port: number): Promise<number> {
  try {
    http.listen(port, "127.0.0.1");
    await once(http, "listening");
    return (http.address() as AddressInfo).port;
  } catch (error) {
    const message = `The page cannot be served on port ${port}: ${messageOf(error)}. Leave the option port out for any that is free.`;
    throw new ToolkitError("INVALID_CONFIG", message, { path: "port" }, { cause: error });
  }
}

async function closed(http: Server, feed: EventFeed): Promise<void> {
  const done = once(http, "close");
  feed.close();
  http.close();
  http.closeAllConnections();
  await done;
}

function assertOptions(options: InspectionOptions): void {
  assertOptionNames(options, optionNames, owner);
  const { port, operator, prompts, health } = options;
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port <= 65_535))
    throw invalidOption("port", "a whole number from 0 to 65535", port, owner);
  if (operator !== undefined && typeof operator !== "boolean")
    throw invalidOption("operator", "true or false", operator, owner);
  if (prompts !== undefined && !(Array.isArray(prompts) && prompts.every((each) => typeof each === "string")))
    throw invalidOption("prompts", "a list of paths", prompts, owner);
  if (health === undefined || health === "page" || health === "open") return;
  // Its value is a secret.
  if (typeof health?.token !== "string" || health.token.length < 16)
    throw invalidOption("health", '"page", "open" or { token } of at least 16 characters', "another value", owner);
}

const owner = "of inspect";
