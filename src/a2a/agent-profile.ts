import type { AgentCard, AgentInterface } from "@a2a-js/sdk";
import { messageOf } from "../core/error.ts";
import type { RequestOwner } from "../mcp/transport/transport.ts";
import { chooseInterface, type FetchedCard, fetchCard, type InterfaceRules } from "./agent-card.ts";
import { type AgentHttp, agentFetch } from "./agent-http.ts";
import { type AgentClient, type AgentSdk, agentClient } from "./agent-sdk.ts";
import type { CardSignatures } from "./card-signature.ts";
import { type NamedSkill, skillsOf } from "./skills.ts";

/** An agent as its card describes it. */
export interface AgentProfile {
  readonly fetched: FetchedCard;
  /** The extended card where there is one for us, else the public one. */
  readonly card: AgentCard;
  readonly isExtended: boolean;
  readonly chosen: AgentInterface;
  readonly skills: readonly NamedSkill[];
}

/** The parts that a profile is read with. */
export interface ProfileParts {
  readonly http: AgentHttp;
  readonly sdk: AgentSdk;
  readonly rules: InterfaceRules;
  readonly signatures: CardSignatures | undefined;
  warn(text: string): void;
}

/**
 * Reads the card of an agent, and what follows from it.
 *
 * @param known - what is known: where nothing has changed, that is given
 * @throws as `fetchCard` and `chooseInterface`; ToolkitError `UNAUTHORIZED` for a signature
 */
export async function readProfile(
  parts: ProfileParts,
  signal: AbortSignal,
  known?: AgentProfile,
): Promise<AgentProfile> {
  const { http, sdk, rules, signatures } = parts;
  const fetched = await fetchCard(http, sdk, { known: known?.fetched, signal });
  if (fetched === known?.fetched && !known.isExtended) return known;
  if (fetched !== known?.fetched) signatures?.assertValid(fetched, sdk, rules.label);
  const chosen = chooseInterface(fetched.card, rules);
  const extended = await extendedCard(parts, fetched.card, chosen, signal);
  const card = extended ?? fetched.card;
  const skills = skillsOf(card, http.endpoint.redactor);
  return { fetched, card, isExtended: extended !== undefined, chosen, skills };
}

/** A client of an agent, on behalf of a caller. */
export function clientFor(
  { http, sdk }: Pick<ProfileParts, "http" | "sdk">,
  { card, chosen }: Pick<AgentProfile, "card" | "chosen">,
  owner: RequestOwner | undefined,
): Promise<AgentClient> {
  return agentClient(sdk, card, chosen, agentFetch(http, owner));
}

/** The card for those with credentials. Undefined where there is none, or it is not for ours. */
async function extendedCard(
  parts: ProfileParts,
  card: AgentCard,
  chosen: AgentInterface,
  signal: AbortSignal,
): Promise<AgentCard | undefined> {
  const { rules, signatures, sdk, http } = parts;
  if (card.capabilities?.extendedAgentCard !== true || !rules.hasCredentials) return undefined;
  try {
    const client = await clientFor(parts, { card, chosen }, undefined);
    const extended = await client.extendedCard(signal);
    // Its form is that of 1.0, whatever it was sent in.
    const raw = sdk.core.AgentCard.toJSON(extended) as Readonly<Record<string, unknown>>;
    signatures?.assertValid({ raw, card: extended, isLegacy: false }, sdk, rules.label);
    return extended;
  } catch (error) {
    if (signal.aborted) throw error;
    const why = http.endpoint.redactor.text(messageOf(error)).slice(0, 300);
    parts.warn(`Its extended card is not used, and its public one is: ${why}`);
    return undefined;
  }
}
