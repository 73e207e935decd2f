import type { OptionNames } from "../core/options.ts";
import type { GenerateOptions } from "./agent.ts";
import { limitNames } from "./agent-options.ts";

/** The names of what `generate` and `stream` take. */
export const generateNames: OptionNames<GenerateOptions> = {
  ...limitNames,
  toolbox: true,
  signal: true,
  session: true,
  meta: true,
  attachments: true,
  onEvent: true,
  system: true,
  tools: true,
  output: true,
  model: true,
  provider: true,
  thinking: true,
  thinkingBudget: true,
  settings: true,
  conversation: true,
};
