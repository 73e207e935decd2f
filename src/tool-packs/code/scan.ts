import type { CodeSymbol, Language, SymbolKind } from "./languages.ts";

/** A longer line is generated, and is not looked at. */
const maxLineLength = 1_000;

/** A line that a reader should look at. */
export interface Marker {
  readonly line: number;
  readonly kind: string;
  readonly text: string;
}

/** The facts of one file. */
export interface FileFacts {
  readonly lines: number;
  readonly symbols: readonly CodeSymbol[];
  readonly imports: readonly string[];
  readonly markers: readonly Marker[];
}

const todo = /\b(TODO|FIXME|XXX|HACK)\b[:( ]/;

/** Signs of code that deserves a look: none of them is a finding by itself. */
const risks: readonly (readonly [string, RegExp])[] = [
  ["eval", /\beval\(|\bnew Function\(|\bexec\(compile\(/],
  ["process", /\bchild_process\b|\bos\.system\(|\bsubprocess\.|\bexec\.Command\(|\bRuntime\.getRuntime\(\)/],
  ["html", /\binnerHTML\s*=|\bdangerouslySetInnerHTML\b|\bdocument\.write\(/],
  ["deserialize", /\bpickle\.loads?\(|\byaml\.load\(|\bunserialize\(|\bObjectInputStream\b/],
  ["sql", /\b(?:query|execute)\(\s*(?:f["']|["'`][^"'`]{0,200}["'`]\s*\+|`[^`]{0,200}\$\{)/],
  ["tls", /\brejectUnauthorized\s*:\s*false|\bverify\s*=\s*False\b|\bInsecureSkipVerify\s*:\s*true/],
  ["secret", /\b(?:password|passwd|secret|api_?key|token)["']?\s*[:=]\s*["'][^"'\s]{8,}["']/i],
];

/** Reads the lines of a file; nothing is executed. */
export function scanFile(text: string, language: Language | undefined): FileFacts {
  const symbols: CodeSymbol[] = [];
  const imports = new Set<string>();
  const markers: Marker[] = [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  for (const [index, content] of lines.entries()) {
    if (content.length > maxLineLength) continue;
    const line = index + 1;
    const symbol = language && symbolIn(content, language, line);
    if (symbol !== undefined) symbols.push(symbol);
    const imported = language && importIn(content, language);
    if (imported !== undefined) imports.add(imported);
    const kind = todo.exec(content)?.[1] ?? (language && risks.find(([, sign]) => sign.test(content))?.[0]);
    if (kind !== undefined) markers.push({ line, kind, text: masked(content.trim(), kind) });
  }
  return { lines: lines.length, symbols, imports: [...imports], markers };
}

function symbolIn(content: string, { symbols }: Language, line: number): CodeSymbol | undefined {
  for (const pattern of symbols) {
    const groups = pattern.exec(content)?.groups;
    if (groups === undefined) continue;
    for (const [kind, name] of Object.entries(groups))
      if (name !== undefined) return { name, kind: kind as SymbolKind, line };
  }
  return undefined;
}

function importIn(content: string, { imports }: Language): string | undefined {
  for (const pattern of imports) {
    const found = pattern.exec(content)?.[1];
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The line, without a text that may be a secret: it is not passed on to a model. */
function masked(text: string, kind: string): string {
  const shown = kind === "secret" ? text.replace(/(["'])[^"'\s]{8,}\1/g, "$1...$1") : text;
  return shown.slice(0, 200).toWellFormed();
}
