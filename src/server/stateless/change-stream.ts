import type { Kind } from "../../core/item.ts";
import type { Session } from "../../core/session.ts";
import { isRecord } from "../../lib/value.ts";
import type { RpcId } from "../../mcp/rpc/rpc-message.ts";
import type { Audience } from "../audiences.ts";
import { ChangeFeed, maxSubscriptions } from "../change-feed.ts";
import type { ReadServeOptions } from "../serve-options.ts";
import { invalidParams } from "../wire/error-form.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A request for notifications. */
export interface ListenRequest {
  /** Names the stream in each of its notifications. */
  readonly id: RpcId;
  readonly params: Fields;
  readonly audience: Audience;
  readonly session: Session;
  readonly options: ReadServeOptions;
  /** Aborts when the client ends the stream. */
  readonly signal: AbortSignal;
  notify(method: string, params: Fields): void;
  /** Calls back when the server ends it, or at once where it has, until the returned function is called. */
  onEnd(listener: () => void): () => void;
}

const subscriptionKey = "io.modelcontextprotocol/subscriptionId";

/** The lists of a filter. */
const kindsOf: Readonly<Record<string, readonly Kind[]>> = {
  toolsListChanged: ["tool"],
  promptsListChanged: ["prompt"],
  resourcesListChanged: ["resource", "template"],
};

/**
 * Notifies a client of the changes that it asks for, until it or this server ends that: then its result says so.
 *
 * @throws RpcError for a filter that is none; the reason where the client ends it
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
 */
export async function listenToChanges(request: ListenRequest): Promise<Fields> {
  const { id, params, audience, options, signal, session } = request;
  const { lists, uris } = readFilter(params.notifications);
  const _meta = { [subscriptionKey]: id };
  const kinds = new Set(lists.flatMap((name) => kindsOf[name] ?? []));
  const notify = (method: string, fields: Fields = {}) => request.notify(method, { ...fields, _meta });
  const early: (() => void)[] = [];
  let isAcknowledged = false;
  const feed = new ChangeFeed({
    ...{ audience, options, kinds },
    // The acknowledgement is the first message of the stream.
    notify: (method, fields) => (isAcknowledged ? notify(method, fields) : early.push(() => notify(method, fields))),
  });
  const over = Promise.withResolvers<void>();
  const unlisten = request.onEnd(over.resolve);
  const gone = Promise.withResolvers<never>();
  const onAbort = () => gone.reject(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  try {
    const following = uris.map((uri) =>
      feed.follow(uri, { session, signal }).then(
        () => uri,
        () => undefined,
      ),
    );
    const followed = (await Promise.race([Promise.all(following), gone.promise])).filter((uri) => uri !== undefined);
    const agreed = Object.fromEntries(lists.map((name) => [name, true]));
    const resources = followed.length === 0 ? {} : { resourceSubscriptions: followed };
    notify("notifications/subscriptions/acknowledged", { notifications: { ...agreed, ...resources } });
    isAcknowledged = true;
    for (const send of early) send();
    await Promise.race([over.promise, gone.promise]);
    return { _meta };
  } finally {
    signal.removeEventListener("abort", onAbort);
    unlisten();
    feed.end();
  }
}

/** @throws RpcError */
function readFilter(filter: unknown): { readonly lists: readonly string[]; readonly uris: readonly string[] } {
  if (!isRecord(filter)) throw invalidParams("Invalid params: notifications must be an object.");
  const lists = Object.keys(kindsOf).filter((name) => filter[name] === true);
  const wrong = Object.keys(kindsOf).find((name) => filter[name] !== undefined && typeof filter[name] !== "boolean");
  if (wrong !== undefined) throw invalidParams(`Invalid params: notifications.${wrong} must be true or false.`);
  const { resourceSubscriptions: uris = [] } = filter;
  if (!Array.isArray(uris) || !uris.every((uri) => typeof uri === "string"))
    throw invalidParams("Invalid params: notifications.resourceSubscriptions must be a list of URIs.");
  if (uris.length > maxSubscriptions)
    throw invalidParams(`Invalid params: notifications.resourceSubscriptions has more than ${maxSubscriptions} URIs.`);
  return { lists, uris: [...new Set(uris as readonly string[])] };
}
