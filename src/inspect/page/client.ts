import { useEffect, useState } from "preact/hooks";
import type { EventBatch, ShownError, ShownEvent } from "../inspection-face.ts";

/** An error that the service answered, or the lack of an answer. */
class FaceError extends Error {
  readonly shown: ShownError;

  constructor(shown: ShownError) {
    super(shown.message);
    this.shown = shown;
  }
}

const gone: ShownError = { message: "The service does not answer. It is asked again until it does." };

async function answerOf<T>(request: Promise<Response>): Promise<T> {
  let answer: Response;
  try {
    answer = await request;
  } catch (error) {
    throw error instanceof DOMException ? error : new FaceError(gone);
  }
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new FaceError(body.error ?? { message: `The service answered ${answer.status}.` });
  return body;
}

/** Reads from the service. @param query - what is undefined or empty is left out */
export function read<T>(name: string, query: Readonly<Record<string, string | number | undefined>> = {}): Promise<T> {
  const given = Object.entries(query).flatMap(([key, value]) =>
    value === undefined || value === "" ? [] : [[key, String(value)]],
  );
  return answerOf<T>(fetch(`/api/${name}?${new URLSearchParams(given)}`));
}

/** Has the service do something. */
export function act<T>(name: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const headers = { "content-type": "application/json" };
  return answerOf<T>(
    fetch(`/api/${name}`, { method: "POST", headers, body: JSON.stringify(body), signal: signal ?? null }),
  );
}

/** The error of anything that was thrown. */
export function errorOf(thrown: unknown): ShownError {
  return thrown instanceof FaceError
    ? thrown.shown
    : { message: thrown instanceof Error ? thrown.message : "It failed." };
}

/** The events so far, and whether the service is reached. */
export interface Live {
  readonly events: readonly ShownEvent[];
  readonly isReached: boolean;
}

type BatchListener = (types: ReadonlySet<string> | undefined) => void;

const maxEvents = 500;
const listeners = new Set<BatchListener>();
const watchers = new Set<() => void>();
let live: Live = { events: [], isReached: true };
let current: string | undefined;

function update(next: Live): void {
  live = next;
  for (const watcher of watchers) watcher();
}

let source: EventSource | undefined;

/** Follows the events of the service while the page is seen: a browser has six connections to a host, for all its pages together. */
export function follow(): void {
  connect();
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) connect();
    else {
      source?.close();
      source = undefined;
    }
  });
}

function connect(): void {
  if (document.hidden || (source !== undefined && source.readyState !== EventSource.CLOSED)) return;
  source = new EventSource("/api/stream");
  source.onmessage = ({ data }) => receive(JSON.parse(data));
  source.onerror = () => {
    update({ ...live, isReached: false });
    // A browser gives up after an answer that is no stream.
    if (source?.readyState === EventSource.CLOSED) setTimeout(connect, 2_000);
  };
}

function receive(batch: EventBatch): void {
  const last = live.events.at(-1)?.id ?? 0;
  const isSame = batch.process === current;
  const wasReached = live.isReached && isSame;
  const fresh = isSame ? batch.events.filter(({ id }) => id > last) : batch.events;
  const hasGap = (fresh[0]?.id ?? last + 1) > last + 1;
  current = batch.process;
  update({ events: [...(isSame ? live.events : []), ...fresh].slice(-maxEvents), isReached: true });
  // After a gap anything may have changed.
  const types = wasReached && !hasGap ? new Set(fresh.map(({ type }) => type)) : undefined;
  for (const listener of listeners) listener(types);
}

/** The events so far, as they come. */
export function useLive(): Live {
  const [shown, show] = useState(live);
  useEffect(() => {
    const watcher = () => show(live);
    watchers.add(watcher);
    return () => void watchers.delete(watcher);
  }, []);
  return shown;
}

/** The outcome of a read that is repeated. */
export interface Loaded<T> {
  readonly value: T | undefined;
  readonly error: ShownError | undefined;
  readonly reload: () => void;
}

/** Whether the service is reached: unlike the events it rarely changes. */
export function useReached(): boolean {
  const [isReached, set] = useState(live.isReached);
  useEffect(() => {
    const watcher = () => set(live.isReached);
    watchers.add(watcher);
    return () => void watchers.delete(watcher);
  }, []);
  return isReached;
}

/** Time between two reads of the same, however many events there are. */
const restMs = 150;

/** Reads at once, when the key changes, and after each event of the types. One read is made at a time. */
export function useRead<T>(key: string, reading: () => Promise<T>, types: readonly string[]): Loaded<T> {
  const [state, set] = useState<Omit<Loaded<T>, "reload"> & { readonly key: string }>({
    key,
    value: undefined,
    error: undefined,
  });
  const [round, nextRound] = useState(0);
  useEffect(() => {
    let isOver = false;
    let isReading = false;
    let isStale = false;
    const load = async (): Promise<void> => {
      isStale = true;
      if (isReading) return;
      isReading = true;
      while (isStale && !isOver) {
        isStale = false;
        const next = await reading().then(
          (value) => ({ key, value, error: undefined }),
          (error: unknown) => ({ key, value: undefined, error: errorOf(error) }),
        );
        if (!isOver) set((before) => (next.error === undefined ? next : { ...next, value: before.value }));
        await new Promise((resolve) => setTimeout(resolve, restMs));
      }
      isReading = false;
    };
    const listener: BatchListener = (seen) => {
      if (seen === undefined || types.some((type) => seen.has(type))) void load();
    };
    listeners.add(listener);
    void load();
    return () => {
      isOver = true;
      listeners.delete(listener);
    };
    // The key says what is read.
  }, [key, round]);
  const { value, error } = state.key === key ? state : { value: undefined, error: undefined };
  return { value, error, reload: () => nextRound((count) => count + 1) };
}

/** Types of events after which the namespaces differ. */
export const listTypes = ["toolListChanged", "promptListChanged", "resourceListChanged"];
export const namespaceTypes = [
  ...listTypes,
  "connectorConnecting",
  "connectorConnected",
  "connectorDisconnected",
  "connectorRemoved",
];
export const approvalTypes = ["approvalRequested", "approvalResolved"];
