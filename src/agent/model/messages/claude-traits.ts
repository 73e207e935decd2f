/** The requests that a model takes. */
export interface ClaudeTraits {
  /** Tokens of an answer. The API wants a limit in each request. */
  readonly maxTokens: number;
  /** The limit is that of this model. */
  readonly isKnown: boolean;
  /** It writes JSON in the form of a schema without a tool. */
  readonly hasFormats: boolean;
  /** It decides itself how long it thinks, by an effort. */
  readonly isAdaptive: boolean;
  readonly takesBudget: boolean;
  readonly canNotThink: boolean;
  /** It can think between tools alone. */
  readonly thinksBetweenTools: boolean;
  readonly takesXhigh: boolean;
  /** Temperature, top P and top K. */
  readonly takesSampling: boolean;
  readonly takesForcedTool: boolean;
}

const early: ClaudeTraits = {
  maxTokens: 4_096,
  isKnown: true,
  hasFormats: false,
  isAdaptive: false,
  takesBudget: true,
  canNotThink: true,
  thinksBetweenTools: false,
  takesXhigh: false,
  takesSampling: true,
  takesForcedTool: true,
};
const adaptive: ClaudeTraits = { ...early, maxTokens: 128_000, hasFormats: true, isAdaptive: true };
const late: ClaudeTraits = { ...adaptive, takesXhigh: true, takesSampling: false };
const thinking: ClaudeTraits = { ...late, takesBudget: false, canNotThink: false };

/** By a part of the id; the first that fits. */
const families: readonly (readonly [id: RegExp, traits: ClaudeTraits])[] = [
  [/claude-sonnet-5-5/, { ...thinking, takesForcedTool: false, thinksBetweenTools: true }],
  [/claude-(?:opus-5-5|fable-5-[12](?!\d))/, { ...thinking, takesForcedTool: false }],
  [/claude-haiku-5-5/, { ...late, takesBudget: false }],
  [/claude-fable-5/, thinking],
  [/claude-(?:opus-5|sonnet-5|opus-4-[78])/, late],
  [/claude-(?:opus|sonnet)-4-6/, adaptive],
  [/claude-(?:opus|sonnet|haiku)-4-5/, { ...early, maxTokens: 64_000, hasFormats: true }],
  [/claude-opus-4-1(?!\d)/, { ...early, maxTokens: 32_000, hasFormats: true }],
  [/claude-sonnet-4(?:-|@|$)/, { ...early, maxTokens: 64_000 }],
  [/claude-opus-4(?:-|@|$)/, { ...early, maxTokens: 32_000 }],
  [/claude-3-haiku/, early],
  [/claude-(?:instant|v?[23](?![\d]))/, { ...early, isKnown: false }],
  // A model of Anthropic that came later is taken for one like the last.
  [/claude-/, { ...late, isKnown: false }],
];

/** The traits of a model by its id, which other servers may put into a longer one. */
export function claudeTraits(modelId: string): ClaudeTraits {
  return families.find(([id]) => id.test(modelId))?.[1] ?? { ...early, isKnown: false };
}
