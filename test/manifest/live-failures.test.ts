import { once } from "node:events";
import { createServer } from "node:net";
import { describe, expect } from "vitest";
import { operatorError } from "../../src/core/server-output.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { serveOverHttp } from "../server/fixture/client.ts";
import { failure, rejection } from "../support/failure.ts";
import { serve } from "../support/serve.ts";
import { verifies } from "../support/verifies.ts";
import { callLive, liveToolkit } from "./live-fixture.ts";
import { toolkitOf } from "./manifest-fixture.ts";

/** A server that answers with these statuses in turn, and then with 200. */
async function statuses(
  first: readonly number[],
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly origin: string; readonly asked: () => number }> {
  let asked = 0;
  const origin = await serve((request, response) => {
    request.resume();
    const status = first[asked] ?? 200;
    asked += 1;
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(`{"n":${asked}}`);
  });
  return { origin, asked: () => asked };
}

describe("a live tool whose service fails", () => {
  verifies(["W1", "C8"], "is asked again where its method makes that safe", async () => {
    const cases = ["GET", "HEAD", "PUT", "DELETE"].flatMap((method) =>
      [429, 502, 503, 504].map((status) => ({ method, status })),
    );
    const asks = cases.map(async ({ method, status }) => {
      const { origin, asked } = await statuses([status], status === 429 ? { "retry-after": "0" } : {});
      await callLive(await liveToolkit({ url: origin, method }));
      expect(asked(), `${method} ${status}`).toBe(2);
    });
    await Promise.all(asks);
  });

  verifies(
    ["W1", "C8"],
    "is asked again by POST only where the service refused, or idempotentHint says so",
    async () => {
      for (const method of ["POST", "PATCH"]) {
        const { origin, asked } = await statuses([429, 429], { "retry-after": "0" });
        expect(await callLive(await liveToolkit({ url: origin, method }))).toEqual({ n: 3 });
        expect(asked()).toBe(3);
      }
      for (const status of [502, 503, 504]) {
        const once = await statuses([status]);
        expect(await failure(callLive(await liveToolkit({ url: once.origin })))).toMatchObject({
          code: "OUTCOME_UNKNOWN",
        });
        expect(once.asked()).toBe(1);
        const marked = await statuses([status]);
        const spec = { annotations: { idempotentHint: true } };
        expect(await callLive(await liveToolkit({ url: marked.origin }, { spec }))).toEqual({ n: 2 });
        const unmarked = await statuses([status]);
        const own = { annotations: { idempotentHint: false } };
        const toolkit = await liveToolkit({ url: unmarked.origin, method: "PUT" }, { spec: own });
        expect(await failure(callLive(toolkit))).toMatchObject({ code: "OUTCOME_UNKNOWN" });
      }
    },
  );

  verifies(["W1", "C8"], "waits as long as Retry-After says, and not longer than its limit", async () => {
    const { origin, asked } = await statuses([429], { "retry-after": "3600" });
    const error = await failure(callLive(await liveToolkit({ url: origin, method: "GET" })));
    expect(error).toMatchObject({ code: "RATE_LIMITED", details: { retryAfterMs: 3_600_000 } });
    expect(asked()).toBe(1);
  });

  verifies(["W1", "C8"], "is not asked again more than the budget of all calls has", async () => {
    const { origin, asked } = await statuses(Array.from({ length: 1_000 }, () => 503));
    const toolkit = await liveToolkit({ url: origin, method: "GET" }, { toolkit: { random: () => 0 } });
    const errors = await Promise.all(Array.from({ length: 40 }, () => failure(callLive(toolkit))));
    expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(["UNAVAILABLE"]));
    // Ten in reserve, a tenth of each call, and one for each second that it takes.
    expect(asked() - 40).toBeLessThan(60);
  });

  verifies(["W1", "C8"], "has an unknown outcome where a POST was sent and the connection lost", async () => {
    let asked = 0;
    const origin = await serve((request) => {
      asked += 1;
      request.on("data", () => {});
      request.on("end", () => request.socket.destroy());
    });
    const error = await failure(callLive(await liveToolkit({ url: origin }), { a: 1 }));
    expect(error).toMatchObject({ code: "OUTCOME_UNKNOWN", message: expect.stringContaining("It may have run") });
    expect(asked).toBe(1);
    expect(await failure(callLive(await liveToolkit({ url: origin, method: "GET" })))).toMatchObject({
      code: "UNAVAILABLE",
    });
    expect(asked).toBeGreaterThan(4);
  });

  verifies(["W1", "C8"], "is tried again by POST where nothing was sent, and is UNAVAILABLE in the end", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { readonly port: number };
    await new Promise((resolve) => server.close(resolve));
    const toolkit = await liveToolkit({ url: `http://127.0.0.1:${port}` });
    expect(await failure(callLive(toolkit))).toMatchObject({ code: "UNAVAILABLE" });
  });

  verifies("W1", "says the status to its caller, and the body to the operator, without secrets", async () => {
    const origin = await serve((_, response) => {
      const body = { error: "bad key sk-1234567890", pin: "9999", detail: "no city" };
      response.writeHead(500, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
    const toolkit = await liveToolkit(
      { url: origin, headers: { Authorization: "Bearer ${KEY}" }, redact: ["pin"] },
      { env: { KEY: "sk-1234567890" } },
    );
    const error = await failure(callLive(toolkit));
    expect(error).toMatchObject({
      code: "REMOTE_ERROR",
      message: `POST ${origin} answered 500 Internal Server Error.`,
      details: { data: { status: 500 } },
    });
    expect(JSON.stringify(error)).not.toContain("no city");
    const { message } = operatorError(error);
    expect(message).toContain("no city");
    expect(message).not.toMatch(/sk-1234567890|9999/);
  });

  verifies("W1", "says to its caller why what was asked for was refused, without secrets", async () => {
    let status = 400;
    const body = {
      error: { message: "lat must be at most 90; bad key sk-1234567890", access_token: "t-1", pin: "9999" },
      more: "x".repeat(2_000),
    };
    const origin = await serve((request, response) => {
      const isText = request.url === "/text";
      response
        .writeHead(status, isText ? { "content-type": "text/plain" } : { "content-type": "application/problem+json" })
        .end(isText ? `no such city\nask for a name \u202e${"y".repeat(2_000)}` : JSON.stringify(body));
    });
    const http = { url: `${origin}/{{.at}}`, headers: { Authorization: "Bearer ${KEY}" }, redact: ["pin"] };
    const toolkit = await liveToolkit(http, { env: { KEY: "sk-1234567890" } });
    for (status of [400, 404, 409, 410, 422]) {
      const error = await failure(callLive(toolkit, { at: "json" }));
      expect(error).toMatchObject({ code: "REMOTE_ERROR", details: { data: { status } } });
      expect(error.message).toMatch(
        / answered 4\d\d [\w ]+\. It said: \{"error":\{"message":"lat must be at most 90; /,
      );
      expect(error.message).not.toMatch(/sk-1234567890|t-1|9999/);
      expect(error.message.length).toBeLessThan(1_100);
      // The operator reads it once, too.
      expect(operatorError(error).message).toBe(error.message);
      const { message } = await failure(callLive(toolkit, { at: "text" }));
      expect(message).toContain("It said: no such city");
      expect(message).not.toContain("\u202e");
      expect(message.length).toBeLessThan(1_100);
    }
    for (status of [402, 405, 418, 451, 500]) {
      const error = await failure(callLive(toolkit, { at: "text" }));
      expect(error).toMatchObject({ code: "REMOTE_ERROR", message: expect.not.stringContaining("It said") });
      expect(operatorError(error).message).toContain("no such city");
    }
  });

  verifies(["W1", "V2"], "says so to the model of a client that the toolkit is served to, as a result", async () => {
    const origin = await serve((_, response) => {
      response.writeHead(422, { "content-type": "application/json" }).end('{"error":"lat is missing"}');
    });
    await using endpoint = await serveOverHttp(await liveToolkit({ url: origin }));
    const { client } = await endpoint.connect();
    expect(await client.callTool({ name: "manifest__service", arguments: {} })).toEqual({
      content: [
        { type: "text", text: `POST ${origin} answered 422 Unprocessable Entity. It said: {"error":"lat is missing"}` },
      ],
      isError: true,
      _meta: { "toolweave/code": "REMOTE_ERROR" },
    });
  });

  verifies("W1", "names the credentials that are wrong", async () => {
    const { origin } = await statuses([401, 403]);
    const toolkit = await liveToolkit({ url: origin });
    expect(await failure(callLive(toolkit))).toMatchObject({ code: "UNAUTHORIZED", details: { target: origin } });
    expect(await failure(callLive(toolkit))).toMatchObject({ code: "UNAUTHORIZED" });
  });

  verifies("W1", "ends at its limit of time, and with its caller", async () => {
    const asked = Promise.withResolvers<void>();
    let open = 0;
    const origin = await serve((request) => {
      open += 1;
      request.socket.on("close", () => {
        open -= 1;
      });
      asked.resolve();
    });
    const limited = await liveToolkit({ url: origin, timeout_ms: 50 });
    expect(await failure(callLive(limited))).toMatchObject({
      code: "TIMEOUT",
      details: { limit: "total", limitMs: 50 },
    });
    const toolkit = await liveToolkit({ url: origin });
    const ending = new AbortController();
    const call = rejection(toolkit.call("manifest.service", {}, { signal: ending.signal }));
    await asked.promise;
    ending.abort(new Error("enough"));
    expect(await call).toMatchObject({ message: "enough" });
    await expect.poll(() => open, { timeout: 20_000 }).toBe(0);
  });

  verifies("W1", "measures its limit of time by the clock of the toolkit", async () => {
    const asked = Promise.withResolvers<void>();
    const origin = await serve(() => asked.resolve());
    const clock = virtualClock();
    const toolkit = await liveToolkit({ url: origin, timeout_ms: 50_000 }, { toolkit: { clock } });
    const call = failure(callLive(toolkit));
    await asked.promise;
    await clock.advance(50_000);
    expect(await call).toMatchObject({
      code: "TIMEOUT",
      message: `POST ${origin} took longer than 50000 ms (timeout_ms of the manifest).`,
    });
  });

  verifies(
    "W1",
    "is refused before it is sent where a mapping does not fit, and after where that of the answer does not",
    async () => {
      const { origin, asked } = await statuses([]);
      const request = { body_mapping: "abs(name)" };
      const toolkit = await liveToolkit({ url: origin, request });
      expect(await failure(callLive(toolkit, { name: "x" }))).toMatchObject({ code: "INVALID_INPUT" });
      expect(asked()).toBe(0);
      const answered = await liveToolkit({ url: origin, response: { body_mapping: "keys(n)" } });
      expect(await failure(callLive(answered))).toMatchObject({ code: "INVALID_OUTPUT" });
      expect(asked()).toBe(1);
    },
  );

  verifies("W1", "names the field of the manifest for an answer that is too large", async () => {
    for (const isAnnounced of [true, false]) {
      const origin = await serve((request, response) => {
        request.resume();
        const text = JSON.stringify("x".repeat(100));
        response.writeHead(200, isAnnounced ? { "content-length": text.length } : {}).end(text);
      });
      const error = await failure(callLive(await liveToolkit({ url: origin, max_bytes: 20 })));
      expect(error).toMatchObject({ code: "LIMIT_EXCEEDED", details: { limit: "http.max_bytes of the manifest" } });
      expect(error.message).toMatch(/the 20 bytes allowed\. Raise http\.max_bytes of the manifest\.$/);
      const paths = { "/a": { get: { operationId: "a", responses: { 200: { description: "It" } } } } };
      const spec = { document: { openapi: "3.1.0", info: {}, paths }, server: origin, max_bytes: 20 };
      const toolkit = await toolkitOf(JSON.stringify({ kind: "OpenAPI", spec }));
      expect((await failure(toolkit.call("manifest.a", {}))).message).toContain(
        "Raise spec.max_bytes of the manifest.",
      );
    }
  });

  verifies("W1", "keeps the headers of its manifest where a redirect leaves the origin", async () => {
    const received: unknown[] = [];
    const other = await serve(({ headers, method }, response) => {
      received.push(method, headers);
      response.end("{}");
    });
    let status = 302;
    const origin = await serve((request, response) => {
      request.resume();
      if (request.url === "/") response.writeHead(status, { location: `${other}/x` }).end();
      else if (request.url === "/within") response.writeHead(307, { location: "/there" }).end();
      else response.end(JSON.stringify(request.headers));
    });
    const http = { url: `${origin}/{{.at}}`, headers: { "X-Own": "own", Authorization: "Bearer abcdef" } };
    const options = { toolkit: { egress: { allow: [other] } } };
    const request = { header_params: { "X-Argument": "{{.a}}" } };
    const get = await liveToolkit({ ...http, method: "GET", request, url: origin }, options);
    await callLive(get, { a: "1" });
    expect(received).toEqual(["GET", expect.any(Object)]);
    expect(Object.keys(received[1] as object).sort()).toEqual([
      "accept",
      "accept-encoding",
      "connection",
      "host",
      "user-agent",
    ]);
    const within = await liveToolkit({ ...http, method: "GET" }, options);
    expect(await callLive(within, { at: "within" })).toMatchObject({ "x-own": "own", authorization: "Bearer abcdef" });
    status = 307;
    const post = await liveToolkit({ ...http, url: origin }, options);
    expect(await failure(callLive(post, { a: "1" }))).toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(received).toHaveLength(2);
  });
});
