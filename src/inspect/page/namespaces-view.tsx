import { useState } from "preact/hooks";
import type { InspectionStatus, NamespaceStatus, ShownError } from "../inspection-face.ts";
import { act, errorOf } from "./client.ts";
import { Badge, Code, duration, Heading, Problem, plural, Time, type Tone } from "./parts.tsx";

const tones: Readonly<Record<NamespaceStatus["state"], Tone>> = {
  local: "plain",
  idle: "plain",
  connecting: "busy",
  connected: "good",
  waiting: "bad",
  stopped: "bad",
};

/** The namespaces with the state of their connectors. */
export function NamespacesView({ status }: { readonly status: InspectionStatus | undefined }) {
  const [error, report] = useState<ShownError | undefined>(undefined);
  const reconnect = (namespace: string) => {
    report(undefined);
    act("reconnect", { namespace }).catch((thrown: unknown) => report(errorOf(thrown)));
  };
  const namespaces = status?.namespaces ?? [];
  return (
    <>
      <Heading text="Namespaces" />
      <Problem error={error} />
      {status !== undefined && namespaces.length === 0 && <p>There is nothing to show yet.</p>}
      {namespaces.map((namespace) => (
        <Namespace
          key={namespace.namespace}
          of={namespace}
          onReconnect={status?.isOperator === true && namespace.state !== "local" ? reconnect : undefined}
        />
      ))}
    </>
  );
}

interface NamespaceProps {
  readonly of: NamespaceStatus;
  readonly onReconnect: ((namespace: string) => void) | undefined;
}

function Namespace({ of, onReconnect }: NamespaceProps) {
  const { namespace, state, counts, since, label, lastError, warnings = [], stderr } = of;
  const items = [
    plural(counts.tool, "tool"),
    plural(counts.prompt, "prompt"),
    plural(counts.resource + counts.template, "resource"),
  ];
  return (
    <section class="card" aria-label={namespace}>
      <h2>
        {namespace} <Badge tone={tones[state]}>{state}</Badge>
        {of.trust === "untrusted" && <Badge tone="plain">untrusted</Badge>}
        {onReconnect !== undefined && (
          <button type="button" class="right" onClick={() => onReconnect(namespace)}>
            Reconnect <span class="hidden">{namespace}</span>
          </button>
        )}
      </h2>
      {label !== undefined && <p class="quiet breaks">{label}</p>}
      <p>
        {items.join(", ")}
        {since !== undefined && (
          <>
            {" · "}
            {state} since <Time at={since} />
          </>
        )}
        {of.latencyMs !== undefined && ` · ${duration(of.latencyMs)} latency`}
        {(of.callsInFlight ?? 0) > 0 && ` · ${plural(of.callsInFlight ?? 0, "call")} in flight`}
        {of.server !== undefined && ` · ${of.server}`}
        {of.protocolVersion !== undefined && ` · MCP ${of.protocolVersion}`}
        {of.transport !== undefined && ` · ${of.transport}`}
      </p>
      {lastError !== undefined && (
        <p class={state === "connected" ? "quiet breaks" : "problem breaks"}>
          {state === "connected" ? "Last error: " : ""}
          {lastError}
          {of.nextAttemptAt !== undefined && (
            <>
              {" It is tried again at "}
              <Time at={of.nextAttemptAt} />.
            </>
          )}
        </p>
      )}
      {warnings.length > 0 && (
        <ul class="warnings">
          {warnings.map((warning) => (
            <li key={warning}>{warning}</li>
          ))}
        </ul>
      )}
      {stderr !== undefined && (
        <details>
          <summary>Its output</summary>
          <Code text={stderr} label={`Output of ${namespace}`} />
        </details>
      )}
    </section>
  );
}
