/** A tag of Go's text/template found in a prompt. */
export interface GoTag {
  /** Where it starts in the text. */
  readonly offset: number;
  readonly tag: string;
  /** What to write instead, a sentence. */
  readonly hint: string;
}

// Comments and escaped tags first, so that what stands in them is left alone.
const tags = /\{\{~?!--[\s\S]*?--~?\}\}|\{\{~?![\s\S]*?\}\}|\\\{\{|\{\{(\{?[\s\S]*?)\}\}/g;

/** The first tag of Go syntax in a template that Handlebars does not take, or undefined. */
export function findGoTag(text: string): GoTag | undefined {
  const open: string[] = [];
  for (const match of text.matchAll(tags)) {
    const inner = match[1];
    if (inner === undefined) continue;
    const hint = goHint(inner, open);
    if (hint !== undefined) return { offset: match.index, tag: match[0], hint };
    const block = /^~?\s*#\s*(\w+)/.exec(inner)?.[1];
    if (block !== undefined) open.push(block);
    if (/^~?\s*\//.test(inner)) open.pop();
  }
  return undefined;
}

/** What to write instead of a tag, given what stands between its braces; undefined where it is no Go syntax. */
export function goHint(inner: string, open: readonly string[] = []): string | undefined {
  const trimmed = inner.replace(/^-\s/, "").replace(/\s-$/, "").trim();
  // Other marks than # are Handlebars' own, and #if is too until a dot stands before its field.
  if (/^[/^>&!~{*]/.test(trimmed) && !trimmed.startsWith("/*")) return undefined;
  if (trimmed.startsWith("#") && !/\s\.[A-Za-z]/.test(trimmed)) return undefined;
  const instead = action(trimmed.replace(/^#\s*/, ""), open);
  return instead === undefined ? undefined : `This is Go template syntax. ${instead}`;
}

const write = (tag: string) => `Write {{${tag}}} instead.`;

const blocks: Readonly<Record<string, string>> = { if: "if", range: "each", with: "with" };

function action(text: string, open: readonly string[]): string | undefined {
  const [, word = "", rest = ""] = /^(\w+)(?:\s+([\s\S]*))?$/.exec(text) ?? [];
  if (text.startsWith("/*")) return write(`!-- ${text.replace(/^\/\*\s*|\s*\*\/$/g, "")} --`);
  if (text === "end") return open.length === 0 ? undefined : write(`/${open.at(-1)}`);
  if (word === "else")
    return /^(?:if|with)\s*[.$(]/.test(rest) ? write(`else ${opening("if", rest.replace(/^\w+\s*/, ""))}`) : undefined;
  const block = blocks[word];
  if (block !== undefined && rest !== "") return blockAction(block, rest);
  if (word === "template" || word === "block" || word === "define") return partial(rest);
  if (text.includes(":="))
    return "Handlebars has no variables: name the value where it is used, or use {{#with value as |name|}}.";
  return pipeline(text);
}

function blockAction(block: string, rest: string): string {
  const negated = block === "if" ? /^not\s+([.$]\S*)$/.exec(rest)?.[1] : undefined;
  if (negated !== undefined)
    return `Write {{#unless ${operand(negated)}}} instead, and {{/unless}} in place of {{ end }}.`;
  const tag = opening(`#${block}`, rest);
  return tag.includes("...")
    ? "Handlebars compares nothing: take a field that is true or false, and write {{#if field}} ... {{/if}}."
    : `Write {{${tag}}} instead, and {{/${block}}} in place of {{ end }}.`;
}

function opening(word: string, rest: string): string {
  const ranged = /^(?:\$(\w+)\s*,\s*)?\$(\w+)\s*:=\s*([.$]\S*)$/.exec(rest);
  if (ranged !== null) {
    const [, index, item = "item", list = ""] = ranged;
    return `${word} ${operand(list)} as |${item}${index === undefined ? "" : ` ${index}`}|`;
  }
  const name = operand(rest);
  return `${word} ${name ?? "..."}`;
}

function partial(rest: string): string | undefined {
  const name = /^"([^"]*)"/.exec(rest)?.[1];
  if (name === undefined) return undefined;
  return `Put the text in a file _${name}.md of the same folder and write {{> ${name}}}.`;
}

/** `.x`, `.x | upper`, `upper .x`. */
function pipeline(text: string): string | undefined {
  const words = text.match(/"[^"]*"|'[^']*'|`[^`]*`|\||[^\s|"'`]+/g) ?? [];
  if (!words.some((word) => word === "|" || /^(?:\$\.?|\.)[A-Za-z_]/.test(word))) return undefined;
  const stages: string[][] = [[]];
  for (const word of words) {
    if (word === "|") stages.push([]);
    else stages.at(-1)?.push(word);
  }
  const [first = [], ...rest] = stages;
  let value = first.length === 1 ? operand(first[0] ?? "") : call(first, undefined);
  for (const stage of rest) {
    if (value === undefined) break;
    value = call(stage, /\s/.test(value) ? `(${value})` : value);
  }
  return value === undefined ? "Write fields without the dot, and helpers first: {{upper text}}." : write(value);
}

const names: Readonly<Record<string, string>> = { toJson: "json", toJSON: "json", ToUpper: "upper", ToLower: "lower" };

function call([name = "", ...args]: readonly string[], piped: string | undefined): string | undefined {
  const operands = [...args.map((arg) => operand(arg)), ...(piped === undefined ? [] : [piped])];
  if (!/^\w+$/.test(name) || operands.includes(undefined) || operands.length === 0) return undefined;
  // Go pipes the value in last; ours wants the list first.
  if (name === "join" && piped !== undefined) operands.unshift(operands.pop());
  return [names[name] ?? name, ...operands].join(" ");
}

/** A single value in Handlebars' form. */
function operand(text: string): string | undefined {
  const value = text.trim();
  if (value === ".") return "this";
  if (/^"[^"]*"$|^-?\d+$|^(?:true|false)$/.test(value)) return value;
  if (/^\$\.[\w.]+$/.test(value)) return `@root${value.slice(1)}`;
  if (/^[.$][A-Za-z_][\w.]*$/.test(value)) return value.slice(1);
  return /^[A-Za-z_][\w.]*$/.test(value) ? value : undefined;
}
