import type { TokenUsage } from "../../core/agent-event.ts";
import type { RunCall, RunStep, ShownRun } from "../inspection-face.ts";
import { read, useRead } from "./client.ts";
import { Badge, duration, Heading, Problem, plural, Time } from "./parts.tsx";

const runTypes = ["agentStep", "callStarted", "callFinished"];

/** The runs of agents, and the steps of the one that is open. */
export function RunsView({ chosen }: { readonly chosen: string | undefined }) {
  const { value, error } = useRead("runs", () => read<readonly ShownRun[]>("runs"), runTypes);
  const run = value?.find((each) => each.run === chosen);
  return (
    <>
      <Heading text="Runs" />
      <Problem error={error} />
      {value?.length === 0 && <p>No agent has run since the page was started.</p>}
      <ul class="items">
        {(value ?? []).map((each) => (
          <li key={each.run}>
            <a href={`#/runs/${encodeURIComponent(each.run)}`} aria-current={each.run === chosen ? "true" : undefined}>
              <span class="ref">{each.ref}</span>{" "}
              <Badge tone={each.isFinished ? "good" : "busy"}>{each.isFinished ? "finished" : "running"}</Badge>
              <span class="about">
                <Time at={each.startedAt} /> · {plural(each.steps.length, "step")} ·{" "}
                {duration(each.lastAt - each.startedAt)} · {usageText(each.usage)}
                {each.principal !== undefined && ` · for ${each.principal}`}
              </span>
            </a>
          </li>
        ))}
      </ul>
      {run !== undefined && <Run run={run} />}
    </>
  );
}

function usageText({ inputTokens, outputTokens, cost }: TokenUsage): string {
  const tokens = plural(inputTokens + outputTokens, "token");
  return cost === undefined ? tokens : `${tokens} · cost ${cost.toFixed(4)}`;
}

function Run({ run }: { readonly run: ShownRun }) {
  return (
    <section class="card" aria-label={`Run of ${run.ref}`}>
      <h2>{run.ref}</h2>
      <Timeline run={run} />
      <table>
        <caption>Steps</caption>
        <thead>
          <tr>
            {["Step", "Model", "Ended with", "Input tokens", "Output tokens", "Cost", "Time"].map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {run.steps.map(({ step, provider, model, finishReason, usage, durationMs }) => (
            <tr key={step}>
              <td>{step + 1}</td>
              <td>
                {provider}/{model}
              </td>
              <td>{finishReason}</td>
              <td>{usage.inputTokens}</td>
              <td>{usage.outputTokens}</td>
              <td>{usage.cost?.toFixed(4) ?? ""}</td>
              <td>{duration(durationMs)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {run.calls.length > 0 && <Calls calls={run.calls} />}
    </section>
  );
}

function Calls({ calls }: { readonly calls: readonly RunCall[] }) {
  return (
    <table>
      <caption>Tool calls</caption>
      <thead>
        <tr>
          {["Step", "Tool", "Outcome", "Time"].map((column) => (
            <th key={column} scope="col">
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {calls.map(({ id, step, name, status, durationMs }) => (
          <tr key={id}>
            <td>{step + 1}</td>
            <td>{name}</td>
            <td>
              <Badge tone={status === "ok" ? "good" : status === "running" ? "busy" : "bad"}>{status}</Badge>
            </td>
            <td>{durationMs === undefined ? "" : duration(durationMs)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const width = 800;
const nameWidth = 180;
const rowHeight = 22;
const barHeight = 14;

/** The run as a picture: a row for each model and each tool call, from left to right in time. */
function Timeline({ run }: { readonly run: ShownRun }) {
  const rows = [...run.steps.map(stepRow), ...run.calls.map((call) => callRow(call, run.lastAt))].toSorted(
    (one, other) => one.startedAt - other.startedAt,
  );
  const end = Math.max(run.lastAt, ...rows.map(({ startedAt, durationMs }) => startedAt + durationMs));
  const scale = (width - nameWidth - 10) / Math.max(1, end - run.startedAt);
  const height = rows.length * rowHeight + 24;
  const label = `Timeline of ${plural(run.steps.length, "step")} and ${plural(run.calls.length, "tool call")} in ${duration(end - run.startedAt)}`;
  return (
    <svg class="timeline" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      {rows.map(({ name, kind, startedAt, durationMs }, at) => (
        <g key={at} transform={`translate(0 ${at * rowHeight})`}>
          <text x={nameWidth - 8} y={barHeight} text-anchor="end">
            {name.length > 26 ? `${name.slice(0, 25)}…` : name}
          </text>
          <rect
            class={kind}
            x={nameWidth + (startedAt - run.startedAt) * scale}
            y={2}
            width={Math.max(2, durationMs * scale)}
            height={barHeight}
            rx={2}
          >
            <title>
              {name}: {duration(durationMs)}
            </title>
          </rect>
        </g>
      ))}
      <text x={nameWidth} y={height - 4}>
        0
      </text>
      <text x={width - 8} y={height - 4} text-anchor="end">
        {duration(end - run.startedAt)}
      </text>
    </svg>
  );
}

function stepRow({ step, model, startedAt, durationMs }: RunStep) {
  return { name: `${step + 1}. ${model}`, kind: "model", startedAt, durationMs };
}

function callRow({ name, startedAt, durationMs, status }: RunCall, lastAt: number) {
  const kind = status === "ok" || status === "running" ? "tool" : "failed";
  return { name, kind, startedAt, durationMs: durationMs ?? Math.max(0, lastAt - startedAt) };
}
