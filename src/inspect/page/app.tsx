import { useEffect, useState } from "preact/hooks";
import type { InspectionStatus } from "../inspection-face.ts";
import { ApprovalsView } from "./approvals-view.tsx";
import { CatalogueView } from "./catalogue-view.tsx";
import { approvalTypes, namespaceTypes, read, useReached, useRead } from "./client.ts";
import { ContractsView } from "./contracts-view.tsx";
import { EventsView } from "./events-view.tsx";
import { NamespacesView } from "./namespaces-view.tsx";
import { Problem } from "./parts.tsx";
import { RunsView } from "./runs-view.tsx";
import { TapeView } from "./tape-view.tsx";

/** The place in the page: `#/view/part/part`. */
interface Place {
  readonly view: string;
  readonly parts: readonly string[];
}

const views = [
  ["namespaces", "Namespaces"],
  ["catalogue", "Catalogue"],
  ["prompts", "Prompts"],
  ["approvals", "Approvals"],
  ["runs", "Runs"],
  ["contracts", "Contracts"],
  ["events", "Events"],
  ["tape", "Tape"],
] as const;

function placeNow(): Place {
  const [view = "", ...parts] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
  return { view: view === "" ? "namespaces" : view, parts };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The whole page. */
export function App() {
  const [{ view, parts }, go] = useState(placeNow);
  useEffect(() => {
    const move = () => go(placeNow());
    addEventListener("hashchange", move);
    return () => removeEventListener("hashchange", move);
  }, []);
  const isReached = useReached();
  const types = [...namespaceTypes, ...approvalTypes, "contractChanged"];
  const status = useRead("status", () => read<InspectionStatus>("status"), types);
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to the content
      </button>
      <Navigation view={view} status={status.value} />
      <main id="main" tabIndex={-1}>
        {!isReached && (
          <p class="problem" role="alert">
            The service is not reached. The page goes on when it is.
          </p>
        )}
        <Problem error={status.error} />
        <View view={view} parts={parts} status={status.value} reload={status.reload} />
      </main>
    </>
  );
}

interface ViewProps extends Place {
  readonly status: InspectionStatus | undefined;
  readonly reload: () => void;
}

function View({ view, parts, status, reload }: ViewProps) {
  const isOperator = status?.isOperator ?? false;
  const [first, second] = parts;
  switch (view) {
    case "catalogue":
      return <CatalogueView key="catalogue" place="catalogue" kind={first} item={second} />;
    case "prompts":
      return <CatalogueView key="prompts" place="prompts" kind={first} item={second} />;
    case "approvals":
      return <ApprovalsView isOperator={isOperator} />;
    case "runs":
      return <RunsView chosen={first} />;
    case "contracts":
      return <ContractsView isOperator={isOperator} reload={reload} />;
    case "events":
      return <EventsView />;
    case "tape":
      return <TapeView />;
    default:
      return <NamespacesView status={status} />;
  }
}

function Navigation({ view, status }: { readonly view: string; readonly status: InspectionStatus | undefined }) {
  const counts: Readonly<Record<string, number | undefined>> = {
    approvals: status?.pendingApprovals,
    contracts: status?.changedContracts,
  };
  return (
    <nav aria-label="Views">
      <p class="brand">Toolweave</p>
      <ul>
        {views.map(([name, label]) => (
          <li key={name}>
            <a href={`#/${name}`} aria-current={name === view ? "page" : undefined}>
              {label}
              {(counts[name] ?? 0) > 0 && <span class="count">{counts[name]}</span>}
            </a>
          </li>
        ))}
      </ul>
      {status !== undefined && (
        <p class="health" role="status">
          <span class={status.health === "ok" ? "dot good" : "dot bad"} aria-hidden="true" />
          {status.health === "ok" ? "Everything is connected" : "Something is not connected"}
        </p>
      )}
    </nav>
  );
}
