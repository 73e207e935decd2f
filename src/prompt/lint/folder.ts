import { checkTemplate } from "../template/check.ts";
import {
  circularPartial,
  missingPartial,
  type PartialFile,
  type PartialShelf,
  partialSource,
} from "../template/partials.ts";
import type { Findings } from "./findings.ts";
import type { UsedTemplate } from "./variables.ts";

/** The partials of one folder, each checked once, and which of them are used. */
export class LintedPartials {
  readonly #shelf: PartialShelf;
  readonly #findings: Findings;
  readonly #checked = new Map<string, UsedTemplate | undefined>();
  readonly #usedFiles = new Set<string>();

  constructor(shelf: PartialShelf, findings: Findings) {
    this.#shelf = shelf;
    this.#findings = findings;
  }

  /** The files of partials that something uses. */
  get usedFiles(): ReadonlySet<string> {
    return this.#usedFiles;
  }

  /** The partials templates need, those of partials included, by name. What is missing, broken or circular is noted. */
  neededBy(templates: readonly UsedTemplate[]): ReadonlyMap<string, UsedTemplate> {
    const needed = new Map<string, UsedTemplate>();
    for (const template of templates) this.#collect(template, needed, []);
    return needed;
  }

  #collect(template: UsedTemplate, needed: Map<string, UsedTemplate>, chain: readonly string[]): void {
    for (const { name, place } of template.uses.partials) {
      if (chain.includes(name)) {
        this.#findings.note(circularPartial(name, chain, template.file, place), "partial", template.file);
        continue;
      }
      if (needed.has(name)) continue;
      const found = this.#shelf.find(name);
      if (found === undefined) {
        this.#findings.note(missingPartial(name, this.#shelf, template.file, place), "partial", template.file);
        continue;
      }
      const partial = this.#check(name, found);
      if (partial === undefined) continue;
      this.#collect(partial, needed, [...chain, name]);
      needed.set(name, partial);
    }
  }

  #check(name: string, found: PartialFile): UsedTemplate | undefined {
    this.#usedFiles.add(found.file);
    if (!this.#checked.has(name)) {
      const { file } = found;
      this.#findings.remember(file, found.text);
      const source = this.#findings.attempt("file", file, () => partialSource(found));
      const report = this.#findings.reportOf(file);
      this.#checked.set(name, source && { file, uses: checkTemplate(source, "partial", report) });
    }
    return this.#checked.get(name);
  }
}
