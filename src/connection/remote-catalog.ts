import type { Catalog } from "../catalog/catalog.ts";
import type { Namespace, Registration } from "../catalog/namespace.ts";
import type { DescriptorList, DescriptorMap } from "../core/connector.ts";
import { readDefinition } from "../core/definition.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import { isMcpName } from "../core/identifier.ts";
import { type Kind, kinds, type ListFailure } from "../core/item.ts";
import { type RemoteLink, remoteItem } from "./remote-items.ts";
import type { RemoteLists } from "./remote-lists.ts";

/** What a remote catalogue is made with. */
export interface RemoteCatalogHost {
  readonly catalog: Catalog;
  readonly namespace: Namespace;
  readonly link: RemoteLink;
  now(): number;
  /** Told once of what is not as it should be. */
  warn(message: string): void;
}

interface Problem {
  readonly error: ToolkitError;
  readonly since: number;
}

/** So many different warnings are remembered as told; a server can make up any number. */
const maxTold = 1_000;

/** Brings what a server lists into its namespace. */
export class RemoteCatalog {
  readonly #host: RemoteCatalogHost;
  readonly #problems = new Map<Kind, Problem>();
  readonly #warnings = new Map<Kind, readonly string[]>();
  readonly #told = new Set<string>();

  constructor(host: RemoteCatalogHost) {
    this.#host = host;
  }

  /** Lists that could not be read, or were cut. */
  get failures(): readonly ListFailure[] {
    const namespace = this.#host.namespace.name;
    return [...this.#problems.values()].map((problem) => ({ namespace, ...problem }));
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
        this.#fail(kind, list);
        this.#tell(list.message);
        continue;
      }
      registrations.set(kind, this.#read(kind, list));
      this.#fail(kind, list.cutAt === undefined ? undefined : this.#cut(kind, list.cutAt));
    }
    this.#host.catalog.replace(this.#host.namespace, registrations);
  }

  /** What can be used of a list: one bad entry takes no sibling with it. */
  #read(kind: Kind, { items, warnings = [] }: DescriptorList<Kind>): Registration[] {
    const registrations = new Map<string, Registration>();
    const odd: string[] = [...warnings];
    for (const descriptor of items) {
      try {
        const registration = this.#register(kind, descriptor);
        const { key } = registration.definition;
        if (registrations.has(key)) odd.push(`A second ${kind} "${shown(key)}" is left out.`);
        else registrations.set(key, registration);
        if ((kind === "tool" || kind === "prompt") && !isMcpName(key)) {
          odd.push(`"${shown(key)}" is no name as MCP wants it; it is kept as it is.`);
        }
      } catch (error) {
        odd.push(`A ${kind} that cannot be read is left out: ${messageOf(error)}`);
      }
    }
    this.#warnings.set(kind, odd);
    for (const each of odd) this.#tell(each);
    return [...registrations.values()];
  }

  #register(kind: Kind, descriptor: DescriptorMap[Kind]): Registration {
    const item = remoteItem(kind, descriptor, this.#host.link);
    const definition = readDefinition(item, "remote");
    if (typeof definition.key !== "string") throw new TypeError(`its key is ${typeof definition.key}, and no text`);
    // Made now: what JSON cannot hold throws here, where it harms this one only.
    void definition.fingerprint;
    return { definition, item };
  }

  #fail(kind: Kind, error: ToolkitError | undefined): void {
    const before = this.#problems.get(kind);
    if (error === undefined) this.#problems.delete(kind);
    else this.#problems.set(kind, { error, since: before?.since ?? this.#host.now() });
  }

  #tell(warning: string): void {
    if (this.#told.has(warning)) return;
    if (this.#told.size >= maxTold) this.#told.clear();
    this.#told.add(warning);
    this.#host.warn(warning);
  }

  #cut(kind: Kind, max: number): ToolkitError<"LIMIT_EXCEEDED"> {
    const message = `${this.#host.link.label} lists more than ${max} ${kind}s, or its pages have no end; what came first is kept.`;
    return new ToolkitError("LIMIT_EXCEEDED", message, { limit: "maxListSize", max });
  }
}

/** A name as far as it is worth reading. */
function shown(name: string): string {
  return name.length > 200 ? `${name.slice(0, 200)}...` : name;
}
