import { agentFuzz } from "./agents.ts";
import type { HostileArea } from "./area.ts";
import { documentFuzz } from "./documents.ts";
import { manifestFuzz } from "./manifests.ts";
import { messageFuzz } from "./messages.ts";
import { oauthFuzz } from "./oauth.ts";
import { promptFuzz } from "./prompts.ts";
import { ruleFuzz } from "./rules.ts";
import { schemaFuzz } from "./schema.ts";
import { secretFuzz } from "./secrets.ts";
import { textFuzz } from "./text.ts";
import { workflowFuzz } from "./workflows.ts";

/** Every area of the hostile fuzz. */
export const areas: readonly HostileArea[] = [
  schemaFuzz,
  promptFuzz,
  manifestFuzz,
  messageFuzz,
  oauthFuzz,
  secretFuzz,
  ruleFuzz,
  textFuzz,
  workflowFuzz,
  documentFuzz,
  agentFuzz,
];
