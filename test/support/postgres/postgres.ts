import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** A server of PostgreSQL that tests may stop and start. */
export interface PostgresServer extends AsyncDisposable {
  readonly connectionString: string;
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** Starts one; it ends with this process at the latest. */
export async function startPostgres(): Promise<PostgresServer> {
  const child = fork(fileURLToPath(new URL("server.ts", import.meta.url)), { execArgv: [], stdio: "ignore" });
  const answer = async (): Promise<Record<string, string>> => {
    const ended = once(child, "exit").then(([code]) => ({ failed: `the server's process ended with ${code}` }));
    const [message] = await Promise.race([once(child, "message"), ended.then((failed) => [failed])]);
    if (message.failed !== undefined) throw new Error(`PostgreSQL: ${message.failed}`);
    return message;
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
      const ended = once(child, "exit");
      child.disconnect();
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
