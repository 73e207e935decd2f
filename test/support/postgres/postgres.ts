import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** A server of PostgreSQL that tests may stop and start. */
export interface PostgresServer extends AsyncDisposable {
  readonly connectionString: string;
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** The message of the process: the way to connect once it is up, or the failure. */
interface Answer {
  readonly connectionString?: string;
  readonly failed?: string;
}

/**
 * Starts one; it ends with this process at the latest.
 *
 * @param options - `durable`: it writes what is committed to the disk, as one in production does, and not when there is time
 */
export async function startPostgres(options: { readonly durable?: boolean } = {}): Promise<PostgresServer> {
  const args = options.durable === true ? ["durable"] : [];
  const program = fileURLToPath(new URL("server.ts", import.meta.url));
  const child = fork(program, args, { execArgv: [], stdio: "ignore" });
  const ended = once(child, "exit");
  const died = ended.then(([code]): never => {
    throw new Error(`The process of PostgreSQL ended with ${code}.`);
  });
  died.catch(() => undefined);
  const answer = async (): Promise<Answer> => {
    const given = Promise.withResolvers<Answer>();
    child.once("message", (message) => given.resolve(message as Answer));
    const message = await Promise.race([given.promise, died]);
    if (message.failed === undefined) return message;
    child.disconnect();
    await ended;
    const instead = "Tests that stop no server can use yours: name it in TOOLWEAVE_POSTGRES_URL.";
    throw new Error(`PostgreSQL cannot be run here: ${message.failed}\n${instead}`);
  };
  const order = async (what: "start" | "stop") => {
    child.send(what);
    await answer();
  };
  const { connectionString = "" } = await answer();
  return {
    connectionString,
    stop: () => order("stop"),
    start: () => order("start"),
    async [Symbol.asyncDispose]() {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}

/** A server for tests that only use it: the one that TOOLWEAVE_POSTGRES_URL names, else one of its own. */
export async function anyPostgres(): Promise<AsyncDisposable & { readonly connectionString: string }> {
  const connectionString = process.env.TOOLWEAVE_POSTGRES_URL;
  if (connectionString === undefined) return startPostgres();
  return { connectionString, [Symbol.asyncDispose]: async () => undefined };
}
