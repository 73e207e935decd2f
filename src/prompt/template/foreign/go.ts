import type { TemplateChange } from "./change.ts";
import { applyChanges } from "./change.ts";
import { type Condition, conditionOf } from "./condition.ts";
import { handlebarsOf, NoForm, type Path } from "./expression.ts";
import { type GoScope, parseGoPipeline } from "./go-expression.ts";
import { inPlaceOf, type Tag } from "./tag.ts";
import { shownBy } from "./value-tag.ts";

const operand = /(?:^|[\s(|,=])(?:\$?\.[A-Za-z_]|\$\.?(?=[\s)|]|$))/;
const opener = /^(?:if|range|with|define|block|template)\s+\S/;

/** True for a tag that only Go's text/template has. */
export function isGoTag({ form, inner }: Tag): boolean {
  if (form !== "value") return false;
  if (/^(?:[>!&*]|\/(?!\*))/.test(inner)) return false;
  return /^(?:\/\*|`)/.test(inner) || inner.includes(":=") || operand.test(withoutTexts(inner)) || opener.test(inner);
}

function withoutTexts(inner: string): string {
  return inner.replace(/"(?:\\.|[^"\\\n])*"|`[^`]*`/g, '""');
}

/** What to change in a template of Go's text/template, in the order of the text. */
export function goChanges(text: string, tags: readonly Tag[], hasEquals: boolean): readonly TemplateChange[] {
  const rewrite = new GoRewrite(text, tags, hasEquals);
  for (const tag of tags) if (tag.form === "value") rewrite.take(tag);
  return rewrite.changes.sort((a, b) => a.offset - b.offset || b.text.length - a.text.length);
}

interface OpenBlock {
  readonly tag: Tag;
  /** What closes it in Handlebars, innermost first. */
  readonly closes: readonly string[];
  /** Inside, `.` is something else. */
  readonly changesScope: boolean;
  readonly variables: ReadonlyMap<string, Path>;
  /** The partial that its text becomes, and what stands in its place. */
  readonly partial?: { readonly name: string; readonly instead: string } | undefined;
}

class GoRewrite implements GoScope {
  readonly changes: TemplateChange[] = [];
  readonly #text: string;
  readonly #hasEquals: boolean;
  readonly #open: OpenBlock[] = [];
  readonly #withElse: ReadonlySet<Tag>;
  readonly #variables = new Map<string, Path>();

  constructor(text: string, tags: readonly Tag[], hasEquals: boolean) {
    this.#text = text;
    this.#hasEquals = hasEquals;
    this.#withElse = blocksWithElse(tags);
  }

  variable(name: string): Path | undefined {
    for (const { variables } of this.#open.toReversed()) {
      const path = variables.get(name);
      if (path !== undefined) return path;
    }
    const path = this.#variables.get(name);
    return path?.from === "root" && !this.#isInScope() ? { ...path, from: "here" } : path;
  }

  root(): Path {
    if (!this.#isInScope()) return { kind: "path", from: "here", parts: [] };
    if (this.#open.some(({ partial }) => partial !== undefined)) {
      throw new NoForm("A partial does not know where it is used: write ../ once for each block around the field.");
    }
    return { kind: "path", from: "root", parts: [] };
  }

  take(tag: Tag): void {
    try {
      this.#action(tag);
    } catch (error) {
      if (!(error instanceof NoForm)) throw error;
      this.#change(tag, undefined, { hint: error.hint });
    }
  }

  #action(tag: Tag): void {
    const { inner } = tag;
    const [, word = "", rest = ""] = /^#?\s*(\w+)(?:\s+([\s\S]*))?$/.exec(inner) ?? [];
    const close = /^\/\s*(\w+)/.exec(inner)?.[1];
    if (inner.startsWith("/*")) this.#change(tag, inPlaceOf(tag, `!-- ${inner.replace(/^\/\*\s*|\s*\*\/$/g, "")} --`));
    else if (close !== undefined) this.#open.pop();
    else if (/^[>!&*/]/.test(inner)) return;
    else if (/^[#^]/.test(inner)) this.#handlebarsBlock(tag, word, rest);
    else if (word === "end" && rest === "") this.#end(tag);
    else if (word === "else") this.#else(tag, rest);
    else if (rest !== "" && Object.hasOwn(openers, word)) this.#block(tag, word, rest);
    else if (word === "template" && rest !== "")
      this.#change(tag, inPlaceOf(tag, this.#partial(rest).tag), partialHint(rest));
    else if (inner.includes(":=") || /^\$\w+\s*=[^=]/.test(inner)) this.#assignment(tag);
    else if (isGoTag(tag) || tag.text.includes("|") || /^\{\{-\s|\s-\}\}$/.test(tag.text) || /^["`$]\w?/.test(inner)) {
      this.#change(tag, shownBy(tag, parseGoPipeline(inner, this)));
    }
  }

  /** A block of Handlebars, in which a dot may still stand before a field. */
  #handlebarsBlock(tag: Tag, word: string, rest: string): void {
    const changesScope = word === "each" || word === "with";
    this.#push(tag, [], { changesScope, closes: [`/${word}`] });
    if (!operand.test(withoutTexts(rest))) return;
    const [, value = rest, names = ""] = /^([\s\S]*?)(\s+as\s*\|[^|]*\|)$/.exec(rest) ?? [];
    const expression = parseGoPipeline(value, this);
    const opens = changesScope
      ? `${word} ${argumentText(handlebarsOf(expression))}${names}`
      : this.#condition(tag, value, word === "unless").opens[0];
    this.#change(tag, inPlaceOf(tag, `#${opens}`));
  }

  #block(tag: Tag, word: string, rest: string): void {
    if (word === "if") this.#if(tag, rest);
    else if (word === "range" || word === "with") this.#scopedBlock(tag, word === "range" ? "each" : "with", rest);
    else this.#partialBlock(tag, word, rest);
  }

  #if(tag: Tag, rest: string): void {
    let condition: Condition | undefined;
    try {
      condition = this.#condition(tag, rest);
    } finally {
      const words = (condition?.opens ?? ["if"]).map((open) => open.split(" ", 1)[0]);
      this.#push(tag, [], { closes: words.toReversed().map((word) => `/${word}`) });
    }
    this.#change(tag, inPlaceOf(tag, ...condition.opens.map((open) => `#${open}`)), condition);
  }

  #condition(tag: Tag, text: string, isNegated = false): Condition {
    const options = { hasEquals: this.#hasEquals, mayNest: !this.#withElse.has(tag) };
    return conditionOf(parseGoPipeline(text, this), options, isNegated);
  }

  #scopedBlock(tag: Tag, word: string, rest: string): void {
    const [, first, second, value = rest] = /^(?:\$(\w+)\s*(?:,\s*\$(\w+)\s*)?:=\s*)?([\s\S]+)$/.exec(rest) ?? [];
    // With two names the first is the index, which Handlebars has second.
    const names = [second ?? first, second === undefined ? undefined : first].filter((name) => name !== undefined);
    let text: string | undefined;
    try {
      text = argumentText(handlebarsOf(parseGoPipeline(value, this)));
    } finally {
      this.#push(tag, names, { closes: [`/${word}`], changesScope: true });
    }
    this.#change(tag, inPlaceOf(tag, `#${word} ${text}${names.length === 0 ? "" : ` as |${names.join(" ")}|`}`));
  }

  /** `define` and `block`: their text becomes a partial. */
  #partialBlock(tag: Tag, word: string, rest: string): void {
    const { name, tag: use } = this.#partial(rest);
    const partial = { name, instead: word === "block" ? inPlaceOf(tag, use) : "" };
    this.#push(tag, [], { closes: [], partial });
  }

  #partial(rest: string): { readonly name: string; readonly tag: string } {
    const [, quoted = "", value = ""] = /^("(?:\\.|[^"\\])*"|`[^`]*`)\s*([\s\S]*)$/.exec(rest) ?? [];
    const name = partialNameOf(quoted);
    if (name === "") throw new NoForm("Put the text in a file _name.md of the same folder and write {{> name}}.");
    const given =
      value.trim() === "" || value.trim() === "." ? "" : ` ${argumentText(handlebarsOf(parseGoPipeline(value, this)))}`;
    return { name, tag: `> ${name}${given}` };
  }

  #else(tag: Tag, rest: string): void {
    const [, word = "", value = ""] = /^(if|with)\s+([\s\S]+)$/.exec(rest) ?? [];
    if (word === "with")
      this.#change(tag, inPlaceOf(tag, `else with ${argumentText(handlebarsOf(parseGoPipeline(value, this)))}`));
    else if (word === "if") {
      const condition = conditionOf(parseGoPipeline(value, this), { hasEquals: this.#hasEquals, mayNest: false });
      const instead = inPlaceOf(tag, `else ${condition.opens[0]}`);
      if (instead.replace(/\s/g, "") !== tag.text.replace(/\s/g, "")) this.#change(tag, instead, condition);
    } else if (/^\{\{-|-\}\}$/.test(tag.text)) this.#change(tag, inPlaceOf(tag, "else"));
  }

  #end(tag: Tag): void {
    const block = this.#open.pop();
    if (block === undefined) throw new NoForm("No block is open here: remove it.");
    if (block.partial === undefined) this.#change(tag, inPlaceOf(tag, ...block.closes));
    else this.#moved(block.tag, tag, block.partial);
  }

  /** Everything between two tags goes into a file of its own. */
  #moved(from: Tag, to: Tag, { name, instead }: { readonly name: string; readonly instead: string }): void {
    const start = from.offset + from.text.length;
    const inside = this.changes.filter(({ offset }) => offset >= start);
    const shifted = inside.map((change) => ({ ...change, offset: change.offset - start }));
    const text = applyChanges(this.#text.slice(start, to.offset), shifted);
    this.changes.push({
      offset: from.offset,
      text: this.#text.slice(from.offset, to.offset + to.text.length),
      instead,
      partial: {
        name,
        text: `${from.trimsAfter ? text.trimStart() : text}`.replace(to.trimsBefore ? /\s+$/ : /(?!)/, ""),
      },
    });
  }

  #assignment(tag: Tag): void {
    const [, name = "", value = ""] = /^\$(\w+)\s*:=\s*([\s\S]+)$/.exec(tag.inner) ?? [];
    const path = name === "" ? undefined : parseGoPipeline(value, this);
    if (path?.kind !== "path" || path.from === "block" || (path.from === "here" && this.#isInScope())) {
      throw new NoForm(
        "Handlebars has no variables: name the value where it is used, or use {{#with value as |name|}}.",
      );
    }
    this.#variables.set(name, { ...path, from: "root" });
    this.#change(tag, tag.trimsBefore || tag.trimsAfter ? inPlaceOf(tag, "!") : "", {
      hint: `Handlebars has no variables: ${path.parts.join(".")} is named where $${name} was used`,
    });
  }

  #isInScope(): boolean {
    return this.#open.some(({ changesScope }) => changesScope);
  }

  #push(tag: Tag, names: readonly string[], block: Partial<OpenBlock> & Pick<OpenBlock, "closes">): void {
    const variables = new Map<string, Path>(
      names.map((name) => [name, { kind: "path", from: "block", parts: [name] }]),
    );
    this.#open.push({ changesScope: false, ...block, tag, variables });
  }

  #change(tag: Tag, instead: string | undefined, more: Pick<TemplateChange, "hint" | "field"> = {}): void {
    this.changes.push({ offset: tag.offset, text: tag.text, instead, hint: more.hint, field: more.field });
  }
}

const openers: Readonly<Record<string, true>> = { if: true, range: true, with: true, define: true, block: true };

function argumentText(text: string): string {
  return /\s/.test(text) ? `(${text})` : text;
}

/** The name a partial may have, made of that of a template. */
function partialNameOf(quoted: string): string {
  return quoted
    .slice(1, -1)
    .replace(/\.(?:tmpl|gotmpl|tpl|html|txt|md)$/i, "")
    .replace(/[^\w-]+/g, "_");
}

function partialHint(rest: string): Pick<TemplateChange, "hint"> {
  return { hint: `the text goes into a file _${partialNameOf(rest.split(/\s/, 1)[0] ?? "")}.md of the same folder` };
}

/** The openings of blocks that have an else of their own. */
function blocksWithElse(tags: readonly Tag[]): ReadonlySet<Tag> {
  const found = new Set<Tag>();
  const open: Tag[] = [];
  for (const tag of tags) {
    const word = /^[#^]?\s*(\w+)/.exec(tag.inner)?.[1] ?? "";
    if (/^[#^]/.test(tag.inner) || (Object.hasOwn(openers, word) && /^\w+\s+\S/.test(tag.inner))) open.push(tag);
    else if (/^\/\s*\w/.test(tag.inner) || tag.inner === "end") open.pop();
    else if (word === "else") {
      const block = open.at(-1);
      if (block !== undefined) found.add(block);
    }
  }
  return found;
}
