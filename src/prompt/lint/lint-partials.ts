import type { ReadPromptLimits } from "../../core/prompt-limits.ts";
import { assertPromptSize } from "../prompt-size.ts";
import { checkTemplate } from "../template/check-template.ts";
import { missingPartial, neededPartials, type PartialFinder, partialSource } from "../template/partials.ts";
import type { NamedPartial } from "../template/prompt-template.ts";
import type { TemplateUses } from "../template/template-uses.ts";
import type { Findings } from "./lint-findings.ts";

/** The values and partials that a template of a prompt, or a partial, uses. */
export interface UsedTemplate extends TemplateUses {
  readonly file: string | undefined;
}

/** The partials of one folder, each checked once. */
export class LintedPartials {
  readonly #finder: PartialFinder;
  readonly #findings: Findings;
  readonly #limits: ReadPromptLimits;
  readonly #checked = new Map<string, UsedTemplate | undefined>();
  readonly #usedFiles = new Set<string>();

  constructor(finder: PartialFinder, findings: Findings, limits: ReadPromptLimits) {
    this.#finder = finder;
    this.#findings = findings;
    this.#limits = limits;
  }

  /** The files of the partials that are used. */
  get usedFiles(): ReadonlySet<string> {
    return this.#usedFiles;
  }

  /** The partials that templates need, those of partials included, by name. Missing, broken and circular ones are reported. */
  neededBy(templates: readonly UsedTemplate[]): ReadonlyMap<string, UsedTemplate> {
    return neededPartials(
      templates,
      (use, user) => this.#load(use, user.file),
      (problem, user) => this.#findings.note(problem, "partial", user.file),
    );
  }

  #load(use: NamedPartial, user: string | undefined): UsedTemplate | undefined {
    const found = this.#finder.find(use.name);
    if (found === undefined) {
      this.#findings.note(missingPartial(use, this.#finder, user), "partial", user);
      return undefined;
    }
    const { file, text } = found;
    this.#usedFiles.add(file);
    if (!this.#checked.has(use.name)) {
      const source = this.#findings.attempt("file", file, () => {
        assertPromptSize(text, file, this.#limits);
        this.#findings.remember(file, text);
        return partialSource(found, this.#limits);
      });
      const report = this.#findings.reportOf(file);
      this.#checked.set(use.name, source && { file, ...checkTemplate(source, "partial", report) });
    }
    return this.#checked.get(use.name);
  }
}
