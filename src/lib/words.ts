/** A word is compared as far as this, in characters. */
const maxWordCharacters = 40;

/** Words without a meaning of their own: those of grammar, and those by which a person asks. */
const emptyWords: ReadonlySet<string> = new Set(
  [
    "a an and are as at be been being by can could did do does for from had has have how i if in into is it its me my of off on or our out",
    "over should so some than that the their them then there these they this those to too under up us was we were what when where which while",
    "who whom whose why will with would you your",
    "all also any back each give go going here just know let like look looking more most need now only please same see tell think very",
    "want help",
  ]
    .join(" ")
    .split(" "),
);

const han = String.raw`\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}`;
const script = new RegExp(`[${han}]`, "u");
/** A run of letters and digits, or one of a script that writes words without blanks. */
const runs = new RegExp(String.raw`[${han}]+|(?:(?![${han}])[\p{L}\p{M}\p{N}])+`, "gu");

/**
 * The words of a text by which it is searched, in its order: in lower case, without endings, without words that say nothing. `getUserNames`
 * is `get`, `user` and `name`; what is written without blanks, such as Chinese, is split into pairs of characters.
 *
 * @param maxCharacters - the text is read so far
 */
export function wordsOf(text: string, maxCharacters: number): string[] {
  const split = text
    .slice(0, maxCharacters)
    .normalize("NFKC")
    .replaceAll(/([\p{Ll}\p{N}])(\p{Lu})/gu, "$1 $2")
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .toLowerCase();
  const words: string[] = [];
  for (const run of split.match(runs) ?? []) {
    if (script.test(run)) words.push(...pairsOf(run));
    else if (!emptyWords.has(run) && (run.length > 1 || /\d/.test(run)))
      words.push(stemOf(run.slice(0, maxWordCharacters)));
  }
  return words;
}

function pairsOf(run: string): readonly string[] {
  const characters = [...run];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, at) => `${characters[at]}${character}`);
}

/** An English word without the endings of its forms. It need be no word: it is compared only with others made the same way. */
function stemOf(word: string): string {
  let stem = singular(word);
  if (stem.length > 5 && stem.endsWith("ing")) stem = undoubled(stem.slice(0, -3));
  else if (stem.length > 4 && stem.endsWith("ed")) stem = undoubled(stem.slice(0, -2));
  if (stem.length > 4 && stem.endsWith("e")) stem = stem.slice(0, -1);
  return stem.length > 3 && stem.endsWith("y") ? `${stem.slice(0, -1)}i` : stem;
}

function singular(word: string): string {
  if (word.length < 4) return word;
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (/(?:ss|us|is)$/.test(word)) return word;
  if (/(?:ch|sh|x|ss|z)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith("s") ? word.slice(0, -1) : word;
}

function undoubled(stem: string): string {
  return /([bdfgklmnprt])\1$/.test(stem) ? stem.slice(0, -1) : stem;
}
