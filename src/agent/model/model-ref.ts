/** What a model is called. */
export interface ModelRef {
  /** Such as `anthropic`. */
  readonly provider: string;
  /** As its provider calls it. */
  readonly modelId: string;
}

/** `provider/name`. */
export function refOf({ provider, modelId }: ModelRef): string {
  return `${provider}/${modelId}`;
}

/** The way back; undefined for what is no `provider/name`. The name may hold slashes of its own. */
export function parseRef(ref: string): ModelRef | undefined {
  const slash = ref.indexOf("/");
  if (slash < 1 || slash === ref.length - 1) return undefined;
  return { provider: ref.slice(0, slash), modelId: ref.slice(slash + 1) };
}

/** Names to choose from, for a message. */
export function either(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(" or ");
}
