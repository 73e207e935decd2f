import { type Expression, NoHandlebarsForm } from "./handlebars-expression.ts";

/** The parts of a layout of Go's time package, longer ones before those that they begin with, and the letters of our date formats. */
const layoutParts: readonly (readonly [part: string, letters: string | undefined])[] = [
  ["January", "MMMM"],
  ["Jan", "MMM"],
  ["Monday", "EEEE"],
  ["Mon", "EEE"],
  ["2006", "yyyy"],
  ["01", "MM"],
  ["02", "dd"],
  ["03", "hh"],
  ["04", "mm"],
  ["05", "ss"],
  ["06", "yy"],
  ["15", "HH"],
  ["PM", "a"],
  ["1", "M"],
  ["2", "d"],
  ["3", "h"],
  // Of these the helper has none.
  ...["002", "__2", "_2", "4", "5", "pm", "MST"].map((part) => [part, undefined] as const),
];

/** Zones and fractions of seconds, which the helper does not write. */
const unwritten = /^(?:[-Z]07(?::?00(?::?00)?)?|[.,](?:0+|9+)(?!\d))/;

/**
 * A date in a layout of Go, as a call of our helper.
 *
 * @throws NoHandlebarsForm for a layout that is no text in the tag, and for a part of it that the helper does not write
 */
export function dateInLayout(value: Expression, layout: Expression): Expression {
  if (layout.kind !== "literal" || typeof layout.value !== "string")
    throw new NoHandlebarsForm('Write the format in the tag, as in {{date created "yyyy-MM-dd"}}.');
  return { kind: "call", name: "date", values: [value, { kind: "literal", value: formatOf(layout.value) }] };
}

function formatOf(layout: string): string {
  let format = "";
  let words = "";
  const endWords = () => {
    // Only letters and quotes mean something in a format.
    format += words.replace(/[A-Za-z'](?:.*[A-Za-z'])?/s, (text) => `'${text.replaceAll("'", "''")}'`);
    words = "";
  };
  for (let at = 0; at < layout.length; ) {
    const rest = layout.slice(at);
    const [part, letters] = partAt(rest);
    if (letters === undefined) {
      words += part;
    } else {
      endWords();
      format += letters;
    }
    at += part.length;
  }
  endWords();
  return format;
}

/** The part that a layout begins with; without letters where that is a character that stands for itself. */
function partAt(rest: string): readonly [part: string, letters: string | undefined] {
  const odd = unwritten.exec(rest)?.[0];
  const found = layoutParts
    .filter(([part]) => rest.startsWith(part) && !isWord(part, rest))
    .reduce<(typeof layoutParts)[number] | undefined>(
      (longest, each) => (each[0].length > (longest?.[0].length ?? 0) ? each : longest),
      undefined,
    );
  if (odd === undefined && found?.[1] !== undefined) return found;
  const unknown = odd ?? found?.[0];
  if (unknown === undefined) return [rest.slice(0, 1), undefined];
  const advice = 'as in {{date created "d MMMM yyyy, HH:mm" zone="Europe/Berlin"}}, or pass the text';
  throw new NoHandlebarsForm(
    `The helper date has nothing for ${unknown} of this layout: write a format without it, ${advice}.`,
  );
}

/** True where a short name begins a longer word, such as `Mon` in `Month`: Go takes that for text. */
function isWord(part: string, rest: string): boolean {
  return /^(?:Jan|Mon)$/.test(part) && /^[a-z]/.test(rest.slice(part.length));
}
