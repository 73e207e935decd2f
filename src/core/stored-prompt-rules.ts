import { ChoosingRules, type NameScope } from "./name-rules.ts";
import type { OuterCall } from "./outer-call.ts";
import type { Named } from "./rule-names.ts";

/** The operator's rules for what the stored prompts of principals may call. */
export class StoredPromptRules {
  readonly rules: ChoosingRules;
  readonly #scope: NameScope;

  /** @param texts - refs, globs on refs and bare names @param scope - finds what bare names mean */
  constructor(texts: readonly string[], scope: NameScope) {
    this.rules = new ChoosingRules([...texts]);
    this.#scope = scope;
  }

  /** Whether any stored prompt of a principal may call an item. */
  allow(item: Named): boolean {
    return this.rules.ruleFor(item, this.#scope) !== undefined;
  }

  /** Whether a call that is made directly by another may be of an item. */
  allowFor(outer: OuterCall | undefined, item: Named): boolean {
    return outer?.owner === undefined || this.allow(item);
  }
}
