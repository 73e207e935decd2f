import { gzipSync } from "node:zlib";
import { describe, expect } from "vitest";
import { failure } from "../support/failure.ts";
import { serve } from "../support/serve.ts";
import { recordSpans, registerContext, unregister } from "../support/telemetry.ts";
import { verifies } from "../support/verifies.ts";
import { callLive, echo, liveManifest, liveToolkit } from "./live-fixture.ts";
import { loadManifest } from "./manifest-fixture.ts";

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
  "base64",
);

describe("the request of a live tool", () => {
  verifies("W1", "has its arguments in the query for GET, and in a JSON body for POST, the default", async () => {
    const { origin } = await echo();
    const get = await liveToolkit({ url: `${origin}/search?v=1`, method: "get" });
    expect(await callLive(get, { q: "a b&c=d", n: 3, on: true, tags: ["x"], none: null, v: 2 })).toMatchObject({
      method: "GET",
      url: "/search?v=1&q=a%20b%26c%3Dd&n=3&on=true&tags=%5B%22x%22%5D",
      body: "",
    });
    const post = await liveToolkit({ url: `${origin}/items` });
    const received = await callLive(post, { name: "Ada" });
    expect(received).toMatchObject({ method: "POST", url: "/items", body: '{"name":"Ada"}' });
    expect(received.headers["content-type"]).toBe("application/json");
    expect(await callLive(post)).toMatchObject({ body: "" });
  });

  verifies("W1", "has its arguments where request says, and nothing of exclude", async () => {
    const { origin } = await echo();
    const toolkit = await liveToolkit({
      url: `${origin}/users/{{.user.id}}/repos/{{ .repo }}`,
      method: "POST",
      request: {
        query_params: ["page"],
        header_params: { "X-Workspace": "ws {{.workspace}}", "X-Missing": "{{.none}}" },
        exclude: ["internal"],
        static_query: { page_size: "10" },
        static_headers: { "X-Api-Version": "2024-01" },
        static_body: { format: "json", kind: "fixed" },
        body_mapping: "{title: name, format: format, kind: kind, seen: internal}",
      },
    });
    const input = { user: { id: "ada" }, repo: "a/b c", page: 2, workspace: "w1", internal: 1, name: "N", kind: "own" };
    const received = await callLive(toolkit, input);
    expect(received.url).toBe("/users/ada/repos/a%2Fb%20c?page=2&page_size=10");
    expect(JSON.parse(received.body)).toEqual({ title: "N", format: "json", kind: "fixed", seen: null });
    expect(received.headers).toMatchObject({ "x-workspace": "ws w1", "x-api-version": "2024-01" });
    expect(received.headers).not.toHaveProperty("x-missing");
  });

  verifies("W1", "has the values of variables, and they win over arguments", async () => {
    const { origin } = await echo();
    const toolkit = await liveToolkit(
      {
        url: "${BASE}/v1?key=${KEY}",
        method: "GET",
        headers: { "X-Plain": "a ${KEY} b", "X-Default": "${NONE:-other}" },
        headers_from_env: ["Authorization=TOKEN", "KEY"],
        request: { header_params: { Authorization: "Bearer {{.token}}" }, query_params: ["key2"] },
      },
      { env: { BASE: origin, KEY: "k-123456", TOKEN: "Bearer t-1" } },
    );
    const received = await callLive(toolkit, { token: "stolen", key2: "x" });
    expect(received.url).toBe("/v1?key=k-123456&key2=x");
    expect(received.headers).toMatchObject({
      "x-plain": "a k-123456 b",
      "x-default": "other",
      authorization: "Bearer t-1",
    });
  });

  verifies("W1", "carries the trace of its call, and its span the status", async () => {
    const { provider, span } = recordSpans();
    registerContext();
    try {
      const { origin } = await echo();
      const toolkit = await liveToolkit(
        { url: origin, method: "GET", redact: ["iban", "user-agent"] },
        { toolkit: { tracer: provider.getTracer("test"), recordContent: true } },
      );
      const { headers } = await callLive(toolkit, { iban: "CH93", city: "Bern" });
      const recorded = span("execute_tool service");
      expect(headers.traceparent).toContain(recorded.spanContext().traceId);
      expect(recorded.attributes).toMatchObject({ "http.request.method": "GET", "http.response.status_code": 200 });
      expect(recorded.attributes["gen_ai.tool.call.arguments"]).toBe('{"iban":"***","city":"Bern"}');
      expect(recorded.attributes["gen_ai.tool.call.result"]).toContain('"user-agent":"***"');
    } finally {
      unregister();
    }
  });
});

describe("the answer to a live tool", () => {
  verifies("W1", "is redacted, and mapped", async () => {
    const { origin } = await echo();
    const toolkit = await liveToolkit({
      url: origin,
      redact: ["host", "user-*"],
      response: { body_mapping: '{method: method, agent: headers."user-agent", host: headers.host}' },
    });
    expect(await callLive(toolkit)).toEqual({ method: "POST", agent: "[REDACTED]", host: "[REDACTED]" });
  });

  verifies("W1", "is JSON where its text is, else { result }, in its own charset, and decompressed", async () => {
    const origin = await serve(({ url }, response) => {
      if (url === "/json") response.setHeader("content-type", "text/plain").end(' {"a": 1}');
      else if (url === "/latin")
        response.setHeader("content-type", "text/plain; charset=iso-8859-1").end(Buffer.from("Zürich", "latin1"));
      else if (url === "/gzip")
        response
          .writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
          .end(gzipSync("[1]"));
      else response.writeHead(204).end();
    });
    const toolkit = await liveToolkit({ url: `${origin}/{{.path}}`, method: "GET" });
    expect(await callLive(toolkit, { path: "json" })).toEqual({ a: 1 });
    expect(await callLive(toolkit, { path: "latin" })).toEqual({ result: "Zürich" });
    expect(await callLive(toolkit, { path: "gzip" })).toEqual([1]);
    expect(await callLive(toolkit, { path: "none" })).toEqual({ result: "" });
  });

  verifies("W1", "is a file where it is binary, described where multimodal says so", async () => {
    let accept: string | undefined;
    const origin = await serve(({ headers }, response) => {
      accept = headers.accept;
      response.setHeader("content-type", "image/png").end(png);
    });
    const plain = await liveToolkit({ url: origin, method: "GET" });
    const file = await plain.call("manifest.service");
    expect(file.mediaType).toBe("image/png");
    expect(Buffer.from(await file.bytes())).toEqual(png);
    const described = await liveToolkit({
      url: origin,
      method: "GET",
      multimodal: { enabled: true, accept_types: ["image/png", "image/jpeg"] },
    });
    const both = await described.call("manifest.service");
    expect(accept).toBe("image/png, image/jpeg");
    expect(await both.json()).toEqual({ type: "image", content_type: "image/png", size_bytes: png.length });
    expect(both.parts?.[1]?.mediaType).toBe("image/png");
    const svg = await serve((_, response) => response.setHeader("content-type", "image/svg+xml").end("<svg/>"));
    const drawn = await liveToolkit({ url: svg, method: "GET", multimodal: { enabled: true } });
    expect(await callLive(drawn)).toMatchObject({ type: "image", content_type: "image/svg+xml" });
    const others = await liveToolkit({
      url: origin,
      method: "GET",
      multimodal: { enabled: true, accept_types: ["audio/wav"] },
    });
    expect((await others.call("manifest.service")).mediaType).toBe("image/png");
  });
});

describe("the manifest of a live tool", () => {
  verifies("W1", "that cannot be used is refused at its line", async () => {
    const url = "https://api.example.com/";
    const wrong: readonly (readonly [http: object, message: RegExp])[] = [
      [{ url: "ftp://x/" }, /:14:14: It is no http or https URL\. Write one such as/],
      [{ url: "https://{{if .x}}/" }, /is no argument\. Write \{\{\.name\}\}/],
      [{ url: "https://x/{{.a" }, /braces of a template are not closed/],
      [{ url: "https://u:p@x.example/" }, /user name or a password/],
      [{ url: "https://x y/" }, /Its host is none/],
      [{ url: "https://x.example/#{{.a}}" }, /behind #/],
      [{ url, method: "TRACE" }, /:15:17: "TRACE" is no method that is sent/],
      [{ url, headers: { "X-A": "${MISSING}" } }, /:16:16: .*needs the environment variable MISSING/],
      [{ url, headers: { Host: "x" } }, /"Host" belongs to the connection/],
      [{ url, headers: { "X A": "x" } }, /"X A" is no name of a header/],
      [{ url, headers: { "X-A": "a\nb" } }, /has a character that no header may have/],
      [{ url, headers_from_env: ["X-A=MISSING"] }, /:16:9: .*MISSING/],
      [{ url, headers_from_env: ["MISSING"] }, /:16:9: .*MISSING/],
      [{ url, request: { header_params: { "Content-Length": "{{.n}}" } } }, /belongs to the connection/],
      [{ url, request: { body_mapping: "{a" } }, /:16:25: The mapping /],
      [{ url, response: { body_mapping: "a[" } }, /The mapping .*Write an expression of JMESPath/],
      [{ url: "https://{{.host}}/", headers: { "X-A": "${KEY}" } }, /An argument chooses the host/],
      [{ url: "{{.url}}", headers: { Authorization: "Bearer written" } }, /An argument chooses the host/],
      [{ url: "https://a.{{.host}}", headers: { "X-A": "${KEY}" } }, /An argument chooses the host/],
    ];
    for (const [http, message] of wrong) {
      const error = await failure(loadManifest(liveManifest(http), { env: { KEY: "secret" } }));
      expect(error).toMatchObject({ code: "INVALID_MANIFEST", message: expect.stringMatching(message) });
    }
    const domain = { url: "https://{{.region}}.example.com/", headers: { "X-A": "${KEY}" } };
    await loadManifest(liveManifest(domain), { env: { KEY: "secret" } });
  });

  verifies("W1", "says by its method what the tool does, unless it says so itself", async () => {
    const annotationsOf = async (method: string, spec = {}) => {
      const { tools } = await loadManifest(liveManifest({ url: "https://api.example.com", method }, spec));
      return tools[0]?.annotations;
    };
    expect(await annotationsOf("GET")).toEqual({ readOnlyHint: true, idempotentHint: true, openWorldHint: true });
    expect(await annotationsOf("DELETE")).toMatchObject({ destructiveHint: true, idempotentHint: true });
    expect(await annotationsOf("POST")).toEqual({ openWorldHint: true });
    expect(await annotationsOf("GET", { annotations: { readOnlyHint: false } })).toMatchObject({ readOnlyHint: false });
  });
});
