import { ToolkitError } from "../core/error.ts";
import { assertIdentifier, assertUri } from "../core/identifier.ts";
import type { Completers, ResourceTemplate } from "../core/item.ts";
import type { Described, ReadOptions, Resource } from "../core/resource.ts";
import { typeName } from "../lib/value.ts";
import { type ReadResult, resourceHandle } from "./handle.ts";
import { parseResourceName } from "./resource-name.ts";
import { typeOfExtension } from "./sniff.ts";

/** The definition of a resource that is read on demand. */
export interface ResourceDefinition extends Described {
  /** With a scheme (RFC 3986). */
  readonly uri: string;
  /** RFC 6838, with a charset where the bytes are text in another than UTF-8. Missing, it is found when the resource is read. */
  readonly mediaType?: string | undefined;
  /** In bytes, where it is known without reading. */
  readonly size?: number | undefined;
  /** Reads afresh, each time it is called. A string stands for its UTF-8. */
  bytes(options: ReadOptions): ReadResult | PromiseLike<ReadResult>;
}

/**
 * Defines a resource that reads on demand: `bytes()` calls that of the definition, `text()` and `json()` decode its result.
 *
 * @throws ToolkitError `INVALID_NAME` for a name that `resource.data` would not take or a URI without a scheme, `INVALID_INPUT` without `bytes`
 *
 * @example
 * ```ts
 * toolkit.add(
 *   defineResource({
 *     uri: "status:queue",
 *     name: "queue",
 *     mediaType: "application/json",
 *     bytes: async ({ signal }) => JSON.stringify(await queue.status({ signal })),
 *   }),
 * );
 * ```
 */
export function defineResource<T = unknown>(definition: ResourceDefinition): Resource<T> {
  const { uri, title, description, meta, size } = definition;
  const { name, extension } = parseResourceName(definition.name);
  const mediaType = definition.mediaType ?? (extension === undefined ? undefined : typeOfExtension(extension));
  assertUri(uri);
  assertFunction(definition.bytes, "bytes", `The resource "${name}"`);
  return resourceHandle<T>({
    ...{ name, uri, mediaType, title, description, meta, size },
    // As a method: the definition may be an object with a state of its own.
    bytes: (options) => definition.bytes(options),
  });
}

/** A family of resources, by URI template. */
export interface TemplateDefinition extends Described {
  /** RFC 6570, with a scheme, such as `ticket:{id}`. */
  readonly uriTemplate: string;
  /** Of every resource of the family. */
  readonly mediaType?: string | undefined;
  /** For `toolkit.complete`, by the names of its variables. */
  readonly complete?: Completers | undefined;
  /** Reads the resource that has the URI, afresh each time. A string stands for its UTF-8. */
  read(uri: string, options: ReadOptions): ReadResult | PromiseLike<ReadResult>;
}

/**
 * Defines a family of resources. Its `resource(uri)` makes a handle, which reads nothing before it is asked; whether the URI fits the
 * template is for `read` to say.
 *
 * @throws ToolkitError `INVALID_NAME` for a name that is no identifier or a template without a scheme, `INVALID_INPUT` without `read`
 *
 * @example
 * ```ts
 * const tickets = defineTemplate({
 *   uriTemplate: "ticket:{id}",
 *   name: "tickets",
 *   mediaType: "text/markdown",
 *   read: (uri, { signal }) => desk.ticket(uri.slice("ticket:".length), { signal }),
 * });
 * ```
 */
export function defineTemplate(definition: TemplateDefinition): ResourceTemplate {
  const { name, uriTemplate, mediaType, title, description, meta, complete } = definition;
  assertIdentifier(name, "resource template");
  assertUri(uriTemplate);
  assertFunction(definition.read, "read", `The template "${name}"`);
  return {
    kind: "template",
    ...{ name, uriTemplate, mediaType, title, description, meta, complete },
    resource(uri) {
      assertUri(uri);
      return resourceHandle({
        ...{ name, uri, mediaType, title, description, meta },
        bytes: (options) => definition.read(uri, options),
      });
    },
  };
}

function assertFunction(value: unknown, key: string, what: string): void {
  if (typeof value === "function") return;
  const message = `must be a function, and is ${typeName(value)}`;
  throw new ToolkitError("INVALID_INPUT", `${what}: ${key} ${message}.`, { issues: [{ pointer: `/${key}`, message }] });
}
