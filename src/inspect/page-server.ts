import { messageOf, ToolkitError } from "../core/error.ts";
import { type Kind, kinds } from "../core/item.ts";
import type { Logger } from "../core/session.ts";
import { isRecord, jsonIn, present } from "../lib/value.ts";
import { ClientGone, RequestRefusal, type ServedExchange, urlOf } from "../server/http/http-exchange-port.ts";
import type { RequestGate } from "../server/http/request-gate.ts";
import type { EventFeed } from "./event-feed.ts";
import type { InspectionData } from "./inspection-data.ts";
import type { ShownError } from "./inspection-face.ts";
import type { PageAssets } from "./page-assets.ts";
import { digestOf, type PageSessions } from "./page-sessions.ts";
import type { RunLog } from "./run-log.ts";
import { shownError } from "./shown-items.ts";

/** The parts that answer the page. */
export interface PageServerParts {
  readonly gate: RequestGate;
  readonly sessions: PageSessions;
  readonly assets: PageAssets;
  readonly data: InspectionData;
  readonly feed: EventFeed;
  readonly runs: RunLog;
  /** The readers of `/health` and `/status.json`. */
  readonly health: "page" | "open" | { readonly token: string };
  readonly logger: Logger;
}

/** The most bytes of a request. */
const maxBodyBytes = 4 * 1024 * 1024;
const bodyTimeoutMs = 10_000;
/** The most pages that follow the events at once. */
const maxStreams = 64;
const maxPageSize = 500;

/**
 * Nothing but what this server sends itself, as files of their own: no script and no style that is written into the page, no frame, no form.
 * Trusted types refuse the functions that would parse a text as HTML.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const safety = {
  "content-security-policy": policy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

const plain = "text/plain; charset=utf-8";

type Fields = Readonly<Record<string, unknown>>;

/** Answers the requests of the page: its files, the JSON it reads, and the event stream. */
export class PageServer {
  readonly #parts: PageServerParts;

  constructor(parts: PageServerParts) {
    this.#parts = parts;
  }

  /** Answers a request. It never rejects. */
  async answer(exchange: ServedExchange): Promise<void> {
    try {
      this.#parts.gate.admit(exchange);
      await this.#route(exchange);
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  async #route(exchange: ServedExchange): Promise<void> {
    const { pathname, searchParams } = urlOf(exchange.path, undefined);
    const token = searchParams.get("token");
    const { assets, sessions } = this.#parts;
    const isOpen = sessions.has(exchange.header("cookie"));
    if (pathname === "/health" || pathname === "/status.json") return this.#health(exchange, pathname, isOpen);
    if (exchange.method === "GET" && !pathname.startsWith("/api/")) {
      if (pathname === "/" && token !== null) return this.#open(exchange, token);
      const asset = assets.get(pathname);
      if (asset === undefined) throw new RequestRefusal(404, "There is no such page.");
      if (pathname === "/" && !isOpen) throw closed();
      exchange.reply(200, { ...safety, "content-type": asset.type }, asset.text);
      return;
    }
    if (!isOpen) throw closed();
    assertOwnPage(exchange);
    if (exchange.method === "GET" && pathname === "/api/stream") return this.#stream(exchange);
    const gone = new AbortController();
    exchange.onGone(() => gone.abort(new ClientGone("The page was closed.")));
    const name = pathname.slice("/api/".length);
    if (exchange.method === "GET") return json(exchange, await this.#read(name, searchParams, gone.signal));
    if (exchange.method === "POST") return json(exchange, await this.#act(name, await bodyOf(exchange), gone.signal));
    throw new RequestRefusal(405, "Requests are GET or POST.");
  }

  /** Exchanges the token of a link for a cookie. The page is opened by the answer, as a page of its own site: else the cookie stays away. */
  #open(exchange: ServedExchange, token: string): void {
    const cookie = this.#parts.sessions.exchange(token);
    if (cookie === undefined) throw closed();
    const headers = { ...safety, "content-type": "text/html; charset=utf-8", "set-cookie": cookie };
    const text =
      '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/"><title>Toolweave</title><a href="/">Open the page</a></html>';
    exchange.reply(200, headers, text);
  }

  async #health(exchange: ServedExchange, pathname: string, isOpen: boolean): Promise<void> {
    const { health, data } = this.#parts;
    const bearer = /^Bearer +(\S+)$/i.exec(exchange.header("authorization") ?? "")?.[1];
    const isKnown = typeof health === "object" && bearer !== undefined && digestOf(bearer) === digestOf(health.token);
    if (!isOpen && !isKnown && health !== "open") throw closed();
    if (exchange.method !== "GET") throw new RequestRefusal(405, "Requests are GET.");
    if (isOpen) assertOwnPage(exchange);
    // A monitor has to know what is down, and not why: errors and command lines are for operators.
    const status = await data.status(isOpen || isKnown ? undefined : false);
    const isWell = status.health === "ok";
    if (pathname === "/status.json") return json(exchange, status);
    const down = status.namespaces.filter(({ state }) => !["local", "connected", "idle"].includes(state));
    json(exchange, { health: status.health, down: down.map(({ namespace }) => namespace) }, isWell ? 200 : 503);
  }

  #stream(exchange: ServedExchange): void {
    const { feed } = this.#parts;
    if (feed.streams >= maxStreams) throw new RequestRefusal(503, "Too many pages are open.");
    const sink = exchange.stream({ ...safety, "content-type": "text/event-stream" });
    exchange.onGone(feed.follow(sink));
  }

  async #read(name: string, query: URLSearchParams, signal: AbortSignal): Promise<unknown> {
    const { data, runs } = this.#parts;
    switch (name) {
      case "status":
        return data.status();
      case "items":
        return data.items({
          ...present({ kind: kindOf(query.get("kind")), namespace: query.get("namespace") ?? undefined }),
          words: query.get("words") ?? "",
          offset: numberOf(query.get("offset"), 0),
          limit: Math.min(numberOf(query.get("limit"), 100), maxPageSize),
        });
      case "item":
        return data.item(query.get("ref") ?? "", kindOf(query.get("kind")) ?? "tool");
      case "approvals":
        return data.approvals();
      case "runs":
        return runs.runs;
      case "pins":
        return data.pins();
      case "lint":
        return data.lint(signal);
      default:
        throw new RequestRefusal(404, "There is nothing of this name.");
    }
  }

  async #act(name: string, body: Fields, signal: AbortSignal): Promise<unknown> {
    const { data } = this.#parts;
    const { input = {} } = body;
    const text = (field: string) => textIn(body, field);
    switch (name) {
      case "call":
        return data.call(text("ref"), body.kind === "prompt" ? "prompt" : "tool", input, signal);
      case "read":
        return data.read(text("ref"), signal);
      case "render":
        return data.render(text("ref"), input, signal);
      case "decide":
        return data.decide(text("id"), body.approved === true, body.reason === undefined ? undefined : text("reason"));
      case "accept":
        return data.accept(text("ref"), text("version"));
      case "reconnect":
        return data.reconnect(text("namespace"));
      default:
        throw new RequestRefusal(404, "There is nothing of this name.");
    }
  }

  #fail(exchange: ServedExchange, error: unknown): void {
    if (error instanceof ClientGone) return;
    if (error instanceof RequestRefusal) {
      const { status, message, headers } = error;
      const isPage = exchange.method === "GET" && (exchange.header("accept") ?? "").includes("text/html");
      if (isPage) exchange.reply(status, { ...safety, ...headers, "content-type": plain }, `${message}\n`);
      else refuse(exchange, status, { message }, headers);
    } else if (ToolkitError.is(error)) refuse(exchange, error.status, shownError(error));
    else {
      this.#parts.logger.error(`A request of the page failed: ${messageOf(error)}`, { error });
      refuse(exchange, 500, { message: "The request failed here: see the log of the service." });
    }
  }
}

function refuse(
  exchange: ServedExchange,
  status: number,
  error: ShownError,
  headers: Readonly<Record<string, string>> = {},
): void {
  exchange.reply(status, { ...safety, ...headers, "content-type": "application/json" }, JSON.stringify({ error }));
}

function json(exchange: ServedExchange, value: unknown, status = 200): void {
  exchange.reply(status, { ...safety, "content-type": "application/json" }, JSON.stringify(value ?? {}));
}

function closed(): RequestRefusal {
  return new RequestRefusal(
    401,
    "This page opens with a link, once: this one was used, or is of another process. Open the latest link that the service printed.",
  );
}

/** A page of another port of this machine is of the same site to a browser, which sends it the cookie along: the browser says from where. */
function assertOwnPage(exchange: ServedExchange): void {
  const site = exchange.header("sec-fetch-site");
  if (site === undefined || site === "same-origin" || site === "none") return;
  throw new RequestRefusal(403, "Only the page itself may ask for this.");
}

async function bodyOf(exchange: ServedExchange): Promise<Fields> {
  if (!/^application\/json\b/i.test(exchange.header("content-type") ?? ""))
    throw new RequestRefusal(415, "The body must be application/json.");
  const text = await exchange.body({ maxBytes: maxBodyBytes, timeoutMs: bodyTimeoutMs });
  const body = jsonIn(text);
  if (!isRecord(body)) throw new RequestRefusal(400, "The body must be a JSON object.");
  return body;
}

function textIn(body: Fields, field: string): string {
  const value = body[field];
  if (typeof value === "string") return value;
  throw new RequestRefusal(400, `The field ${field} must be a text.`);
}

function kindOf(text: string | null): Kind | undefined {
  return kinds.find((kind) => kind === text);
}

function numberOf(text: string | null, fallback: number): number {
  const number = Number(text ?? fallback);
  return Number.isSafeInteger(number) && number >= 0 ? number : fallback;
}
