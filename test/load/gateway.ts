import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { GatewayUse } from "./gateway-program.ts";
import type { Upstream } from "./traffic.ts";

/** A served Toolkit in a process of its own. */
export interface Gateway extends AsyncDisposable {
  readonly url: URL;
  /** @param isExact - with garbage collected first, which stops it for a while */
  use(isExact: boolean): Promise<GatewayUse>;
}

/** @throws Error where it ends before it serves */
export async function startGateway(upstreams: readonly Upstream[]): Promise<Gateway> {
  const program = fileURLToPath(new URL("gateway-program.ts", import.meta.url));
  const child = fork(program, [], { execArgv: ["--expose-gc"] });
  const exited = once(child, "exit");
  const next = async <T>(message: object): Promise<T> => {
    const answered = once(child, "message");
    child.send(message);
    const ended = exited.then(([code]) => Promise.reject(new Error(`The gateway ended with ${code}.`)));
    const [answer] = await Promise.race([answered, ended]);
    return answer as T;
  };
  const { port } = await next<{ readonly port: number }>({ upstreams });
  return {
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    use: (isExact) => next<GatewayUse>({ isExact }),
    async [Symbol.asyncDispose]() {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}
