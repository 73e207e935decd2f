/** A kind of symbol. */
export type SymbolKind = "class" | "interface" | "type" | "enum" | "function" | "method" | "constant" | "module";

/** A definition in a file. */
export interface CodeSymbol {
  readonly name: string;
  readonly kind: SymbolKind;
  /** From 1. */
  readonly line: number;
}

/** A language, as far as lines tell: a definition and an import each begin on a line of their own. */
export interface Language {
  readonly name: string;
  /** For a line that defines something: the groups are the names of kinds. */
  readonly symbols: readonly RegExp[];
  /** For a line that imports something: the first group that matched is what. */
  readonly imports: readonly RegExp[];
}

// Each begins at the line's start, and no two neighbouring repetitions fit the same character: a line takes time in proportion to its length.
const script: Language = {
  name: "TypeScript",
  symbols: [
    /^\s*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?class\s+(?<class>[\w$]+)/,
    /^\s*(?:export\s+)?(?:declare\s+)?interface\s+(?<interface>[\w$]+)/,
    /^\s*(?:export\s+)?(?:declare\s+)?type\s+(?<type>[\w$]+)\s*(?:<|=)/,
    /^\s*(?:export\s+)?(?:declare\s+)?(?:const\s+)?enum\s+(?<enum>[\w$]+)/,
    /^\s*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:async\s+)?function\s*\*?\s*(?<function>[\w$]+)/,
    /^(?:export\s+)?(?:const|let|var)\s+(?<function>[\w$]+)\s*=\s*(?:async\s+)?(?:function\b|\([^()]*\)\s*=>|[\w$]+\s*=>)/,
    /^(?:export\s+)?(?:const|let|var)\s+(?<constant>[\w$]+)/,
    /^ {2,4}(?:(?:public|private|protected|static|override|readonly|async|get|set)\s+)*(?!(?:if|for|while|switch|catch|return|function|super)\b)(?<method>#?[\w$]+)\s*(?:<[^<>]*>)?\([^()]*\)[^;{]{0,200}\{\s*$/,
  ],
  imports: [
    /^\s*(?:import|export)\b[^"']{0,500}["']([^"']+)["']/,
    /^[^"']{0,200}\b(?:require|import)\(\s*["']([^"']+)["']/,
    /^\}\s*from\s+["']([^"']+)["']/,
  ],
};

const python: Language = {
  name: "Python",
  symbols: [
    /^\s*class\s+(?<class>\w+)/,
    /^(?:async\s+)?def\s+(?<function>\w+)/,
    /^\s+(?:async\s+)?def\s+(?<method>\w+)/,
    /^(?<constant>[A-Z][A-Z0-9_]+)\s*[:=]/,
  ],
  imports: [/^\s*from\s+([\w.]+)\s+import\b/, /^\s*import\s+([\w.]+)/],
};

const go: Language = {
  name: "Go",
  symbols: [
    /^type\s+(?<interface>\w+)(?:\[[^\]]*\])?\s+interface\b/,
    /^type\s+(?<class>\w+)(?:\[[^\]]*\])?\s+struct\b/,
    /^type\s+(?<type>\w+)/,
    /^func\s+\([^()]*\)\s*(?<method>\w+)/,
    /^func\s+(?<function>\w+)/,
    /^(?:const|var)\s+(?<constant>\w+)/,
  ],
  imports: [/^\s*import\s+(?:[\w.]+\s+)?"([^"]+)"/, /^\t(?:[\w.]+\s+)?"([^"\s]+)"$/],
};

const rust: Language = {
  name: "Rust",
  symbols: [
    /^\s*(?:pub(?:\([^()]*\))?\s+)?(?:struct|union)\s+(?<class>\w+)/,
    /^\s*(?:pub(?:\([^()]*\))?\s+)?(?:unsafe\s+)?trait\s+(?<interface>\w+)/,
    /^\s*(?:pub(?:\([^()]*\))?\s+)?enum\s+(?<enum>\w+)/,
    /^\s*(?:pub(?:\([^()]*\))?\s+)?type\s+(?<type>\w+)/,
    /^\s*(?:pub(?:\([^()]*\))?\s+)?mod\s+(?<module>\w+)/,
    /^\s*(?:pub(?:\([^()]*\))?\s+)?(?:const|static)\s+(?<constant>[A-Z]\w*)/,
    /^(?:pub(?:\([^()]*\))?\s+)?(?:async\s+)?(?:const\s+)?(?:unsafe\s+)?fn\s+(?<function>\w+)/,
    /^\s+(?:pub(?:\([^()]*\))?\s+)?(?:async\s+)?(?:const\s+)?(?:unsafe\s+)?fn\s+(?<method>\w+)/,
  ],
  imports: [/^\s*(?:pub\s+)?use\s+(\w+)/, /^\s*extern\s+crate\s+(\w+)/],
};

const modifiers =
  "(?:(?:public|private|protected|internal|static|final|abstract|sealed|partial|async|override|virtual|open|data|readonly|export)\\s+)*";
const javaLike = (name: string): Language => ({
  name,
  symbols: [
    new RegExp(`^\\s*${modifiers}(?:class|record|struct|object)\\s+(?<class>\\w+)`),
    new RegExp(`^\\s*${modifiers}interface\\s+(?<interface>\\w+)`),
    new RegExp(`^\\s*${modifiers}enum\\s+(?:class\\s+)?(?<enum>\\w+)`),
    new RegExp(`^\\s*${modifiers}fun\\s+(?:[\\w<>]+\\.)?(?<function>\\w+)\\s*\\(`),
    /^\s{2,8}(?:(?:public|private|protected|internal|static|final|abstract|async|override|virtual)\s+)+[\w<>[\],.?]+\s+(?<method>\w+)\s*\(/,
  ],
  imports: [/^\s*(?:import|using)\s+(?:static\s+)?([\w.]+)/],
});

const c: Language = {
  name: "C",
  symbols: [
    /^\s*(?:typedef\s+)?(?:class|struct|union)\s+(?<class>\w+)[^;]*$/,
    /^\s*(?:typedef\s+)?enum\s+(?:class\s+)?(?<enum>\w+)[^;]*$/,
    /^namespace\s+(?<module>[\w:]+)/,
    /^#\s*define\s+(?<constant>\w+)/,
    /^(?!(?:return|else|typedef|if|while|for|switch)\b)[A-Za-z_][\w:<>*&]*\s[\w\s:<>*&]{0,200}?\b(?<function>~?\w+)\([^;]*$/,
  ],
  imports: [/^\s*#\s*include\s+[<"]([^>"]+)[>"]/],
};

const ruby: Language = {
  name: "Ruby",
  symbols: [
    /^\s*class\s+(?<class>[\w:]+)/,
    /^\s*module\s+(?<module>[\w:]+)/,
    /^def\s+(?<function>[\w.]+[?!]?)/,
    /^\s+def\s+(?<method>[\w.]+[?!]?)/,
  ],
  imports: [/^\s*require(?:_relative)?\s+["']([^"']+)["']/],
};

const php: Language = {
  name: "PHP",
  symbols: [
    /^\s*(?:(?:abstract|final|readonly)\s+)*class\s+(?<class>\w+)/,
    /^\s*(?:interface|trait)\s+(?<interface>\w+)/,
    /^\s*enum\s+(?<enum>\w+)/,
    /^function\s+&?(?<function>\w+)/,
    /^\s+(?:(?:public|private|protected|static|final|abstract)\s+)*function\s+&?(?<method>\w+)/,
  ],
  imports: [/^\s*use\s+([\w\\]+)/, /^\s*(?:require|include)(?:_once)?\b[^"']{0,100}["']([^"']+)["']/],
};

const textOnly = (name: string): Language => ({ name, symbols: [], imports: [] });

const byExtension: ReadonlyMap<string, Language> = new Map(
  (
    [
      [script, "ts tsx mts cts"],
      [{ ...script, name: "JavaScript" }, "js jsx mjs cjs"],
      [python, "py pyi"],
      [go, "go"],
      [rust, "rs"],
      [javaLike("Java"), "java"],
      [javaLike("Kotlin"), "kt kts"],
      [javaLike("C#"), "cs"],
      [javaLike("Swift"), "swift"],
      [c, "c h"],
      [{ ...c, name: "C++" }, "cc cpp cxx hpp hh"],
      [ruby, "rb"],
      [php, "php"],
      [textOnly("Shell"), "sh bash zsh"],
      [textOnly("SQL"), "sql"],
      [textOnly("HTML"), "html htm vue svelte"],
      [textOnly("CSS"), "css scss less"],
      [textOnly("Markdown"), "md mdx"],
      [textOnly("JSON"), "json jsonc"],
      [textOnly("YAML"), "yaml yml"],
      [textOnly("TOML"), "toml"],
    ] as const
  ).flatMap(([language, extensions]) => extensions.split(" ").map((extension) => [extension, language] as const)),
);

/** The language of a file, by its extension. */
export function languageOf(file: string): Language | undefined {
  return byExtension.get(/\.([^./\\]+)$/.exec(file)?.[1]?.toLowerCase() ?? "");
}
