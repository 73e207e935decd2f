/** Elements that a reader does not see. */
const unseen = new Set([
  "script",
  "style",
  "noscript",
  "template",
  "svg",
  "math",
  "iframe",
  "object",
  "head",
  "select",
  "button",
]);
/** Elements that begin on a line of their own, with an empty line before. */
const blocks = new Set(
  "address article aside blockquote dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table tr ul".split(
    " ",
  ),
);
const marks: Readonly<Record<string, string>> = { b: "**", strong: "**", em: "*", i: "*", del: "~~", s: "~~" };
/** A list or a quote is indented no further: each level is written again on every line. */
const maxIndent = 8;

type Attributes = Readonly<Record<string, string>>;

interface List {
  readonly ordered: boolean;
  items: number;
}

/** Writes Markdown from the tags and texts of a page, in their order. */
export class MarkdownWriter {
  readonly #base: URL;
  #out: string[] = [];
  /** Line breaks that come before the next text. */
  #breaks = 0;
  #space = false;
  #bullet = "";
  #hidden = 0;
  #pre = 0;
  #code = 0;
  #quotes = 0;
  /** Those that were open where something was written last. */
  #lastQuotes = 0;
  #cells = 0;
  /** Whether the header of the table that is open is written. */
  readonly #tables: boolean[] = [];
  readonly #lists: List[] = [];
  readonly #links: (string | undefined)[] = [];

  constructor(base: URL) {
    this.#base = base;
  }

  /** An element begins. */
  open(name: string, attributes: Attributes): void {
    if (this.#hidden > 0 || isHidden(name, attributes)) {
      this.#hidden += 1;
      return;
    }
    if (blocks.has(name)) this.#block(name === "li" || name === "tr" || name === "dd" ? 1 : 2);
    const level = /^h([1-6])$/.exec(name)?.[1];
    if (level !== undefined) this.#bullet = `${"#".repeat(Number(level))} `;
    else if (Object.hasOwn(marks, name)) this.#mark(marks[name] ?? "");
    else this.#openOther(name, attributes);
  }

  #openOther(name: string, attributes: Attributes): void {
    if (name === "br") this.#breaks = Math.max(this.#breaks, 1);
    else if (name === "hr") this.#write("---");
    else if (name === "blockquote") this.#quotes += 1;
    else if (name === "ul" || name === "ol") this.#lists.push({ ordered: name === "ol", items: 0 });
    else if (name === "li") this.#bullet = this.#bulletOf(this.#lists.at(-1));
    else if (name === "a") this.#openLink(attributes);
    else if (name === "img") this.#image(attributes);
    else if (name === "pre") this.#openPre();
    else if (name === "code" && this.#pre === 0) {
      this.#mark("`");
      this.#code += 1;
    } else if (name === "table") this.#tables.push(false);
    else if (name === "tr") this.#cells = 0;
    else if (name === "td" || name === "th") this.#openCell();
  }

  /** Text comes. */
  text(text: string): void {
    if (this.#hidden > 0) return;
    if (this.#pre > 0) {
      this.#write(text);
      return;
    }
    const [before, words, after] = [/^\s/.test(text), text.trim().replace(/\s+/g, " "), /\s$/.test(text)];
    if (before || words === "") this.#space = true;
    if (words === "") return;
    this.#write(words);
    this.#space = after;
  }

  /** An element ends. */
  close(name: string): void {
    if (this.#hidden > 0) {
      this.#hidden -= 1;
      return;
    }
    if (Object.hasOwn(marks, name)) this.#endMark(marks[name] ?? "");
    else if (name === "blockquote") this.#quotes -= 1;
    else if (name === "ul" || name === "ol") this.#lists.pop();
    else if (name === "a") this.#closeLink();
    else if (name === "pre") this.#closePre();
    else if (name === "code" && this.#code > 0) {
      this.#code -= 1;
      this.#endMark("`");
    } else if (name === "tr") this.#closeRow();
    else if (name === "table") this.#tables.pop();
    if (blocks.has(name)) this.#block(name === "li" || name === "tr" || name === "dd" ? 1 : 2);
  }

  /** The whole text. */
  end(): string {
    const lines = this.#out.join("").split("\n");
    return `${lines
      .map((line) => line.trimEnd())
      .join("\n")
      .trim()}\n`;
  }

  #block(breaks: number): void {
    if (this.#pre > 0 || this.#tables.length > 0) {
      this.#space = true;
      return;
    }
    this.#breaks = Math.max(this.#breaks, breaks);
    this.#space = false;
  }

  #write(text: string): void {
    const prefix = "> ".repeat(Math.min(this.#quotes, maxIndent));
    if (this.#breaks > 0) {
      const between = "> ".repeat(Math.min(this.#quotes, this.#lastQuotes, maxIndent));
      if (this.#out.length > 0) this.#out.push(`\n${between}`.repeat(this.#breaks - 1), `\n${prefix}`, this.#indent());
      else this.#out.push(prefix);
    } else if (this.#space && this.#out.length > 0) this.#out.push(" ");
    this.#breaks = 0;
    this.#space = false;
    this.#lastQuotes = this.#quotes;
    this.#out.push(this.#bullet, this.#pre > 0 && prefix !== "" ? text.replaceAll("\n", `\n${prefix}`) : text);
    this.#bullet = "";
  }

  #indent(): string {
    const depth = Math.min(this.#lists.length, maxIndent) - (this.#bullet === "" ? 0 : 1);
    return "  ".repeat(Math.max(0, depth));
  }

  #bulletOf(list: List | undefined): string {
    if (list?.ordered !== true) return "- ";
    list.items += 1;
    return `${list.items}. `;
  }

  #mark(mark: string): void {
    this.#write(mark);
  }

  /** The end of a mark stands at its last word. */
  #endMark(mark: string): void {
    const space = this.#space;
    this.#space = false;
    if (this.#out.at(-1) === mark) this.#out.pop();
    else this.#out.push(mark);
    this.#space = space;
  }

  #openLink({ href }: Attributes): void {
    const url = href === undefined ? undefined : this.#linkTo(href);
    this.#links.push(url);
    if (url !== undefined) this.#mark("[");
  }

  #closeLink(): void {
    const url = this.#links.pop();
    if (url === undefined) return;
    if (this.#out.at(-1) === "[") this.#out.pop();
    else this.#out.push(`](${url})`);
  }

  /** Where a link leads on the web; undefined for one that leads nowhere else. */
  #linkTo(href: string): string | undefined {
    const url = href.startsWith("#") ? null : URL.parse(href, this.#base.href);
    if (url === null || !/^(?:https?|mailto):$/.test(url.protocol)) return undefined;
    return url.href.replaceAll("(", "%28").replaceAll(")", "%29");
  }

  #image({ alt = "", src }: Attributes): void {
    const url = src === undefined ? undefined : this.#linkTo(src);
    if (url !== undefined) this.#write(`![${alt.replace(/[[\]\n]/g, " ").slice(0, 500)}](${url})`);
  }

  #openPre(): void {
    this.#write("```\n");
    this.#pre += 1;
  }

  #closePre(): void {
    this.#pre -= 1;
    if (this.#pre > 0) return;
    if (this.#out.at(-1)?.endsWith("\n") !== true) this.#out.push("\n");
    this.#out.push("```");
  }

  #openCell(): void {
    if (this.#cells === 0) this.#breaks = Math.max(this.#breaks, 1);
    else this.#space = true;
    this.#cells += 1;
    this.#write("|");
    this.#space = true;
  }

  #closeRow(): void {
    if (this.#cells === 0) return;
    this.#out.push(" |");
    if (this.#tables.at(-1) === false) {
      this.#out.push(`\n|${" --- |".repeat(this.#cells)}`);
      this.#tables[this.#tables.length - 1] = true;
    }
    this.#cells = 0;
    this.#breaks = 1;
  }
}

function isHidden(name: string, { hidden, style, "aria-hidden": ariaHidden }: Attributes): boolean {
  if (name === "title") return true;
  return unseen.has(name) || hidden !== undefined || ariaHidden === "true" || /display\s*:\s*none/i.test(style ?? "");
}
