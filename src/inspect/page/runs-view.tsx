import type { TokenUsage } from "../../core/agent-event.ts";
import type { RunCall, RunStep, ShownRun } from "../inspection-face.ts";
import { read, useRead } from "./client.ts";
import { Badge, duration, Heading, Problem, plural, TableHead, Time, type Tone } from "./parts.tsx";
import { Timeline, type TimelineRow } from "./timeline.tsx";

const tones: Readonly<Record<ShownRun["status"], Tone>> = {
  running: "busy",
  waiting: "busy",
  finished: "good",
  failed: "bad",
};
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
              <span class="ref">{each.ref}</span> <Badge tone={tones[each.status]}>{each.status}</Badge>
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
  const rows = [...run.steps.map(stepRow), ...run.calls.map((call) => callRow(call, run.lastAt))];
  return (
    <section class="card" aria-label={`Run of ${run.ref}`}>
      <h2>{run.ref}</h2>
      <Timeline
        rows={rows}
        beganAt={run.startedAt}
        endedAt={run.lastAt}
        label={`${plural(run.steps.length, "step")} and ${plural(run.calls.length, "tool call")}`}
      />
      <table>
        <caption>Steps</caption>
        <TableHead columns={["Step", "Model", "Ended with", "Input tokens", "Output tokens", "Cost", "Time"]} />
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
      <TableHead columns={["Step", "Tool", "Outcome", "Time"]} />
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

function stepRow({ step, model, startedAt, durationMs }: RunStep): TimelineRow {
  return { name: `${step + 1}. ${model}`, kind: "model", startedAt, durationMs };
}

function callRow({ name, startedAt, durationMs, status }: RunCall, lastAt: number): TimelineRow {
  const kind = status === "ok" || status === "running" ? "tool" : "failed";
  return { name, kind, startedAt, durationMs: durationMs ?? Math.max(0, lastAt - startedAt) };
}
