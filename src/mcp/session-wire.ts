import type { Kind } from "../core/item.ts";
import { isRecord } from "../lib/value.ts";
import type { Peer } from "./rpc/peer.ts";
import type { RequestOptions } from "./rpc/request-options.ts";
import type { Transport } from "./transport/transport.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The requests of a session, in the form of the revision that both sides speak. */
export interface SessionWire {
  /** Sends a request and gives its result. @throws as `Peer.request` */
  request(method: string, params: Fields | undefined, options: RequestOptions): Promise<unknown>;
  /** Asks for a sign of life: any answer is one, even an error. */
  ping(options: RequestOptions): Promise<unknown>;
  /** Begins or ends a subscription to the changes of a resource. @throws as `request` */
  follow(uri: string, isWanted: boolean, options: RequestOptions): Promise<unknown>;
  /** True where changes of the list of a kind are announced now. */
  announces(kind: Kind): boolean;
  /** Resolves when what no request asked for can arrive, or never will: lists are read meanwhile, and given then. Missing, it is so. */
  readonly opening?: Promise<void> | undefined;
  /** True for the revision without sessions, where `structuredContent` may be `null`, and log messages belong to a request. */
  readonly isModern: boolean;
  /** Takes note of an entry of a list. Gives the reason, where the specification wants it left out. */
  entryFault?(kind: Kind, entry: Fields): string | undefined;
  /** Ends the work for the session, requests apart. */
  end?(): void;
}

/** The capability of each kind. */
export const capabilityOf = {
  tool: "tools",
  prompt: "prompts",
  resource: "resources",
  template: "resources",
} as const satisfies Record<Kind, string>;

/** True where a server says that it announces changes of the list of a kind. */
export function declaresChanges(capabilities: Fields, kind: Kind): boolean {
  const capability = capabilities[capabilityOf[kind]];
  return isRecord(capability) && capability.listChanged === true;
}

/** True where a server says that it sends something on its own from the beginning: changes of a list, or log messages. */
export function declaresNotifications(capabilities: Fields): boolean {
  return (
    isRecord(capabilities.logging) ||
    (Object.keys(capabilityOf) as Kind[]).some((kind) => declaresChanges(capabilities, kind))
  );
}

/** The wire of the revisions with sessions: requests go as they are, and notifications come by themselves. */
export class HandshakeWire implements SessionWire {
  readonly isModern = false;
  readonly opening: Promise<void> | undefined;
  readonly #peer: Peer;
  readonly #transport: Transport;
  readonly #capabilities: Fields;

  constructor(peer: Peer, transport: Transport, capabilities: Fields, opening?: Promise<void>) {
    this.opening = opening;
    this.#peer = peer;
    this.#transport = transport;
    this.#capabilities = capabilities;
  }

  request(method: string, params: Fields | undefined, options: RequestOptions): Promise<unknown> {
    return this.#peer.request(method, params, options);
  }

  ping(options: RequestOptions): Promise<unknown> {
    return this.#peer.request("ping", undefined, options);
  }

  follow(uri: string, isWanted: boolean, options: RequestOptions): Promise<unknown> {
    return this.#peer.request(isWanted ? "resources/subscribe" : "resources/unsubscribe", { uri }, options);
  }

  /** Over HTTP a server can lose the stream of its notifications. */
  announces(kind: Kind): boolean {
    return this.#transport.hasNotifications !== false && declaresChanges(this.#capabilities, kind);
  }
}
