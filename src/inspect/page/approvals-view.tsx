import { useState } from "preact/hooks";
import type { ShownApproval, ShownError } from "../inspection-face.ts";
import { act, approvalTypes, errorOf, read, useRead } from "./client.ts";
import { Badge, Heading, Json, Problem, Time, type Tone } from "./parts.tsx";
import { ContentView } from "./result-view.tsx";

const tones: Readonly<Record<ShownApproval["status"], Tone>> = {
  pending: "busy",
  running: "busy",
  succeeded: "good",
  failed: "bad",
  denied: "bad",
  expired: "plain",
  void: "plain",
};

/** The calls that wait for an approval, and those that have waited. */
export function ApprovalsView({ isOperator }: { readonly isOperator: boolean }) {
  const {
    value = [],
    error,
    reload,
  } = useRead("approvals", () => read<readonly ShownApproval[]>("approvals"), approvalTypes);
  const waiting = value.filter(({ status }) => status === "pending");
  const decided = value.filter(({ status }) => status !== "pending");
  return (
    <>
      <Heading text="Approvals" />
      <Problem error={error} />
      {waiting.length === 0 && <p>No call waits.</p>}
      {waiting.map((approval) => (
        <Waiting key={approval.id} approval={approval} isOperator={isOperator} onDecided={reload} />
      ))}
      {decided.length > 0 && <h2>Decided</h2>}
      {decided.map((approval) => (
        <Decided key={approval.id} approval={approval} />
      ))}
    </>
  );
}

interface WaitingProps {
  readonly approval: ShownApproval;
  readonly isOperator: boolean;
  onDecided(): void;
}

function Waiting({ approval, isOperator, onDecided }: WaitingProps) {
  const { id, tool, kind, message, requestedAt, expiresAt, principal } = approval;
  const [reason, explain] = useState("");
  const [isBusy, wait] = useState(false);
  const [error, report] = useState<ShownError | undefined>(undefined);
  const decide = async (approved: boolean) => {
    wait(true);
    report(undefined);
    await act("decide", { id, approved, ...(reason === "" ? {} : { reason }) }).catch((thrown: unknown) =>
      report(errorOf(thrown)),
    );
    wait(false);
    onDecided();
  };
  return (
    <section class="card" aria-label={`${tool} waits`}>
      <h2 class="breaks">{tool}</h2>
      <p class="lines">{message}</p>
      <Json value={approval.arguments} label={`Arguments of ${tool}`} />
      <p class="quiet">
        {principal !== undefined && `For ${principal}. `}Asked at <Time at={requestedAt} />, until{" "}
        <Time at={expiresAt} />
      </p>
      <Problem error={error} />
      {isOperator && (
        <form
          class="actions"
          onSubmit={(event) => {
            event.preventDefault();
            void decide(kind === "approval");
          }}
        >
          <label>
            Reason
            <input type="text" value={reason} onInput={({ currentTarget }) => explain(currentTarget.value)} />
          </label>
          {kind === "approval" && (
            <button type="submit" class="main" disabled={isBusy}>
              Approve <span class="hidden">{tool}</span>
            </button>
          )}
          <button type="button" disabled={isBusy} onClick={() => void decide(false)}>
            {kind === "approval" ? "Deny" : "Give up"} <span class="hidden">{tool}</span>
          </button>
        </form>
      )}
    </section>
  );
}

function Decided({ approval }: { readonly approval: ShownApproval }) {
  const { tool, status, requestedAt, principal, decidedBy, decisionReason, result, error } = approval;
  return (
    <details class="card">
      <summary>
        {tool} <Badge tone={tones[status]}>{status}</Badge> <Time at={requestedAt} />
      </summary>
      <p class="quiet">
        {principal !== undefined && `For ${principal}. `}
        {decidedBy !== undefined && `Decided by ${decidedBy}. `}
        {decisionReason}
      </p>
      <Json value={approval.arguments} label={`Arguments of ${tool}`} />
      {result !== undefined && <ContentView content={result.content} cutFrom={result.cutFrom} />}
      {error !== undefined && (
        <p class="problem">
          {error.code} {error.message}
        </p>
      )}
    </details>
  );
}
