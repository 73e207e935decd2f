import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Child } from "../../support/child.ts";
import { until } from "../../support/until.ts";

/** Where the services of a test keep what they share. */
export interface SharedPlace {
  /** A file, or a URL. */
  readonly where: string;
  /** Empty for a file. */
  readonly schema: string;
}

/** A service of its own process. */
export interface Service {
  /** Its answer to a command. */
  do(command: string): Promise<string>;
  kill(): Promise<void>;
}

/** Processes that share a store and a journal, all of them gone after the test. */
export interface Services extends AsyncDisposable {
  /** @param hangs - the tool, or `model`, at which it stops for good */
  start(hangs?: string): Promise<Service>;
  /** The tools that ran, in all of them. */
  journal(): Promise<readonly string[]>;
  /** Resolves when something has been done so often. */
  ran(what: string, times?: number): Promise<void>;
}

/**
 * @param place - default: a SQLite file in the folder of the test
 * @param service - the file that each process runs
 */
export async function services(
  place?: SharedPlace,
  service = new URL("service.ts", import.meta.url),
): Promise<Services> {
  const folder = await mkdtemp(join(tmpdir(), "toolweave-runs-"));
  const children: Child[] = [];
  const file = join(folder, "journal");
  const { where, schema } = place ?? { where: join(folder, "store.db"), schema: "" };
  const journal = async () => (await readFile(file, "utf8").catch(() => "")).split("\n").slice(0, -1);
  return {
    journal,
    async start(hangs = "") {
      const child = new Child(service, where, schema, file, hangs);
      children.push(child);
      await child.said("ready");
      let count = 0;
      return {
        async do(command) {
          const number = `${++count}`;
          child.tell(`${number} ${command}`);
          return (await child.said(`${number} `)).slice(number.length + 1);
        },
        kill: () => child.kill(),
      };
    },
    async ran(what, times = 1) {
      // It answers nothing where it hangs: the journal is all there is to see.
      await until(async () => (await journal()).filter((line) => line === what).length >= times, 60_000);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(children.map((child) => child.kill()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The runs that are suspended in a process that is killed then. */
export async function orphan(processes: Services, command: string): Promise<string> {
  const asker = await processes.start();
  const id = await asker.do(command);
  await asker.kill();
  return id;
}

/** The effects of the tools of all of them. */
export async function effects(processes: Services): Promise<readonly string[]> {
  return (await processes.journal()).filter((line) => !line.startsWith("seen"));
}
