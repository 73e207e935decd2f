import { duration } from "./parts.tsx";

/** A row of a timeline. */
export interface TimelineRow {
  readonly name: string;
  readonly kind: "model" | "tool" | "failed";
  readonly startedAt: number;
  readonly durationMs: number;
}

interface TimelineProps {
  readonly rows: readonly TimelineRow[];
  readonly beganAt: number;
  readonly endedAt: number;
  /** The number of its rows, in words. */
  readonly label: string;
}

const width = 800;
const nameWidth = 180;
const rowHeight = 22;
const barHeight = 14;
const maxName = 26;

/** Times as a picture: a row for each model and each call, from left to right in time. */
export function Timeline({ rows, beganAt, endedAt, label }: TimelineProps) {
  const end = Math.max(endedAt, ...rows.map(({ startedAt, durationMs }) => startedAt + durationMs));
  const scale = (width - nameWidth - 10) / Math.max(1, end - beganAt);
  const height = rows.length * rowHeight + 24;
  const whole = duration(end - beganAt);
  const sorted = rows.toSorted((one, other) => one.startedAt - other.startedAt);
  return (
    <svg class="timeline" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`Timeline of ${label} in ${whole}`}>
      {sorted.map(({ name, kind, startedAt, durationMs }, at) => (
        <g key={at} transform={`translate(0 ${at * rowHeight})`}>
          <text x={nameWidth - 8} y={barHeight} text-anchor="end">
            {name.length > maxName ? `${name.slice(0, maxName - 1)}…` : name}
          </text>
          <rect
            class={kind}
            x={nameWidth + (startedAt - beganAt) * scale}
            y={2}
            width={Math.max(2, durationMs * scale)}
            height={barHeight}
            rx={2}
          >
            <title>{`${name}: ${duration(durationMs)}`}</title>
          </rect>
        </g>
      ))}
      <text x={nameWidth} y={height - 4}>
        0
      </text>
      <text x={width - 8} y={height - 4} text-anchor="end">
        {whole}
      </text>
    </svg>
  );
}
