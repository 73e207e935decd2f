import type { ConnectorSession, DescriptorList } from "../core/connector.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { Kind } from "../core/item.ts";
import { abortable } from "../lib/promise.ts";

/** What a server's lists gave: by kind the list, or why there is none. */
export type RemoteLists = ReadonlyMap<Kind, DescriptorList<Kind> | ToolkitError>;

/** How lists are read. */
export interface ReadListsOptions {
  /** Whose they are, for errors. */
  readonly label: string;
  /** When it aborts, the lists that are not there yet have failed with its reason. */
  readonly signal: AbortSignal;
}

/** Reads the lists of some kinds to their ends, side by side. It never rejects: a list that cannot be read takes no other with it. */
export async function readLists(
  session: ConnectorSession,
  wanted: Iterable<Kind>,
  { label, signal }: ReadListsOptions,
): Promise<RemoteLists> {
  const read = async (kind: Kind): Promise<DescriptorList<Kind>> => {
    const list = await session.list[kind]?.({ signal });
    if (list === undefined) return { items: [], warnings: [] };
    if (!Array.isArray(list.items)) throw new TypeError("it gave no list");
    return list;
  };
  const lists = [...wanted].map(async (kind): Promise<[Kind, DescriptorList<Kind> | ToolkitError]> => {
    try {
      return [kind, await abortable(read(kind), signal)];
    } catch (error) {
      return [kind, listError(error, kind, label)];
    }
  });
  return new Map(await Promise.all(lists));
}

function listError(error: unknown, kind: Kind, label: string): ToolkitError {
  if (ToolkitError.is(error)) return error;
  const message = `${label} did not list its ${kind}s: ${messageOf(error)}`;
  return new ToolkitError("REMOTE_ERROR", message, { server: label }, { cause: error });
}
