import type { Connection } from "../../src/core/connection.ts";
import type { Connector } from "../../src/core/connector.ts";
import type { ConnectorTarget } from "../../src/core/target.ts";
import type { PlannedTrouble } from "./plan.ts";
import type { Place } from "./trouble.ts";

/** The expected content of a catalogue, each list sorted. */
export interface Offers {
  readonly tools: readonly string[];
  readonly prompts: readonly string[];
  readonly resources: readonly string[];
}

/** A trouble that has begun. */
export interface RunningTrouble {
  /** Resolves when it has happened, which some do only once they are called. */
  readonly happened: Promise<void>;
  /** Ends it; resolves when the server would be well again for who connects now. */
  end(): Promise<void>;
}

/** A server of the soak. Disposed of, it is gone. */
export interface SoakServer extends AsyncDisposable {
  readonly name: string;
  readonly place: Place;
  readonly target: ConnectorTarget | Connector;
  /** The items it offers now; undefined where they are those it offered first. */
  offers(): Offers | undefined;
  begin(planned: PlannedTrouble, connection: Connection): Promise<RunningTrouble>;
  /** Says to those who subscribed that its memo changed, and how many they are; undefined where it cannot. */
  readonly touch?: () => number;
  /** The work it has running, each in a few words. */
  readonly running: () => readonly string[];
}

/** Sends a signal to a process, if it is still there. */
export function signalProcess(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}
