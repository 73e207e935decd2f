import { useState } from "preact/hooks";
import type { ContractChange } from "../../core/pin.ts";
import type { ShownError, ShownPin } from "../inspection-face.ts";
import { act, errorOf, namespaceTypes, read, useRead } from "./client.ts";
import { Badge, Code, Heading, Problem } from "./parts.tsx";

interface ContractsProps {
  readonly isOperator: boolean;
  /** Reads the counts of the navigation again. */
  readonly reload: () => void;
}

/** The contracts that changed since they were accepted, with what changed. */
export function ContractsView({ isOperator, reload }: ContractsProps) {
  const pins = useRead("pins", () => read<readonly ShownPin[]>("pins"), [...namespaceTypes, "contractChanged"]);
  const [error, report] = useState<ShownError | undefined>(undefined);
  const accept = async ({ ref, version }: ShownPin) => {
    report(undefined);
    await act("accept", { ref, version }).catch((thrown: unknown) => report(errorOf(thrown)));
    pins.reload();
    reload();
  };
  return (
    <>
      <Heading text="Contracts" />
      <Problem error={error ?? pins.error} />
      {pins.value?.length === 0 && <p>No contract of a pinned connector has changed.</p>}
      {(pins.value ?? []).map((pin) => (
        <section key={`${pin.kind} ${pin.ref}`} class="card" aria-label={pin.ref}>
          <h2 class="breaks">
            {pin.ref} <Badge tone={pin.state === "quarantined" ? "bad" : "busy"}>{pin.state}</Badge>
            {isOperator && (
              <button type="button" class="right" onClick={() => void accept(pin)}>
                Accept <span class="hidden">{pin.ref}</span>
              </button>
            )}
          </h2>
          {pin.changes.map((change) => (
            <Change key={`${change.what} ${change.pointer}`} change={change} />
          ))}
        </section>
      ))}
    </>
  );
}

function Change({ change: { message, before, after, what, effect } }: { readonly change: ContractChange }) {
  return (
    <div class="change">
      <p>
        {message} {effect !== undefined && <Badge tone={effect === "wider" ? "plain" : "busy"}>{effect}</Badge>}
      </p>
      <div class="columns">
        {before !== undefined && (
          <div class="before">
            <h3>Accepted</h3>
            <Code text={before} label={`Accepted ${what}`} />
          </div>
        )}
        {after !== undefined && (
          <div class="after">
            <h3>Now</h3>
            <Code text={after} label={`${what} now`} />
          </div>
        )}
      </div>
    </div>
  );
}
