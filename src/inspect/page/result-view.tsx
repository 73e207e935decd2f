import type { ContentJson } from "../../core/resource.ts";
import { Code, Json, plural, TableHead } from "./parts.tsx";

/** A result: a text, a value, a table, a picture, or parts of these. */
export function ContentView({ content, cutFrom, isText = false }: ContentProps) {
  return (
    <section class="result" aria-label={isText ? "Text" : "Result"}>
      {cutFrom !== undefined && <p class="quiet">It is too large to be shown whole: {plural(cutFrom, "character")}.</p>}
      <Part content={content} isText={isText} />
    </section>
  );
}

interface ContentProps {
  readonly content: ContentJson;
  readonly cutFrom?: number | undefined;
  /** It is not looked at as JSON. */
  readonly isText?: boolean | undefined;
}

/** Pictures that run nothing, as a picture. */
const pictureTypes = /^image\/(?:png|jpeg|gif|webp|avif|bmp|svg\+xml)$/;

function Part({ content, isText }: { readonly content: ContentJson; readonly isText: boolean }) {
  const { parts, text, base64, mediaType, name } = content;
  const [type = ""] = mediaType.split(";");
  if (parts !== undefined)
    return (
      <>
        {parts.map((part, at) => (
          <Part key={at} content={part} isText={isText} />
        ))}
      </>
    );
  if (text !== undefined) {
    const value = isText ? undefined : valueIn(text);
    if (value === undefined) return <Code text={text === "" ? "(empty)" : text} label="Text" />;
    return <Value value={value} />;
  }
  if (base64 === undefined) return null;
  const source = `data:${type};base64,${base64}`;
  if (pictureTypes.test(type)) return <img src={source} alt={`The result ${name}`} />;
  return (
    <p>
      <a href={`data:application/octet-stream;base64,${base64}`} download={name}>
        {name}
      </a>
      , {type}, about {plural(Math.floor((base64.length * 3) / 4), "byte")}
    </p>
  );
}

/** The value of a text that is a JSON object or list; else undefined. */
function valueIn(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Row = Readonly<Record<string, unknown>>;

const maxRows = 200;
const maxColumns = 12;

/** A value, as a table where it is a list of objects that are flat. */
function Value({ value }: { readonly value: unknown }) {
  const rows = rowsIn(value);
  const columns = [...new Set((rows ?? []).flatMap((row) => Object.keys(row)))];
  if (rows === undefined || columns.length === 0 || columns.length > maxColumns)
    return <Json value={value} label="Value" />;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached with the keyboard
    // biome-ignore lint/a11y/useSemanticElements: it is no section of the page
    <div class="scrolls" tabIndex={0} role="region" aria-label="Table">
      <table>
        <TableHead columns={columns} />
        <tbody>
          {rows.slice(0, maxRows).map((row, at) => (
            <tr key={at}>
              {columns.map((column) => (
                <td key={column}>{row[column] === undefined ? "" : String(row[column])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > maxRows && (
        <p class="quiet">
          The first {maxRows} of {plural(rows.length, "row")}.
        </p>
      )}
    </div>
  );
}

/** The rows of a list of flat objects, or of an object that has nothing else; else undefined. */
function rowsIn(value: unknown): readonly Row[] | undefined {
  const inside = isRow(value) && Object.keys(value).length === 1 ? Object.values(value)[0] : value;
  if (!Array.isArray(inside) || inside.length === 0) return undefined;
  const isFlat = (row: unknown) =>
    isRow(row) && Object.values(row).every((each) => typeof each !== "object" || each === null);
  return inside.every(isFlat) ? inside : undefined;
}

function isRow(value: unknown): value is Row {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
