import { useState } from "preact/hooks";
import { Badge, Code, duration, Heading, plural } from "./parts.tsx";
import { maxTapeBytes, type OpenedTape, parseTape, type TapedStep } from "./tape-lines.ts";
import { Timeline, type TimelineRow } from "./timeline.tsx";

/** The most steps in the picture, and in the table until more are asked for. */
const maxBars = 60;
const pageSize = 200;

interface Opened {
  readonly name: string;
  readonly tape?: OpenedTape | undefined;
  readonly problem?: string | undefined;
}

/** A tape that the recorder wrote. The file is read by the browser, and goes nowhere. */
export function TapeView() {
  const [opened, set] = useState<Opened | undefined>(undefined);
  const open = async (file: File | undefined) => {
    if (file === undefined) return;
    const { name, size } = file;
    try {
      if (size > maxTapeBytes)
        throw new Error(`This tape has ${plural(size, "byte")}: the page opens ${maxTapeBytes}.`);
      set({ name, tape: parseTape(await file.text()) });
    } catch (error) {
      set({ name, problem: error instanceof Error ? error.message : "The file cannot be read." });
    }
  };
  return (
    <>
      <Heading text="Tape" />
      <label class="filters">
        A tape (JSON lines)
        <input
          type="file"
          accept=".jsonl,.ndjson,.tape,.json"
          onChange={({ currentTarget }) => void open(currentTarget.files?.[0])}
        />
      </label>
      {opened?.problem !== undefined && (
        <p class="problem" role="alert">
          {opened.name}: {opened.problem}
        </p>
      )}
      {opened?.tape !== undefined && <Tape key={opened.name} name={opened.name} tape={opened.tape} />}
    </>
  );
}

function Tape({
  name,
  tape: { beganAt, steps, isComplete, dropped },
}: {
  readonly name: string;
  readonly tape: OpenedTape;
}) {
  const [limit, show] = useState(pageSize);
  const bars = steps.filter(({ durationMs }) => durationMs !== undefined).slice(0, maxBars);
  return (
    <section class="card" aria-label={name}>
      <h2>{name}</h2>
      <p class="quiet">
        Began {beganAt} · {plural(steps.length, "step")}
        {!isComplete && " · it has no end: the process ended first"}
        {dropped > 0 && ` · ${plural(dropped, "line")} left out`}
      </p>
      {bars.length > 0 && (
        <Timeline rows={bars.map(rowOf)} beganAt={0} endedAt={0} label={plural(bars.length, "step")} />
      )}
      <ol class="steps">
        {steps.slice(0, limit).map((step, at) => (
          <Step key={at} step={step} />
        ))}
      </ol>
      {limit < steps.length && (
        <button type="button" onClick={() => show(limit + pageSize)}>
          Show {Math.min(pageSize, steps.length - limit)} more
        </button>
      )}
    </section>
  );
}

function Step({ step: { at, depth, what, about, durationMs, error, lines } }: { readonly step: TapedStep }) {
  const [isOpen, open] = useState(false);
  return (
    <li style={{ marginInlineStart: `${depth * 1.5}rem` }}>
      <details onToggle={({ currentTarget }) => open(currentTarget.open)}>
        <summary class="breaks">
          <span class="quiet">{(at / 1_000).toFixed(3)} s</span> <strong>{what}</strong> {about}
          {durationMs !== undefined && <span class="quiet"> {duration(durationMs)}</span>}{" "}
          {error !== undefined && <Badge tone="bad">failed</Badge>}
        </summary>
        {error !== undefined && <p class="problem">{error}</p>}
        {isOpen && (
          <Code text={lines.map((line) => JSON.stringify(line, undefined, 2)).join("\n")} label="Lines of the tape" />
        )}
      </details>
    </li>
  );
}

function rowOf({ what, about, at, durationMs = 0, error }: TapedStep): TimelineRow {
  const kind = error !== undefined ? "failed" : what === "model" ? "model" : "tool";
  return { name: about, kind, startedAt: at, durationMs };
}
