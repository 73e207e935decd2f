import { useMemo, useState } from "preact/hooks";
import type { ShownEvent } from "../inspection-face.ts";
import { useLive } from "./client.ts";
import { Badge, Heading, plural, TableHead, Time } from "./parts.tsx";

const maxRows = 200;

/** The latest events, the newest first. */
export function EventsView() {
  const { events } = useLive();
  const [words, search] = useState("");
  const [onlyProblems, choose] = useState(false);
  const [paused, pause] = useState<readonly ShownEvent[] | undefined>(undefined);
  const all = paused ?? events;
  const shown = useMemo(() => {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    return all
      .filter(({ type, about, text, isProblem }) => {
        const whole = `${type} ${about} ${text}`.toLowerCase();
        return (isProblem || !onlyProblems) && wanted.every((word) => whole.includes(word));
      })
      .slice(-maxRows)
      .reverse();
  }, [all, words, onlyProblems]);
  return (
    <>
      <Heading text="Events" />
      <search class="filters">
        <label>
          Search
          <input type="search" value={words} onInput={({ currentTarget }) => search(currentTarget.value)} />
        </label>
        <label class="inline">
          <input type="checkbox" checked={onlyProblems} onChange={() => choose(!onlyProblems)} />
          Problems only
        </label>
        <button
          type="button"
          aria-pressed={paused !== undefined}
          onClick={() => pause(paused === undefined ? events : undefined)}
        >
          {paused === undefined ? "Pause" : "Go on"}
        </button>
      </search>
      <p class="quiet">{plural(shown.length, "event")}</p>
      <Rows events={shown} />
    </>
  );
}

function Rows({ events }: { readonly events: readonly ShownEvent[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached with the keyboard
    // biome-ignore lint/a11y/useSemanticElements: it is no section of the page
    <div class="scrolls" tabIndex={0} role="region" aria-label="Latest events">
      <table>
        <TableHead columns={["Time", "Event", "About", "Details"]} />
        <tbody>
          {events.map(({ id, at, type, about, text, isProblem }) => (
            <tr key={id}>
              <td>
                <Time at={at} />
              </td>
              <td>{isProblem ? <Badge tone="bad">{type}</Badge> : type}</td>
              <td class="breaks">{about}</td>
              <td class="breaks">{text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
