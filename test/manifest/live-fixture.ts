import type { IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";
import type { Toolkit } from "../../src/index.ts";
import { serve } from "../support/serve.ts";
import { toolkitOf } from "./manifest-fixture.ts";

/** A request as a server got it. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Serves every request with its own content in JSON. @returns the origin, and the requests */
export async function echo(): Promise<{ readonly origin: string; readonly received: Received[] }> {
  const received: Received[] = [];
  const origin = await serve(async (request, response) => {
    const { method = "", url = "", headers } = request;
    const one = { method, url, headers, body: await text(request) };
    received.push(one);
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(one));
  });
  return { origin, received };
}

/** The text of the manifest of a tool `service` of the mode live. */
export function liveManifest(http: object, spec: object = {}): string {
  const document = {
    apiVersion: "promptkit.altairalabs.ai/v1alpha1",
    kind: "Tool",
    metadata: { name: "service" },
    spec: { description: "A service", mode: "live", input_schema: { type: "object" }, http, ...spec },
  };
  return JSON.stringify(document, undefined, 2);
}

/** A toolkit with that tool, as `manifest.service`. */
export function liveToolkit(
  http: object,
  { spec, ...parts }: Parameters<typeof toolkitOf>[1] & { readonly spec?: object } = {},
): Promise<Toolkit> {
  return toolkitOf(liveManifest(http, spec), parts);
}

/** The JSON that the tool answers with. */
export async function callLive<T = Received>(toolkit: Toolkit, input: object = {}): Promise<T> {
  return (await (await toolkit.call("manifest.service", input)).json()) as T;
}
