import type { TemplateChange } from "./change.ts";
import { type Condition, conditionOf } from "./condition.ts";
import { handlebarsOf, NoForm, type Path } from "./expression.ts";
import { type JinjaScope, parseJinja } from "./jinja-expression.ts";
import { inPlaceOf, type Tag, textInPlaceOf } from "./tag.ts";
import { shownBy } from "./value-tag.ts";

const statement =
  /^(?:if|elif|endif|for|endfor|set|include|import|from|extends|macro|endmacro|block|endblock|raw|endraw|with|endwith|filter|call)\b/;
const inlineIf = /^([\s\S]+?)\s+if\s+([\s\S]+?)(?:\s+else\s+([\s\S]+))?$/;

/** True for a tag that only Jinja has. */
export function isJinjaTag({ form, inner }: Tag): boolean {
  if (form === "statement") return statement.test(inner);
  if (form !== "value" || /^[#^/>!&*]|^else\b/.test(inner)) return false;
  const bare = inner.replace(/"[^"]*"|'[^']*'/g, '""');
  return /\||[\w\]]\(|==|!=|\sif\s.+\selse\s/.test(bare);
}

/** What to change in a template of Jinja, in the order of the text. */
export function jinjaChanges(tags: readonly Tag[], hasEquals: boolean): readonly TemplateChange[] {
  const rewrite = new JinjaRewrite(tags, hasEquals);
  for (const tag of tags) rewrite.take(tag);
  return rewrite.changes;
}

interface OpenBlock {
  readonly word: string;
  readonly closes: readonly string[];
  readonly names: readonly string[];
}

const loopNames: Readonly<Record<string, string>> = { index0: "@index", first: "@first", last: "@last" };

class JinjaRewrite implements JinjaScope {
  readonly changes: TemplateChange[] = [];
  readonly #hasEquals: boolean;
  readonly #open: OpenBlock[] = [];
  readonly #variables = new Map<string, Path>();
  readonly #withElse: ReadonlySet<Tag>;

  constructor(tags: readonly Tag[], hasEquals: boolean) {
    this.#hasEquals = hasEquals;
    this.#withElse = blocksWithElse(tags);
  }

  path(name: string): Path {
    if (this.#open.some(({ names }) => names.includes(name))) return { kind: "path", from: "block", parts: [name] };
    const isInLoop = this.#open.some(({ word }) => word === "each");
    const variable = this.#variables.get(name);
    const parts = variable === undefined ? [name] : variable.parts;
    // Inside {{#each}} names are those of the entry.
    return { kind: "path", from: isInLoop ? "root" : "here", parts };
  }

  take(tag: Tag): void {
    try {
      if (tag.form === "comment") this.#change(tag, inPlaceOf(tag, `!-- ${tag.inner} --`));
      else if (tag.form === "statement") this.#statement(tag);
      else if (!/^[#^/>!&*]|^else\b/.test(tag.inner)) this.#value(tag);
    } catch (error) {
      if (!(error instanceof NoForm)) throw error;
      this.#change(tag, undefined, { hint: error.hint });
    }
  }

  #value(tag: Tag): void {
    const { inner } = tag;
    if (/^loop\.\w+$/.test(inner)) this.#change(tag, inPlaceOf(tag, this.#loopName(inner.slice(5))));
    else this.#shown(tag, inner);
  }

  #shown(tag: Tag, inner: string): void {
    const [, yes, condition, no] = inlineIf.exec(inner) ?? [];
    const instead =
      yes === undefined || condition === undefined
        ? shownBy(tag, parseJinja(inner, this))
        : this.#inlineIf(tag, yes, condition, no);
    if (instead.replace(/\s/g, "") !== tag.text.replace(/\s/g, "")) this.#change(tag, instead);
  }

  #loopName(name: string): string {
    const known = loopNames[name];
    if (known !== undefined) return known;
    throw new NoForm("Handlebars counts from 0: {{@index}}; there are @first and @last too.");
  }

  #inlineIf(tag: Tag, yes: string, text: string, no: string | undefined): string {
    const condition = conditionOf(parseJinja(text, this), { hasEquals: this.#hasEquals, mayNest: false });
    if (condition.field !== undefined) throw new NoForm("Write {{#if field}} ... {{else}} ... {{/if}}.");
    const [open = ""] = condition.opens;
    const plain = { ...tag, trimsBefore: false, trimsAfter: false };
    const shown = (value: string) => shownBy(plain, parseJinja(value, this));
    const otherwise = no === undefined ? "" : `{{else}}${shown(no)}`;
    return textInPlaceOf(tag, `{{#${open}}}${shown(yes)}${otherwise}{{/${open.split(" ", 1)[0]}}}`);
  }

  #statement(tag: Tag): void {
    const [, word = "", rest = ""] = /^(\w+)\s*([\s\S]*)$/.exec(tag.inner) ?? [];
    if (word === "if") this.#if(tag, rest);
    else if (word === "for") this.#for(tag, rest);
    else if (word === "elif") {
      const condition = conditionOf(parseJinja(rest, this), { hasEquals: this.#hasEquals, mayNest: false });
      this.#change(tag, inPlaceOf(tag, `else ${condition.opens[0]}`), condition);
    } else if (word === "else") this.#change(tag, inPlaceOf(tag, "else"));
    else if (word === "endif" || word === "endfor") this.#end(tag);
    else if (word === "set") this.#set(tag, rest);
    else if (word === "include") this.#include(tag, rest);
    else if (word === "raw" || word === "endraw") throw new NoForm("Write \\{{ for two braces that are text.");
    else if (statement.test(tag.inner))
      throw new NoForm(`Handlebars has no ${word}: put what is shared into a file _name.md and write {{> name}}.`);
  }

  #if(tag: Tag, rest: string): void {
    let condition: Condition | undefined;
    try {
      condition = conditionOf(parseJinja(rest, this), {
        hasEquals: this.#hasEquals,
        mayNest: !this.#withElse.has(tag),
      });
    } finally {
      const words = (condition?.opens ?? ["if"]).map((open) => open.split(" ", 1)[0]);
      this.#open.push({ word: "if", closes: words.toReversed().map((word) => `/${word}`), names: [] });
    }
    this.#change(tag, inPlaceOf(tag, ...condition.opens.map((open) => `#${open}`)), condition);
  }

  #for(tag: Tag, rest: string): void {
    const [, first = "", second, list = ""] = /^(\w+)\s*(?:,\s*(\w+)\s*)?\s+in\s+([\s\S]+)$/.exec(rest) ?? [];
    // Of two names the first is the key, which Handlebars has second.
    const names = second === undefined ? [first] : [second, first];
    let text: string | undefined;
    try {
      text = handlebarsOf(parseJinja(list, this));
    } finally {
      this.#open.push({ word: "each", closes: ["/each"], names });
    }
    this.#change(tag, inPlaceOf(tag, `#each ${/\s/.test(text) ? `(${text})` : text} as |${names.join(" ")}|`));
  }

  #end(tag: Tag): void {
    const block = this.#open.pop();
    if (block === undefined) throw new NoForm("No block is open here: remove it.");
    this.#change(tag, inPlaceOf(tag, ...block.closes));
  }

  #set(tag: Tag, rest: string): void {
    const [, name = "", value = ""] = /^(\w+)\s*=\s*([\s\S]+)$/.exec(rest) ?? [];
    const path = name === "" ? undefined : parseJinja(value, this);
    if (path?.kind !== "path" || path.from !== "here") {
      throw new NoForm("Handlebars has no variables: name the value where it is used.");
    }
    this.#variables.set(name, path);
    this.#change(tag, tag.trimsBefore || tag.trimsAfter ? inPlaceOf(tag, "!") : "", {
      hint: `Handlebars has no variables: ${path.parts.join(".")} is named where ${name} was used`,
    });
  }

  #include(tag: Tag, rest: string): void {
    const [, quoted] = /^["']([^"']+)["']$/.exec(rest) ?? [];
    if (quoted === undefined)
      throw new NoForm("Put the text in a file _name.md of the same folder and write {{> name}}.");
    const name = quoted
      .replace(/^.*\/_?/, "")
      .replace(/\.\w+$/, "")
      .replace(/\.\w+$/, "")
      .replace(/[^\w-]+/g, "_");
    this.#change(tag, inPlaceOf(tag, `> ${name}`), {
      hint: `the text goes into a file _${name}.md of the same folder`,
    });
  }

  #change(tag: Tag, instead: string | undefined, more: Pick<TemplateChange, "hint" | "field"> = {}): void {
    this.changes.push({ offset: tag.offset, text: tag.text, instead, hint: more.hint, field: more.field });
  }
}

/** The openings of conditions that say something for the other case. */
function blocksWithElse(tags: readonly Tag[]): ReadonlySet<Tag> {
  const found = new Set<Tag>();
  const open: Tag[] = [];
  for (const tag of tags) {
    if (tag.form !== "statement") continue;
    const word = /^\w+/.exec(tag.inner)?.[0];
    if (word === "if" || word === "for") open.push(tag);
    else if (word === "endif" || word === "endfor") open.pop();
    else if (word === "elif" || word === "else") {
      const block = open.at(-1);
      if (block !== undefined) found.add(block);
    }
  }
  return found;
}
