import { Agent as HttpAgent } from "node:http";
import { type AgentOptions, Agent as HttpsAgent } from "node:https";

/** Whom to trust, and who we are: of the options of `tls.connect`. */
export type TlsOptions = Pick<
  AgentOptions,
  "ca" | "cert" | "key" | "passphrase" | "pfx" | "rejectUnauthorized" | "servername"
>;

/** Connections to servers, kept for the next request. */
export class Agents {
  readonly connectTimeoutMs: number;
  readonly #http: HttpAgent;
  readonly #https: HttpsAgent;

  constructor(options: {
    readonly idleMs?: number | undefined;
    readonly connectTimeoutMs?: number | undefined;
    readonly tls?: TlsOptions | undefined;
  }) {
    const { idleMs = 4_000, connectTimeoutMs = 10_000, tls } = options;
    this.connectTimeoutMs = connectTimeoutMs;
    // Node's fetch goes through a proxy where this is set; so do we.
    const proxyEnv = process.env.NODE_USE_ENV_PROXY === "1" ? process.env : undefined;
    // An agent ends what is unused for its `timeout`, and lets go of the process while it is.
    const kept = { keepAlive: true, timeout: idleMs, scheduling: "lifo", proxyEnv } as const;
    this.#http = new HttpAgent(kept);
    this.#https = new HttpsAgent({ ...kept, ...tls });
  }

  for({ protocol }: URL): HttpAgent | HttpsAgent {
    return protocol === "https:" ? this.#https : this.#http;
  }
}
