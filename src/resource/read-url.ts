import { posix } from "node:path";
import { egressDenied } from "../core/egress.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { Content } from "../core/resource.ts";
import { EgressError } from "../lib/fetch/egress-policy.ts";
import { guardedFetch } from "../lib/fetch/guarded-fetch.ts";
import { defaultFetch } from "../lib/fetch/node-fetch.ts";
import { collectBytes, tooLarge } from "./collect-bytes.ts";
import { type LocationOptions, unreadable } from "./read-file.ts";
import { contentOfBytes } from "./sniff.ts";

/**
 * Reads an http(s) or `data:` URL, redirects followed, as far as the egress policy lets it. Its name is the last segment of the path
 * without extension, or the host.
 *
 * @throws ToolkitError `DENIED` for an address that the policy refuses
 */
export async function readUrlContent(url: URL, options: LocationOptions): Promise<Content> {
  if (url.username !== "" || url.password !== "") {
    throw unreadable(shown(url), "a URL with user name or password is not fetched; use defineResource");
  }
  const response = await request(url, options);
  assertOk(response, url);
  const bytes = await body(response, url, options);
  const { name, ext } = posix.parse(url.protocol === "data:" ? "" : url.pathname);
  const fields = {
    name: options.name ?? (decode(name) || url.hostname || "data"),
    uri: url.href,
    mediaType: options.mediaType,
  };
  const declared = response.headers.get("content-type") ?? undefined;
  return contentOfBytes(bytes, fields, { declared, extension: options.extension ?? ext.slice(1) });
}

async function request(url: URL, { signal, egress }: LocationOptions): Promise<Response> {
  const send = url.protocol === "data:" ? fetch : guardedFetch(defaultFetch, egress);
  try {
    return await send(url, signal === undefined ? {} : { signal });
  } catch (error) {
    signal?.throwIfAborted();
    const refusal = EgressError.in(error);
    throw refusal === undefined ? unreachable(url, error) : egressDenied(refusal);
  }
}

function assertOk(response: Response, url: URL): void {
  if (response.ok) return;
  // Whatever it says is not read: the connection must not stay taken.
  response.body?.cancel().catch(() => undefined);
  const { status, statusText } = response;
  const said = `${status} ${statusText}`.trim();
  if (status === 404 || status === 410) {
    throw new ToolkitError("NOT_FOUND", `There is nothing at ${shown(url)}: the server answered ${said}.`, {
      key: shown(url),
      suggestions: [],
    });
  }
  if (status === 401 || status === 403) {
    throw new ToolkitError(
      "UNAUTHORIZED",
      `${shown(url)} wants credentials: the server answered ${said}. Fetch it yourself in a defineResource.`,
      { target: shown(url) },
    );
  }
  throw new ToolkitError("REMOTE_ERROR", `${shown(url)} cannot be read: the server answered ${said}.`, {
    server: url.host,
    data: { status },
  });
}

async function body(response: Response, url: URL, { signal, maxBytes }: LocationOptions): Promise<Uint8Array> {
  const what = `The content of ${shown(url)}`;
  if (response.body === null) return new Uint8Array();
  const announced = Number(response.headers.get("content-length") ?? 0);
  if (announced > maxBytes) {
    response.body.cancel().catch(() => undefined);
    throw tooLarge(what, maxBytes, announced);
  }
  try {
    return await collectBytes(response.body, { what, maxBytes, signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw ToolkitError.is(error) ? error : unreachable(url, error);
  }
}

function unreachable(url: URL, error: unknown): ToolkitError<"UNAVAILABLE"> {
  // fetch says "fetch failed" and keeps why in the cause.
  const reason = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = (reason as { code?: unknown } | null)?.code;
  const why = messageOf(reason) || String(code);
  return new ToolkitError(
    "UNAVAILABLE",
    `${shown(url)} cannot be read: ${why}.`,
    { namespace: url.host },
    { cause: error },
  );
}

/** A URL for messages: without user name, password, query and fragment, which may be secret. @internal */
export function shown(url: URL): string {
  if (url.protocol === "data:") return "the data: URL";
  const copy = new URL(url);
  copy.username = "";
  copy.password = "";
  copy.search = "";
  copy.hash = "";
  return copy.href;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
