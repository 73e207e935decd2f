import type { Catalog } from "../catalog/catalog.ts";
import type { Namespace, Registration } from "../catalog/namespace.ts";
import type { ConnectorSession, DescriptorList, DescriptorMap } from "../core/connector.ts";
import { readDefinition } from "../core/definition.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import { isMcpName } from "../core/identifier.ts";
import { type Kind, kinds } from "../core/item.ts";
import { type RemoteLink, remoteItem } from "./remote-items.ts";

/** What a server's lists gave: by kind the list, or why there is none. */
export type RemoteLists = ReadonlyMap<Kind, DescriptorList<Kind> | ToolkitError>;

/** Reads the lists of some kinds to their ends, side by side. A list that cannot be read takes no other with it. */
export async function readLists(
  session: ConnectorSession,
  wanted: Iterable<Kind>,
  label: string,
): Promise<RemoteLists> {
  const lists = await Promise.all(
    [...wanted].map(async (kind): Promise<[Kind, DescriptorList<Kind> | ToolkitError]> => {
      try {
        return [kind, (await session.list[kind]?.({})) ?? { items: [], warnings: [] }];
      } catch (error) {
        return [kind, listError(error, kind, label)];
      }
    }),
  );
  return new Map(lists);
}

function listError(error: unknown, kind: Kind, label: string): ToolkitError {
  if (ToolkitError.is(error)) return error;
  return new ToolkitError(
    "REMOTE_ERROR",
    `${label} did not list its ${kind}s: ${messageOf(error)}`,
    { server: label },
    { cause: error },
  );
}

/** Brings what a server lists into its namespace. */
export class RemoteCatalogue {
  readonly #catalog: Catalog;
  readonly #namespace: Namespace;
  readonly #link: RemoteLink;
  readonly #onOddName: (name: string) => void;
  readonly #problems = new Map<Kind, readonly ToolkitError[]>();
  readonly #warnings = new Map<Kind, readonly string[]>();

  constructor(catalog: Catalog, namespace: Namespace, link: RemoteLink, onOddName: (name: string) => void) {
    this.#catalog = catalog;
    this.#namespace = namespace;
    this.#link = link;
    this.#onOddName = onOddName;
  }

  /** Lists that could not be read, or were cut. */
  get problems(): readonly ToolkitError[] {
    return [...this.#problems.values()].flat();
  }

  get warnings(): readonly string[] {
    return [...this.#warnings.values()].flat();
  }

  /** Takes lists over, and tells what became different. Of a kind whose list could not be read the last known stays. */
  apply(lists: RemoteLists): void {
    const registrations = new Map<Kind, readonly Registration[]>();
    for (const kind of kinds) {
      const list = lists.get(kind);
      if (list === undefined) continue;
      if (list instanceof Error) {
        this.#problems.set(kind, [list]);
        continue;
      }
      registrations.set(
        kind,
        list.items.map((descriptor) => this.#register(kind, descriptor)),
      );
      this.#warnings.set(kind, list.warnings);
      this.#problems.set(kind, list.cutAt === undefined ? [] : [this.#cut(kind, list.cutAt)]);
    }
    this.#catalog.replace(this.#namespace, registrations);
  }

  #register(kind: Kind, descriptor: DescriptorMap[Kind]): Registration {
    const item = remoteItem(kind, descriptor, this.#link);
    if ((kind === "tool" || kind === "prompt") && !isMcpName(descriptor.name)) this.#onOddName(descriptor.name);
    return { definition: readDefinition(item, "remote"), item };
  }

  #cut(kind: Kind, max: number): ToolkitError<"LIMIT_EXCEEDED"> {
    const message = `${this.#link.label} lists more than ${max} ${kind}s; the others are left out.`;
    return new ToolkitError("LIMIT_EXCEEDED", message, { limit: "list size", max });
  }
}
