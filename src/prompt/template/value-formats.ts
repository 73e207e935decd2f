import { LruCache } from "../../lib/lru-cache.ts";

/** The ways to write a number or a date; each may be left out. */
export interface FormatOptions {
  readonly format?: string | undefined;
  /** BCP 47, such as `de-CH`. Default: `en`. */
  readonly locale?: string | undefined;
  /** ISO 4217, such as `EUR`. */
  readonly currency?: string | undefined;
  /** A name of the IANA database or an offset. Default: `UTC`. */
  readonly zone?: string | undefined;
}

/** The kinds of values that have formats. */
export type FormattedKind = "number" | "date";

/** The message says which part of a format is wrong, the hint what to write instead. */
export class FormatMistake extends Error {
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

/** Writes values in a format. */
interface Formatter {
  write(value: number): string;
  /** The number of calls of Intl that one value takes. */
  readonly calls: number;
}

/** Longest text of an option, in characters: longer ones are no formats, and would fill the cache. */
const maxLength = 80;
const maxDigits = 20;

// Making a formatter of Intl takes some hundred times as long as using it.
const formatters = new LruCache<Formatter>({ maxEntries: 100 });

/**
 * The formatter of numbers, or of dates in milliseconds since the epoch.
 *
 * @param onMake - called before a formatter is made that is not in the cache
 * @throws FormatMistake
 */
export function formatterOf(kind: FormattedKind, options: FormatOptions, onMake: () => void): Formatter {
  const given = [options.format, options.locale, options.currency, options.zone];
  const long = given.find((text) => text !== undefined && text.length > maxLength);
  if (long !== undefined)
    throw new FormatMistake(`A format is longer than ${maxLength} characters.`, "Write a shorter one.");
  const key = JSON.stringify([kind, ...given.map((text) => text ?? null)]);
  const known = formatters.get(key);
  if (known !== undefined) return known;
  onMake();
  const formatter = kind === "number" ? numberFormatter(options) : dateFormatter(options);
  formatters.set(key, formatter);
  return formatter;
}

/** `0`, `0.00`, `#,##0.0#`, `0%`: whole digits, those that are always written (0) and those that may be (#), percent. */
const numberPattern = /^(#,##)?0(?:\.(0*)(#*))?(%)?$/;

function numberFormatter({ format, locale = "en", currency }: FormatOptions): Formatter {
  const style = currency === undefined ? {} : ({ style: "currency", currency } as const);
  if (format === undefined) return ofIntl(() => new Intl.NumberFormat(locale, style), { locale, currency });
  const [match, grouping, always = "", maybe = "", percent] = numberPattern.exec(format) ?? [];
  const most = always.length + maybe.length;
  if (match === undefined || most > maxDigits || (percent !== undefined && currency !== undefined)) {
    throw new FormatMistake(
      `${quoted(format)} is no format of a number.`,
      'Write one such as "0.00", "#,##0.##" or "0%".',
    );
  }
  const digits = { minimumFractionDigits: always.length, maximumFractionDigits: most };
  const options = { ...style, ...digits, useGrouping: grouping !== undefined };
  const asPercent = percent === undefined ? {} : ({ style: "percent" } as const);
  return ofIntl(() => new Intl.NumberFormat(locale, { ...options, ...asPercent }), { locale, currency });
}

const dateStyles: ReadonlySet<string> = new Set(["short", "medium", "long", "full"]);
const datePieces = /'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+|'/g;

/** The options of Intl for each letter of a date format, and the part of the result that it stands for. */
const dateLetters: Readonly<Record<string, readonly [part: string, options: Intl.DateTimeFormatOptions]>> = {
  yyyy: ["year", { year: "numeric" }],
  yy: ["year", { year: "2-digit" }],
  MMMM: ["month", { month: "long", day: "numeric" }],
  MMM: ["month", { month: "short", day: "numeric" }],
  MM: ["month", { month: "2-digit" }],
  M: ["month", { month: "numeric" }],
  dd: ["day", { day: "2-digit" }],
  d: ["day", { day: "numeric" }],
  EEEE: ["weekday", { weekday: "long" }],
  EEE: ["weekday", { weekday: "short" }],
  HH: ["hour", { hour: "2-digit", hourCycle: "h23" }],
  H: ["hour", { hour: "numeric", hourCycle: "h23" }],
  hh: ["hour", { hour: "2-digit", hourCycle: "h12" }],
  h: ["hour", { hour: "numeric", hourCycle: "h12" }],
  mm: ["minute", { minute: "2-digit" }],
  ss: ["second", { second: "2-digit" }],
  a: ["dayPeriod", { hour: "numeric", hourCycle: "h12" }],
};
/** Intl writes single digits for them where nothing else is asked for. */
const twoDigits: ReadonlySet<string> = new Set(["MM", "dd", "HH", "hh", "mm", "ss"]);

function dateFormatter({ format = "yyyy-MM-dd", locale = "en", zone = "UTC" }: FormatOptions): Formatter {
  if (dateStyles.has(format)) {
    const dateStyle = format as "short" | "medium" | "long" | "full";
    return ofIntl(() => new Intl.DateTimeFormat(locale, { dateStyle, timeZone: zone }), { locale, zone });
  }
  const parts = [...format.matchAll(datePieces)].map(([piece, literal]) => {
    if (literal !== undefined) return () => (literal === "" ? "'" : literal.replaceAll("''", "'"));
    return /^[A-Za-z']/.test(piece) ? dateField(piece, format, { locale, zone }) : () => piece;
  });
  return { write: (value) => parts.map((part) => part(value)).join(""), calls: Math.max(1, parts.length) };
}

function dateField(
  letters: string,
  format: string,
  options: FormatOptions & { readonly locale: string },
): (value: number) => string {
  const [part, wanted] = (Object.hasOwn(dateLetters, letters) && dateLetters[letters]) || [];
  if (part === undefined) {
    const known = [...Object.keys(dateLetters), ...dateStyles].join(", ");
    const hint = `Write words in single quotes, and otherwise ${known}.`;
    throw new FormatMistake(`${quoted(format)} is no format of a date: it has ${letters}.`, hint);
  }
  // Digits are those of ISO 8601 in every language.
  const locale =
    /^(?:month|weekday|dayPeriod)$/.test(part) && !twoDigits.has(letters) && letters !== "M" ? options.locale : "en";
  const fixed = { calendar: "gregory", numberingSystem: "latn", timeZone: options.zone } as const;
  const formatter = intl(() => new Intl.DateTimeFormat(locale, { ...wanted, ...fixed }), options);
  return (value) => {
    const text = formatter.formatToParts(value).find(({ type }) => type === part)?.value ?? "";
    return letters === "yyyy" ? text.padStart(4, "0") : twoDigits.has(letters) ? text.padStart(2, "0") : text;
  };
}

function ofIntl(make: () => Intl.NumberFormat | Intl.DateTimeFormat, given: FormatOptions): Formatter {
  const formatter = intl(make, given);
  return { write: (value) => formatter.format(value), calls: 1 };
}

/** A formatter of Intl, whose error says which option it does not know. */
function intl<T extends Intl.NumberFormat | Intl.DateTimeFormat>(make: () => T, given: FormatOptions): T {
  try {
    return make();
  } catch {
    const { locale, zone, currency } = given;
    if (!isLocale(locale)) throw new FormatMistake(`${quoted(locale)} is no locale.`, 'Write one such as "de-CH".');
    if (zone === undefined) throw new FormatMistake(`${quoted(currency)} is no currency.`, 'Write one such as "EUR".');
    throw new FormatMistake(`${quoted(zone)} is no time zone.`, 'Write one such as "Europe/Berlin".');
  }
}

function isLocale(locale: string | undefined): boolean {
  try {
    return Intl.getCanonicalLocales(locale).length > 0;
  } catch {
    return false;
  }
}

function quoted(text: string | undefined): string {
  return JSON.stringify(text ?? "");
}

// Without a zone it is in UTC: the same text means the same on every machine.
const isoDate = /^\d{4}-\d{2}(?:-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?)?$/;

/** The milliseconds since the epoch of a date: a Date, a number of milliseconds, or a text of ISO 8601. Undefined for no date. */
export function toTime(value: unknown): number | undefined {
  let time = Number.NaN;
  if (value instanceof Date) time = value.getTime();
  else if (typeof value === "number") time = new Date(value).getTime();
  else if (typeof value === "string" && value.length <= maxLength) {
    const match = isoDate.exec(value.trim());
    const zone = match?.[1];
    const text = value.trim().replace(" ", "T").replace(",", ".");
    if (match !== null) time = Date.parse(text.includes("T") && zone === undefined ? `${text}Z` : text);
  }
  return Number.isNaN(time) ? undefined : time;
}
