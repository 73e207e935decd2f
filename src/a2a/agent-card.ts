import type { AgentCard, AgentInterface } from "@a2a-js/sdk";
import { egressDenied } from "../core/egress.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import { digestTexts } from "../lib/canonical.ts";
import { EgressError, type EgressPolicy } from "../lib/fetch/egress-policy.ts";
import { isRecord } from "../lib/value.ts";
import { exchange } from "../mcp/transport/http/http-exchange.ts";
import { type AgentHttp, parseWithin } from "./agent-http.ts";
import type { AgentSdk } from "./agent-sdk.ts";
import type { SignedCard } from "./card-signature.ts";

/** A card, and what tells whether another one is the same. */
export interface FetchedCard extends SignedCard {
  readonly etag: string | undefined;
  readonly digest: string;
}

/**
 * Gets the card of an agent.
 *
 * @param known - the card that is there already: where it is still the same, it is what is given
 * @throws ConnectionLostError, HttpStatusError; ToolkitError `REMOTE_ERROR` for what is no card, `LIMIT_EXCEEDED`
 */
export async function fetchCard(
  http: AgentHttp,
  sdk: AgentSdk,
  { known, signal }: { readonly known?: FetchedCard | undefined; readonly signal: AbortSignal },
): Promise<FetchedCard> {
  const { endpoint, limits } = http;
  const condition = known?.etag === undefined ? {} : { "if-none-match": known.etag };
  const headers = { accept: "application/json", "a2a-version": "1.0", ...condition, ...endpoint.headers };
  const answer = await exchange(endpoint, { url: endpoint.url, method: "GET", headers, signal });
  http.received();
  if (answer.status === 304 && known !== undefined) {
    answer.discard();
    return known;
  }
  if (answer.kind === "refused") throw (await answer.refusal()).toError();
  const text = await answer.text();
  const digest = digestTexts(text);
  if (digest === known?.digest) return known;
  const raw = parseWithin(text, limits, endpoint.redactor);
  if (!isRecord(raw)) throw noCard("it is no object");
  return { ...readCard(raw, sdk), etag: answer.header("etag"), digest };
}

/** @throws ToolkitError `REMOTE_ERROR` */
function readCard(raw: Readonly<Record<string, unknown>>, sdk: AgentSdk): SignedCard {
  const { supportedInterfaces } = raw;
  const isLegacy = !(Array.isArray(supportedInterfaces) && supportedInterfaces.length > 0);
  if (typeof raw.name !== "string" || (isLegacy && typeof raw.url !== "string"))
    throw noCard(`it has no ${typeof raw.name === "string" ? "supportedInterfaces and no url" : "name"}`);
  try {
    const resolver = new sdk.client.DefaultAgentCardResolver({ legacyCompat: { enabled: true } });
    const card = isLegacy ? resolver.normalizeAgentCard(raw) : sdk.core.AgentCard.fromJSON(raw);
    return { raw, card, isLegacy };
  } catch (error) {
    throw noCard(messageOf(error), error);
  }
}

function noCard(why: string, cause?: unknown): ToolkitError<"REMOTE_ERROR"> {
  const message = `The answer is no card of an A2A agent: ${why}. Give the URL of its card, such as https://host/.well-known/agent-card.json.`;
  return new ToolkitError("REMOTE_ERROR", message, { server: "" }, { cause });
}

/** The rules by which an interface is chosen. */
export interface InterfaceRules {
  readonly cardUrl: URL;
  readonly policy: EgressPolicy;
  /** Requests carry credentials of the operator: they go to no origin that a card alone names. */
  readonly hasCredentials: boolean;
  readonly label: string;
}

/**
 * The interface to use: the first that is spoken and may be reached, of 1.0 before 0.3. Its URL is absolute.
 *
 * @throws ToolkitError `UNSUPPORTED_PROTOCOL` where none is spoken, `DENIED` where none may be reached
 */
export function chooseInterface({ supportedInterfaces, name }: AgentCard, rules: InterfaceRules): AgentInterface {
  const spoken = supportedInterfaces.filter(({ protocolBinding, protocolVersion }) => {
    const isBinding = /^(?:jsonrpc|http\+json)$/i.test(protocolBinding);
    return isBinding && /^(?:|1(?:\..*)?|0\.3(?:\..*)?)$/.test(protocolVersion.trim());
  });
  const current = spoken.filter(({ protocolVersion }) => protocolVersion.startsWith("1"));
  const inOrder = [...current, ...spoken.filter((each) => !current.includes(each))];
  let refusal: EgressError | undefined;
  for (const each of inOrder) {
    const url = URL.parse(each.url, rules.cardUrl.href) ?? undefined;
    const reason =
      url === undefined ? new EgressError("an interface of its card", "its URL is none.") : refusalOf(url, rules);
    // Paths are put behind the URL of HTTP+JSON.
    const isRest = each.protocolBinding.toUpperCase() === "HTTP+JSON";
    if (url !== undefined && reason === undefined)
      return { ...each, url: isRest ? url.href.replace(/\/$/, "") : url.href };
    refusal ??= reason;
  }
  if (refusal !== undefined) throw egressDenied(refusal);
  const bindings = supportedInterfaces.map((each) =>
    `${each.protocolBinding} ${each.protocolVersion}`.trim().slice(0, 64),
  );
  const supported = [...new Set(bindings)].filter((binding) => binding !== "").slice(0, 16);
  const offered = supported.length === 0 ? "no interface" : supported.join(", ");
  const message = `${name} (${rules.label}) offers ${offered}: JSONRPC and HTTP+JSON of A2A 1.0 and 0.3 are spoken here. Have the agent offer one of them in its card.`;
  throw new ToolkitError("UNSUPPORTED_PROTOCOL", message, { server: name, supported });
}

function refusalOf(url: URL, { cardUrl, policy, hasCredentials }: InterfaceRules): EgressError | undefined {
  const refusal = policy.refusal(url);
  if (refusal !== undefined || url.origin === cardUrl.origin || policy.isNamed(url)) return refusal;
  const advice = `If it is meant, name it: egress: { allow: ["${url.origin}"] }.`;
  if (cardUrl.protocol === "https:" && url.protocol === "http:")
    return new EgressError(url.origin, `a card that came over https names it, and it has no https. ${advice}`);
  if (hasCredentials)
    return new EgressError(
      url.origin,
      `the card of another origin names it, and would lead your credentials there. ${advice}`,
    );
  return undefined;
}
