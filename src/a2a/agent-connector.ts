import type { Connector, ConnectorHost, ConnectorSession } from "../core/connector.ts";
import { type ConnectorLimits, connectorLimitOptions, readConnectorLimits } from "../core/connector-limits.ts";
import { type EgressOptions, readEgress } from "../core/egress.ts";
import { ToolkitError } from "../core/error.ts";
import type { HeadersOption, HttpAuth } from "../core/http-auth.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../core/options.ts";
import type { HttpTarget } from "../core/target.ts";
import { clientHeaders } from "../lib/fetch/client-exchange.ts";
import { guardedFetch } from "../lib/fetch/guarded-fetch.ts";
import { defaultFetch } from "../lib/fetch/node-fetch.ts";
import { LruCache } from "../lib/lru-cache.ts";
import { credentialsHost, credentialsWarnings } from "../mcp/connect-http.ts";
import { defaultConnectTimeoutMs, within } from "../mcp/open-session.ts";
import { redactorOf } from "../mcp/redact.ts";
import { ConnectionLostError } from "../mcp/rpc/rpc-error.ts";
import { type CheckedHttpTarget, parseTarget } from "../mcp/target/parse-target.ts";
import { labelOf, suggestedNameOf } from "../mcp/target/target-label.ts";
import { canonicalUrl } from "../mcp/target/target-values.ts";
import { sendWithCredentials } from "../mcp/transport/http/http-credentials.ts";
import { agentFailure } from "./agent-failure.ts";
import { guardedSend } from "./agent-http.ts";
import { type ProfileParts, readProfile } from "./agent-profile.ts";
import { loadSdk } from "./agent-sdk.ts";
import { AgentSession } from "./agent-session.ts";
import type { CardSignatureOptions } from "./card-key.ts";
import { CardSignatures } from "./card-signature.ts";

/** The options of a connector for an A2A agent. */
export interface A2aOptions extends Omit<ConnectorLimits, "maxStderrBytes"> {
  /** Sent with every request. A function decides at each, and gets the session of the call. */
  readonly headers?: HeadersOption | undefined;
  /** The way it gets its credentials, such as `clientCredentials()` of `toolweave/mcp`. */
  readonly auth?: HttpAuth | undefined;
  /** The `fetch` that sends the requests. Default: a `nodeFetch()` all connectors share. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /**
   * Where requests may go whose URL the card names. Default: public addresses, and with `headers` or `auth` the origin of the card alone; that is
   * always among them.
   */
  readonly egress?: EgressOptions | undefined;
  /** The values of `${VAR}` in the URL and the headers. Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** With `untrusted`, its default limits are tighter. Give it to `addConnector` too. Default `standard`. */
  readonly trust?: "standard" | "untrusted" | undefined;
  /** The keys by which its card must be signed. Default: signatures are not looked at. */
  readonly signature?: CardSignatureOptions | undefined;
  /** The time that getting the card may take, in milliseconds. Default: 30,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** The longest break of the connection after which a task is still gone on with, in milliseconds. Default: 30,000. */
  readonly resumeMs?: number | undefined;
  /** The most events of one stream of a task. Default: 10,000. */
  readonly maxTaskEvents?: number | undefined;
}

const optionNames: OptionNames<A2aOptions> = {
  ...(({ maxStderrBytes: _, ...limits }) => limits)(connectorLimitOptions),
  headers: true,
  auth: true,
  fetch: true,
  egress: true,
  env: true,
  trust: true,
  signature: true,
  connectTimeoutMs: true,
  resumeMs: true,
  maxTaskEvents: true,
};
const owner = "of an A2A connector";
const cardPath = "/.well-known/agent-card.json";
/** The tasks and conversations whose principal is kept. */
const maxOwners = 20_000;

/**
 * A connector for an A2A agent, by the URL of its card: each of its skills is a tool, its artifacts are resources. It speaks JSON-RPC and
 * HTTP+JSON of A2A 1.0 and 0.3, as the card says, and needs the package `@a2a-js/sdk`.
 *
 * @param target - the URL of the card; of an origin alone, its card is at `/.well-known/agent-card.json`
 * @throws ToolkitError `INVALID_TARGET`, `INVALID_CONFIG`. Connecting fails with `MISSING_PEER` where the package is not installed,
 *   `UNSUPPORTED_PROTOCOL` where the agent speaks neither, `DENIED` where its card leads to an address that it must not choose, and
 *   `UNAUTHORIZED` for a signature
 * @example
 * ```ts
 * toolkit.addConnector(a2a("https://agents.example/.well-known/agent-card.json"), { namespace: "travel" });
 * const plan = await toolkit.call("travel.plan", { message: "Three days in Bern" });
 * ```
 */
export function a2a(target: string | URL | Pick<HttpTarget, "url" | "headers">, options: A2aOptions = {}): Connector {
  assertOptionNames(options, optionNames, owner);
  const checked = cardTarget(target, options);
  const { resumeMs = 30_000, maxTaskEvents = 10_000 } = options;
  if (!(typeof resumeMs === "number" && resumeMs >= 0))
    throw invalidOption("resumeMs", "a number from 0", resumeMs, owner);
  if (!(Number.isInteger(maxTaskEvents) && maxTaskEvents >= 1))
    throw invalidOption("maxTaskEvents", "a whole number from 1", maxTaskEvents, owner);
  const limits = readConnectorLimits(options, options.trust);
  const shared = sharedParts(checked, options);
  const { label, redactor, credentials, hasCredentials, policy, send, warn } = shared;
  const owners = new LruCache<string>({ maxEntries: maxOwners });
  const open = async ({ host, signal }: { readonly host: ConnectorHost; readonly signal: AbortSignal }) => {
    const sdk = await loadSdk();
    await warn({ label, host, signal });
    const lifetime = new AbortController();
    const headers = typeof options.headers === "function" ? options.headers : undefined;
    const sending = { send, url: canonicalUrl(checked.url), label, headers, credentials, redactor };
    const decided = sendWithCredentials({ ...sending, host: credentialsHost(host, lifetime.signal) });
    let session: AgentSession | undefined;
    const endpoint = {
      url: checked.url,
      headers: { ...clientHeaders, ...checked.headers },
      send: decided,
      maxMessageBytes: limits.maxMessageBytes,
      redactor,
    };
    const profiles: ProfileParts = {
      http: { endpoint, limits: { ...limits, maxTaskEvents }, received: () => session?.noteReceived() },
      sdk,
      rules: { cardUrl: checked.url, policy, hasCredentials, label },
      signatures: shared.signatures,
      warn: (data) => host.log({ level: "warning", logger: label, data }),
    };
    try {
      const profile = await readProfile(profiles, signal);
      session = new AgentSession({ profile, profiles, host, limits, resumeMs, owners, lifetime });
      return session;
    } catch (error) {
      lifetime.abort(error);
      throw error;
    }
  };
  return {
    label,
    key: canonicalUrl(checked.url),
    suggestedName: suggestedNameOf(checked),
    connectTimeoutMs: options.connectTimeoutMs ?? defaultConnectTimeoutMs,
    maxConcurrentCalls: limits.maxConcurrentCalls,
    whenSilent: "beside",
    connect: ({ host, signal }) => connected({ host, options, signal }, open, shared),
  };
}

type SharedParts = ReturnType<typeof sharedParts>;

/** The parts of all sessions of one connector. */
function sharedParts(target: CheckedHttpTarget, options: A2aOptions) {
  const { fetch = defaultFetch, auth } = options;
  const label = labelOf(target);
  const redactor = redactorOf(target);
  const policy = readEgress(options.egress, owner).allowing(target.url.origin, ...(auth?.origins ?? []));
  const conceal = (secret: string) => redactor.conceal(secret);
  const credentials = auth?.open({ url: target.url, label, fetch: guardedFetch(fetch, policy), conceal });
  const hasCredentials =
    auth !== undefined || typeof options.headers === "function" || Object.keys(target.headers).length > 0;
  const signatures = options.signature && new CardSignatures(options.signature);
  const send = guardedSend(fetch, policy);
  return {
    label,
    redactor,
    policy,
    credentials,
    hasCredentials,
    signatures,
    send,
    warn: credentialsWarnings(credentials),
  };
}

/** Connects within the time limit. @throws ToolkitError; the signal's reason */
async function connected(
  attempt: { readonly host: ConnectorHost; readonly options: A2aOptions; readonly signal: AbortSignal },
  open: (attempt: { readonly host: ConnectorHost; readonly signal: AbortSignal }) => Promise<ConnectorSession>,
  { label, redactor }: SharedParts,
): Promise<ConnectorSession> {
  return within(attempt, async (current) => {
    try {
      return await open(current);
    } catch (error) {
      if (attempt.signal.aborted) throw attempt.signal.reason;
      const { reason } = current.signal;
      const late = current.signal.aborted && reason instanceof Error;
      const failure = late ? new ConnectionLostError(reason.message, { sent: true, cause: reason }) : error;
      throw agentFailure(failure, { label, agent: undefined, redactor }, "the request for its card", "card");
    }
  });
}

/** @throws ToolkitError `INVALID_TARGET` */
function cardTarget(
  target: string | URL | Pick<HttpTarget, "url" | "headers">,
  options: A2aOptions,
): CheckedHttpTarget {
  const checked = parseTarget(target, options);
  if (checked.kind !== "http") {
    const message = "An A2A agent has a URL: give that of its card, such as https://host/.well-known/agent-card.json.";
    throw new ToolkitError("INVALID_TARGET", message, { target: labelOf(checked) });
  }
  if (checked.url.pathname !== "/" || checked.url.search !== "") return checked;
  return { ...checked, url: new URL(cardPath, checked.url) };
}
