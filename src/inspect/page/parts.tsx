import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ShownError } from "../inspection-face.ts";

/** The heading of a view. It has the focus when its view is opened, so that readers of screens begin there. */
export function Heading({ text, children }: { readonly text: string; readonly children?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${text} · Toolweave`;
    heading.current?.focus({ preventScroll: true });
  }, [text]);
  return (
    <header class="heading">
      <h1 ref={heading} tabIndex={-1}>
        {text}
      </h1>
      {children}
    </header>
  );
}

/** An error with what to do. */
export function Problem({ error }: { readonly error: ShownError | undefined }) {
  if (error === undefined) return null;
  const { code, message, remedy, phase } = error;
  return (
    <div class="problem" role="alert">
      <p>
        {code !== undefined && <strong>{code}</strong>} {message}
      </p>
      {remedy !== undefined && <p>{remedy}</p>}
      {phase !== undefined && <p class="quiet">It failed in the phase {phase}.</p>}
    </div>
  );
}

/** A word with a colour, which repeats what the word says. */
export function Badge({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** The colours of badges. */
export type Tone = "good" | "bad" | "busy" | "plain";

/** The names of the columns of a table. */
export function TableHead({ columns }: { readonly columns: readonly string[] }) {
  return (
    <thead>
      <tr>
        {columns.map((column) => (
          <th key={column} scope="col">
            {column}
          </th>
        ))}
      </tr>
    </thead>
  );
}

/** A time of day, with the date for those who point at it. */
export function Time({ at }: { readonly at: number }) {
  const date = new Date(at);
  return (
    <time dateTime={date.toISOString()} title={date.toLocaleString()}>
      {date.toLocaleTimeString()}
    </time>
  );
}

/** A value as indented JSON. */
export function Json({ value, label }: { readonly value: unknown; readonly label: string }) {
  return <Code text={JSON.stringify(value, undefined, 2) ?? "undefined"} label={label} />;
}

/** A text as it is. It can be scrolled with the keyboard. */
export function Code({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached with the keyboard
    // biome-ignore lint/a11y/useSemanticElements: it is no section of the page
    <pre tabIndex={0} role="region" aria-label={label}>
      {text}
    </pre>
  );
}

/** A duration for people. */
export function duration(ms: number): string {
  if (ms < 1) return "under 1 ms";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000
    ? `${(ms / 1_000).toFixed(1)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

/** A number with its noun. */
export function plural(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
