import { definitionOf } from "../core/entry.ts";
import type { Host } from "../core/host.ts";
import type { Entry, Kind } from "../core/item.ts";
import type { CallOptions, Progress, Session } from "../core/session.ts";
import { isRecord, present } from "../lib/value.ts";
import { coerceArguments } from "../prompt/prompt-arguments.ts";
import type { ServedCatalog } from "./served-catalog.ts";
import { failedCall, invalidParams, isUnknownTool, resourceError, rpcError } from "./wire/error-form.ts";
import { callResult, promptResult, readResult } from "./wire/result-form.ts";

type Fields = Readonly<Record<string, unknown>>;

/** One request of a client that is about items, of either era of the protocol. */
export interface ItemRequest {
  readonly params: Fields;
  /** `_meta` for the servers that the request comes to, without what is meant for this one alone. */
  readonly meta: Fields | undefined;
  readonly host: Host;
  readonly catalog: ServedCatalog;
  /** The caller, whose `elicit`, `sample` and `log` belong to this request. */
  readonly session: Session;
  readonly signal: AbortSignal;
  /** Undefined where the client wants no progress. */
  readonly onProgress: ((progress: Progress) => void) | undefined;
}

/** Answers a request. @throws RpcError, or the reason of an abort */
export type ItemMethod = (request: ItemRequest) => Promise<Fields>;

/** The methods of MCP about items, in both eras. */
export const itemMethods: Readonly<Record<string, ItemMethod>> = {
  "tools/list": (request) => listed(request, "tool", "tools"),
  "prompts/list": (request) => listed(request, "prompt", "prompts"),
  "resources/list": (request) => listed(request, "resource", "resources"),
  "resources/templates/list": (request) => listed(request, "template", "resourceTemplates"),
  "tools/call": callTool,
  "prompts/get": getPrompt,
  "resources/read": readResource,
  "completion/complete": complete,
};

async function listed({ catalog, params }: ItemRequest, kind: Kind, field: string): Promise<Fields> {
  const { forms, nextCursor } = await catalog.page(kind, params.cursor);
  return nextCursor === undefined ? { [field]: forms } : { [field]: forms, nextCursor };
}

async function callTool(request: ItemRequest): Promise<Fields> {
  const { catalog, params, signal } = request;
  const name = textIn(params, "name");
  const { arguments: input = {} } = params;
  if (!isRecord(input)) throw invalidParams("Invalid params: arguments must be an object.");
  const searching = catalog.discovery();
  if (searching === undefined) return callNamed(request, name, input);
  const call = (wanted: string, given: Fields, missing?: () => Fields) => callNamed(request, wanted, given, missing);
  return (await (await searching).answer(name, input, { signal, call })) ?? callNamed(request, name, input);
}

/** @param missing - the result where there is no such tool. Default: the error of the protocol */
async function callNamed(
  request: ItemRequest,
  name: string,
  input: Fields,
  missing?: (() => Fields) | undefined,
): Promise<Fields> {
  const { host, catalog, signal } = request;
  try {
    const entry = (await catalog.find("tool", name)) ?? (await unlisted(host, name, request));
    return callResult(await host.call(entry, input, optionsOf(request)), entry);
  } catch (error) {
    signal.throwIfAborted();
    if (missing !== undefined && isUnknownTool(error)) return missing();
    return failedCall(error, name);
  }
}

/**
 * A tool that is in no list yet: that of a namespace which has not connected so far, for which a call waits.
 *
 * @throws ToolkitError `NOT_FOUND`
 */
async function unlisted(host: Host, name: string, { session, signal }: ItemRequest): Promise<Entry<"tool" | "prompt">> {
  const key = name.replace("__", ".");
  return host.lookup<"tool" | "prompt">(key, { kind: "tool", session, signal });
}

async function getPrompt(request: ItemRequest): Promise<Fields> {
  const { host, catalog, params, signal } = request;
  const name = textIn(params, "name");
  const { arguments: given = {} } = params;
  if (!isTexts(given)) throw invalidParams("Invalid params: arguments must be an object whose values are texts.");
  const entry = await catalog.find("prompt", name);
  if (entry === undefined) throw invalidParams(`Unknown prompt: ${name}`);
  try {
    const input = coerceArguments(definitionOf(entry).input, given);
    return await promptResult(await host.render(entry, input, optionsOf(request)), entry, signal);
  } catch (error) {
    signal.throwIfAborted();
    throw rpcError(error);
  }
}

async function readResource(request: ItemRequest): Promise<Fields> {
  const { host, params, signal } = request;
  const uri = textIn(params, "uri");
  try {
    return readResult(await host.read(await findResource(uri, request), optionsOf(request)), uri);
  } catch (error) {
    signal.throwIfAborted();
    throw resourceError(error, uri);
  }
}

/** The resource that is served under a URI, or that a template makes of it. @throws ToolkitError `NOT_FOUND` */
export async function findResource(
  uri: string,
  { host, catalog, session, signal }: Pick<ItemRequest, "host" | "catalog" | "session" | "signal">,
): Promise<Entry<"resource">> {
  return (await catalog.find("resource", uri)) ?? host.lookup(uri, { kind: "resource", session, signal });
}

async function complete(request: ItemRequest): Promise<Fields> {
  const { host, catalog, params, signal } = request;
  const { ref, argument, context } = params;
  if (!isRecord(ref) || !isRecord(argument)) throw invalidParams("Invalid params: ref and argument must be objects.");
  const others = isRecord(context) ? (context.arguments ?? {}) : {};
  if (!isTexts(others))
    throw invalidParams("Invalid params: context.arguments must be an object whose values are texts.");
  const entry =
    ref.type === "ref/prompt"
      ? await catalog.find("prompt", textIn(ref, "name"))
      : await catalog.find("template", textIn(ref, "uri"));
  if (entry === undefined) {
    // A resource that is no template has nothing to complete.
    if (ref.type === "ref/resource" && (await catalog.find("resource", textIn(ref, "uri"))) !== undefined)
      return { completion: { values: [], total: 0, hasMore: false } };
    throw invalidParams(`There is nothing to complete: ${String(ref.name ?? ref.uri)} is not known.`);
  }
  const asked = { ref: entry, argument: textIn(argument, "name"), value: anyText(argument.value), arguments: others };
  try {
    return { completion: present({ ...(await host.complete(asked, optionsOf(request))) }) };
  } catch (error) {
    signal.throwIfAborted();
    throw rpcError(error);
  }
}

function optionsOf({ session, signal, meta, onProgress }: ItemRequest): CallOptions {
  return { session, signal, ...(meta !== undefined && { meta }), ...(onProgress !== undefined && { onProgress }) };
}

/** A member that must be a text. @throws RpcError */
export function textIn(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value === "string") return value;
  throw invalidParams(`Invalid params: ${name} must be a text.`);
}

function anyText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  return isRecord(value) && Object.values(value).every((each) => typeof each === "string");
}
