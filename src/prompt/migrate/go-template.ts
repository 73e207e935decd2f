import { type GoScope, parseGoPipeline } from "./go-pipeline.ts";
import { type FieldExpression, NoHandlebarsForm, toHandlebars } from "./handlebars-expression.ts";
import { toCondition, valueInPlaceOf } from "./handlebars-tags.ts";
import { applyChanges, byOffset, type TemplateChange } from "./template-change.ts";
import { type TemplateTag, tagsInPlaceOf } from "./template-tags.ts";

const operand = /(?:^|[\s(|,=])(?:\$?\.[A-Za-z_]|\$\.?(?=[\s)|]|$))/;
const opener = /^(?:if|range|with|define|block|template)\s+\S/;

/** True for a tag that only Go's text/template has. */
export function isGoTag({ form, inner }: TemplateTag): boolean {
  if (form !== "value") return false;
  if (/^(?:[>!&*]|\/(?!\*))/.test(inner)) return false;
  return /^(?:\/\*|`)/.test(inner) || inner.includes(":=") || operand.test(withoutTexts(inner)) || opener.test(inner);
}

function withoutTexts(inner: string): string {
  return inner.replace(/"(?:\\.|[^"\\\n])*"|`[^`]*`/g, '""');
}

/** Every change that turns a template of Go's text/template into Handlebars, in the order of the text. */
export function changesOfGo(text: string, tags: readonly TemplateTag[]): readonly TemplateChange[] {
  const rewrite = new GoRewrite(text);
  for (const tag of tags) if (tag.form === "value") rewrite.take(tag);
  return rewrite.changes.sort(byOffset);
}

interface OpenBlock {
  readonly tag: TemplateTag;
  /** The Handlebars tags that close it, innermost first. */
  readonly closes: readonly string[];
  /** Inside it `.` is another value. */
  readonly changesScope: boolean;
  readonly variables: ReadonlyMap<string, FieldExpression>;
  /** The partial that its text becomes, and the tag that uses it. */
  readonly partial?: { readonly name: string; readonly instead: string } | undefined;
}

/** Blocks are not converted beyond this depth: a partial inside a partial repeats its text. */
const maxDepth = 100;

class GoRewrite implements GoScope {
  readonly changes: TemplateChange[] = [];
  readonly #text: string;
  readonly #open: OpenBlock[] = [];
  readonly #variables = new Map<string, FieldExpression>();

  constructor(text: string) {
    this.#text = text;
  }

  variable(name: string): FieldExpression | undefined {
    for (const { variables } of this.#open.toReversed()) {
      const path = variables.get(name);
      if (path !== undefined) return path;
    }
    const path = this.#variables.get(name);
    return path?.from === "root" && !this.#isInScope() ? { ...path, from: "here" } : path;
  }

  root(): FieldExpression {
    if (!this.#isInScope()) return { kind: "path", from: "here", parts: [] };
    if (this.#open.some(({ partial }) => partial !== undefined)) {
      throw new NoHandlebarsForm(
        "A partial does not know where it is used: write ../ once for each block around the field.",
      );
    }
    return { kind: "path", from: "root", parts: [] };
  }

  take(tag: TemplateTag): void {
    try {
      this.#action(tag);
    } catch (error) {
      if (!(error instanceof NoHandlebarsForm)) throw error;
      this.#change(tag, undefined, { hint: error.message });
    }
  }

  #action(tag: TemplateTag): void {
    const { inner } = tag;
    const [, word = "", rest = ""] = /^#?\s*(\w+)(?:\s+([\s\S]*))?$/.exec(inner) ?? [];
    const close = /^\/\s*(\w+)/.exec(inner)?.[1];
    if (inner.startsWith("/*"))
      this.#change(tag, tagsInPlaceOf(tag, `!-- ${inner.replace(/^\/\*\s*|\s*\*\/$/g, "")} --`));
    else if (close !== undefined) this.#open.pop();
    else if (/^[>!&*/]/.test(inner)) return;
    else if (/^[#^]/.test(inner)) this.#handlebarsBlock(tag, word, rest);
    else if (word === "end" && rest === "") this.#end(tag);
    else if (word === "else") this.#else(tag, rest);
    else if (/^(?:break|continue)$/.test(inner)) throw new NoHandlebarsForm(loopAdvice);
    else if (rest !== "" && Object.hasOwn(openers, word)) this.#block(tag, word, rest);
    else if (word === "template" && rest !== "")
      this.#change(tag, tagsInPlaceOf(tag, this.#partial(rest).tag), partialHint(rest));
    else if (inner.includes(":=") || /^\$\w+\s*=[^=]/.test(inner)) this.#assignment(tag);
    else if (isGoTag(tag) || tag.text.includes("|") || /^\{\{-\s|\s-\}\}$/.test(tag.text) || /^["`$]\w?/.test(inner)) {
      this.#change(tag, valueInPlaceOf(tag, parseGoPipeline(inner, this)));
    }
  }

  /** A block that is Handlebars already, except for a dot before a field. */
  #handlebarsBlock(tag: TemplateTag, word: string, rest: string): void {
    const changesScope = word === "each" || word === "with";
    this.#push(tag, [], { changesScope, closes: [`/${word}`] });
    if (!operand.test(withoutTexts(rest))) return;
    const [, value = rest, names = ""] = /^([\s\S]*?)(\s+as\s*\|[^|]*\|)$/.exec(rest) ?? [];
    const expression = parseGoPipeline(value, this);
    const opens = changesScope
      ? `${word} ${argumentText(toHandlebars(expression))}${names}`
      : toCondition(parseGoPipeline(value, this), word === "unless");
    this.#change(tag, tagsInPlaceOf(tag, `#${opens}`));
  }

  #block(tag: TemplateTag, word: string, rest: string): void {
    if (word === "if") this.#if(tag, rest);
    else if (word === "range" || word === "with") this.#scopedBlock(tag, word === "range" ? "each" : "with", rest);
    else this.#partialBlock(tag, word, rest);
  }

  #if(tag: TemplateTag, rest: string): void {
    let condition = "if";
    try {
      condition = toCondition(parseGoPipeline(rest, this));
    } finally {
      this.#push(tag, [], { closes: [`/${condition.split(" ", 1)[0]}`] });
    }
    this.#change(tag, tagsInPlaceOf(tag, `#${condition}`));
  }

  #scopedBlock(tag: TemplateTag, word: string, rest: string): void {
    const [, first, second, value = rest] = /^(?:\$(\w+)\s*(?:,\s*\$(\w+)\s*)?:=\s*)?([\s\S]+)$/.exec(rest) ?? [];
    // With two names the first is the index, which Handlebars has second.
    const names = [second ?? first, second === undefined ? undefined : first].filter((name) => name !== undefined);
    let text: string | undefined;
    try {
      const shown = parseGoPipeline(value, this);
      if (word === "each" && shown.kind === "literal") {
        throw new NoHandlebarsForm("Nothing counts here: pass a list with as many entries, and write {{#each list}}.");
      }
      text = argumentText(toHandlebars(shown));
    } finally {
      this.#push(tag, names, { closes: [`/${word}`], changesScope: true });
    }
    this.#change(tag, tagsInPlaceOf(tag, `#${word} ${text}${names.length === 0 ? "" : ` as |${names.join(" ")}|`}`));
  }

  /** The text of `define` and `block` becomes a partial. */
  #partialBlock(tag: TemplateTag, word: string, rest: string): void {
    const { name, tag: use } = this.#partial(rest);
    const partial = { name, instead: word === "block" ? tagsInPlaceOf(tag, use) : "" };
    this.#push(tag, [], { closes: [], partial });
  }

  #partial(rest: string): { readonly name: string; readonly tag: string } {
    const [, quoted = "", value = ""] = /^("(?:\\.|[^"\\])*"|`[^`]*`)\s*([\s\S]*)$/.exec(rest) ?? [];
    const name = partialNameOf(quoted);
    if (name === "")
      throw new NoHandlebarsForm("Put the text in a file _name.md of the same folder and write {{> name}}.");
    const given =
      value.trim() === "" || value.trim() === "." ? "" : ` ${argumentText(toHandlebars(parseGoPipeline(value, this)))}`;
    return { name, tag: `> ${name}${given}` };
  }

  #else(tag: TemplateTag, rest: string): void {
    const [, word = "", value = ""] = /^(if|with)\s+([\s\S]+)$/.exec(rest) ?? [];
    if (word === "with")
      this.#change(tag, tagsInPlaceOf(tag, `else with ${argumentText(toHandlebars(parseGoPipeline(value, this)))}`));
    else if (word === "if") {
      const instead = tagsInPlaceOf(tag, `else ${toCondition(parseGoPipeline(value, this))}`);
      if (instead.replace(/\s/g, "") !== tag.text.replace(/\s/g, "")) this.#change(tag, instead);
    } else if (/^\{\{-|-\}\}$/.test(tag.text)) this.#change(tag, tagsInPlaceOf(tag, "else"));
  }

  #end(tag: TemplateTag): void {
    const block = this.#open.pop();
    if (block === undefined) throw new NoHandlebarsForm("No block is open here: remove it.");
    if (block.partial === undefined) this.#change(tag, tagsInPlaceOf(tag, ...block.closes));
    else this.#moved(block.tag, tag, block.partial);
  }

  /** The text between two tags goes into a file of its own. */
  #moved(
    from: TemplateTag,
    to: TemplateTag,
    { name, instead }: { readonly name: string; readonly instead: string },
  ): void {
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

  #assignment(tag: TemplateTag): void {
    const [, name = "", value = ""] = /^\$(\w+)\s*:=\s*([\s\S]+)$/.exec(tag.inner) ?? [];
    const path = name === "" ? undefined : parseGoPipeline(value, this);
    if (path?.kind !== "path" || path.from === "block" || (path.from === "here" && this.#isInScope())) {
      throw new NoHandlebarsForm(
        "Handlebars has no variables: name the value where it is used, or use {{#with value as |name|}}.",
      );
    }
    this.#variables.set(name, { ...path, from: "root" });
    this.#change(tag, tag.trimsBefore || tag.trimsAfter ? tagsInPlaceOf(tag, "!") : "", {
      hint: `Handlebars has no variables: ${path.parts.join(".")} is named where $${name} was used`,
    });
  }

  #isInScope(): boolean {
    return this.#open.some(({ changesScope }) => changesScope);
  }

  #push(tag: TemplateTag, names: readonly string[], block: Partial<OpenBlock> & Pick<OpenBlock, "closes">): void {
    const variables = new Map<string, FieldExpression>(
      names.map((name) => [name, { kind: "path", from: "block", parts: [name] }]),
    );
    if (this.#open.length >= maxDepth) throw new NoHandlebarsForm("Blocks are nested too deep here: write partials.");
    this.#open.push({ changesScope: false, ...block, tag, variables });
  }

  #change(tag: TemplateTag, instead: string | undefined, more: Pick<TemplateChange, "hint"> = {}): void {
    this.changes.push({ offset: tag.offset, text: tag.text, instead, hint: more.hint });
  }
}

const loopAdvice =
  "A loop goes through all entries: pass those that are wanted, or take the first ones with {{#each (slice items 0 3)}}.";
const openers: Readonly<Record<string, true>> = { if: true, range: true, with: true, define: true, block: true };

function argumentText(text: string): string {
  return /\s/.test(text) ? `(${text})` : text;
}

/** A valid name of a partial for the name of a template. */
function partialNameOf(quoted: string): string {
  return quoted
    .slice(1, -1)
    .replace(/\.(?:tmpl|gotmpl|tpl|html|txt|md)$/i, "")
    .replace(/[^\w-]+/g, "_");
}

function partialHint(rest: string): Pick<TemplateChange, "hint"> {
  return { hint: `the text goes into a file _${partialNameOf(rest.split(/\s/, 1)[0] ?? "")}.md of the same folder` };
}
