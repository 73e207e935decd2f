import { execFile } from "node:child_process";
import { once } from "node:events";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createRequire } from "node:module";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import { promisify } from "node:util";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { nodeFetch } from "../../src/lib/fetch/node-fetch.ts";
import { certificate, privateKey } from "../mcp/fixture/certificate.ts";
import { type Listening, listen } from "../mcp/fixture/http.ts";
import { closedAfterEach } from "../support/closed-after-each.ts";
import { rejection } from "../support/failure.ts";

const open = closedAfterEach();

async function serve(handler: RequestListener): Promise<Listening> {
  const listening = await listen(handler);
  open.push(() => listening.close());
  return listening;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Answers with what it was asked, as JSON. */
const echo: RequestListener = async (request, response) => {
  const { method, url, headers } = request;
  const body = (await bodyOf(request)).toString();
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ method, url, headers, body }));
};

interface Echoed {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const echoed = async (response: Response) => (await response.json()) as Echoed;
const codesOf = (error: unknown): unknown[] => {
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown };
  return [code, ...(cause === undefined ? [] : codesOf(cause))];
};

const fetches: readonly (readonly [string, typeof globalThis.fetch])[] = [
  ["the platform's fetch", globalThis.fetch],
  ["nodeFetch", nodeFetch()],
];

describe.each(fetches)("%s", (_name, fetch) => {
  describe("a request", () => {
    const bodies: readonly (readonly [string, RequestInit["body"], string, string | undefined])[] = [
      ["text", "grüße", "grüße", "text/plain;charset=UTF-8"],
      ["bytes", Buffer.from("bytes"), "bytes", undefined],
      ["a form", new URLSearchParams({ a: "1" }), "a=1", "application/x-www-form-urlencoded;charset=UTF-8"],
      ["a blob", new Blob(["blob"], { type: "text/x" }), "blob", "text/x"],
    ];
    test.each(bodies)("carries %s", async (_kind, body, text, type) => {
      const { origin } = await serve(echo);
      for (const method of ["POST", "DELETE"]) {
        const answer = await echoed(await fetch(origin, { method, body: body ?? null }));
        expect(answer).toMatchObject({ method, url: "/", body: text });
        expect(answer.headers["content-type"]).toBe(type);
      }
    });

    test("carries a stream, in chunks", async () => {
      const { origin } = await serve(echo);
      const body = new Blob(["a", "b"]).stream();
      const answer = await echoed(await fetch(origin, { method: "PUT", body, duplex: "half" } as RequestInit));
      expect(answer).toMatchObject({ method: "PUT", body: "ab" });
    });

    test("carries the headers it is given, in any form, and a few of its own", async () => {
      const { origin } = await serve(echo);
      const forms = [{ "X-A": "1", Accept: "x/y" }, new Headers({ "X-A": "1", Accept: "x/y" })];
      for (const headers of [...forms, Object.entries(forms[0] ?? {})]) {
        const answer = await echoed(await fetch(`${origin}/p?q=1#hash`, { headers: headers as Headers }));
        expect(answer).toMatchObject({ method: "GET", url: "/p?q=1", headers: { "x-a": "1", accept: "x/y" } });
        expect(answer.headers["accept-encoding"]).toContain("gzip");
      }
    });

    test("may be a Request or a URL", async () => {
      const { origin } = await serve(echo);
      const request = new Request(origin, { method: "POST", body: "hi", headers: { "x-a": "1" } });
      expect(await echoed(await fetch(request))).toMatchObject({ method: "POST", body: "hi", headers: { "x-a": "1" } });
      expect(await echoed(await fetch(new URL(origin)))).toMatchObject({ method: "GET", body: "" });
    });

    test.each([
      ["what is no URL", "nonsense", {}],
      ["another scheme", "ftp://127.0.0.1/", {}],
      ["credentials in the URL", "http://a:b@127.0.0.1/", {}],
      ["a GET with a body", "http://127.0.0.1/", { body: "hi" }],
      ["a header of two lines", "http://127.0.0.1/", { headers: { "x-a": "1\r\nx-b: 2" } }],
      ["a name that is none", "http://127.0.0.1/", { headers: { "x a": "1" } }],
    ])("with %s is a TypeError", async (_what, url, init) => {
      expect(await rejection(fetch(url, init))).toBeInstanceOf(TypeError);
    });
  });

  describe("an answer", () => {
    test("has its status, its headers and where it came from", async () => {
      const { origin } = await serve((_request, response) => {
        response.setHeader("set-cookie", ["a=1", "b=2"]);
        response.writeHead(418, "Teapot", { "x-a": "1" }).end("short");
      });
      const response = await fetch(`${origin}/x#hash`);
      const { status, statusText, ok, url, redirected } = response;
      expect({ status, statusText, ok, url, redirected }).toEqual({
        status: 418,
        statusText: "Teapot",
        ok: false,
        url: `${origin}/x`,
        redirected: false,
      });
      expect(response).toBeInstanceOf(Response);
      expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
      expect(await response.clone().text()).toBe("short");
      expect(await response.text()).toBe("short");
    });

    test.each([204, 304])("of %d has no body", async (status) => {
      const { origin } = await serve((_request, response) => void response.writeHead(status).end());
      expect((await fetch(origin)).body).toBe(null);
    });

    test("to HEAD has no body, whatever it says of it", async () => {
      const headers = { "content-length": "5", "content-encoding": "gzip" };
      const { origin } = await serve((_request, response) => void response.writeHead(200, headers).end());
      const response = await fetch(origin, { method: "HEAD" });
      expect(await response.text()).toBe("");
      expect(response.headers.get("content-length")).toBe("5");
    });

    test("may come after early hints", async () => {
      const { origin } = await serve((_request, response) => {
        response.writeEarlyHints({ link: "</style.css>; rel=preload" });
        response.end("late");
      });
      expect(await (await fetch(origin)).text()).toBe("late");
    });

    test("may be big, and so may the request", async () => {
      const { origin } = await serve((request, response) => void request.pipe(response));
      const body = Buffer.alloc(20_000_000, "0123456789");
      const answer = Buffer.from(await (await fetch(origin, { method: "POST", body })).arrayBuffer());
      expect(answer.equals(body)).toBe(true);
    });

    const both = brotliCompressSync(gzipSync("squeezed"));
    test.each([
      ["gzip", gzipSync("squeezed")],
      ["X-GZIP", gzipSync("squeezed")],
      ["br", brotliCompressSync("squeezed")],
      ["deflate", deflateSync("squeezed")],
      ["deflate", deflateRawSync("squeezed")],
      ["gzip, br", both],
      ["unheard-of", Buffer.from("squeezed")],
    ])("encoded as %s is decoded", async (coding, bytes) => {
      const { origin } = await serve(
        (_request, response) => void response.writeHead(200, { "content-encoding": coding }).end(bytes),
      );
      expect(await (await fetch(origin)).text()).toBe("squeezed");
    });

    test("that says it is encoded and is not breaks off", async () => {
      const { origin } = await serve(
        (_request, response) => void response.writeHead(200, { "content-encoding": "gzip" }).end("plain"),
      );
      expect(await rejection((await fetch(origin)).text())).toBeInstanceOf(TypeError);
    });
  });

  describe("a stream of events", () => {
    test.each(["identity", "gzip"])("comes as it is sent (%s)", async (coding) => {
      const send: ((text: string) => void)[] = [];
      const { origin } = await serve((_request, response) => {
        response.writeHead(200, { "content-type": "text/event-stream", "content-encoding": coding }).flushHeaders();
        // Parts of a gzip file that are complete in themselves.
        send.push((text) => void response.write(coding === "gzip" ? gzipSync(text) : text));
      });
      const { body } = await fetch(origin);
      const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
      for (const text of ["data: 1\n\n", "data: 2\n\n"]) {
        send[0]?.(text);
        expect(await reader?.read()).toEqual({ done: false, value: text });
      }
      await reader?.cancel();
    });

    test("that is cancelled ends the connection", async () => {
      const closed = Promise.withResolvers<void>();
      const { origin } = await serve((_request, response) => {
        response.once("close", closed.resolve).writeHead(200).write("data: 1\n\n");
      });
      const response = await fetch(origin);
      await response.body?.cancel();
      await closed.promise;
    });

    test("whose reader is slow makes the server wait", async () => {
      const total = 64_000_000;
      const chunk = Buffer.alloc(100_000);
      let written = 0;
      const { origin } = await serve(async (request, response) => {
        if (request.url === "/written") return void response.end(String(written));
        for (; written < total; written += chunk.length) if (!response.write(chunk)) await once(response, "drain");
        response.end();
      });
      const response = await fetch(origin);
      const ask = async () => Number(await (await fetch(`${origin}/written`)).text());
      // As often as it takes until nothing moves any more.
      for (let before = -1, still = 0; still < 20; before = written) still = (await ask()) === before ? still + 1 : 0;
      expect(written).toBeLessThan(total);
      let size = 0;
      for await (const part of response.body ?? []) size += part.length;
      expect(size).toBe(total);
    });
  });

  describe("an abort", () => {
    const reason = new Error("enough");

    test("before it begins rejects with its reason, and nothing is asked", async () => {
      let asked = 0;
      const { origin } = await serve((_request, response) => {
        asked += 1;
        response.end();
      });
      expect(await rejection(fetch(origin, { signal: AbortSignal.abort(reason) }))).toBe(reason);
      await fetch(origin);
      expect(asked).toBe(1);
    });

    test.each([
      ["an error", reason],
      ["a text", "enough"],
      ["nothing said", undefined],
    ])("while it connects rejects with its reason: %s", async (_what, why) => {
      const { origin } = await serve(() => undefined);
      const controller = new AbortController();
      const answer = rejection(fetch(origin, { signal: controller.signal }));
      controller.abort(why);
      expect(await answer).toBe(controller.signal.reason);
    });

    test("while it waits rejects with its reason, and the server notices", async () => {
      const asked = Promise.withResolvers<ServerResponse>();
      const { origin } = await serve((_request, response) => asked.resolve(response));
      const controller = new AbortController();
      const answer = rejection(fetch(origin, { method: "POST", body: "hi", signal: controller.signal }));
      const closed = once(await asked.promise, "close");
      controller.abort(reason);
      expect(await answer).toBe(reason);
      await closed;
    });

    test.each(["identity", "gzip"])("while it is read breaks the body off with its reason (%s)", async (coding) => {
      const closed = Promise.withResolvers<void>();
      const { origin } = await serve((_request, response) => {
        response.once("close", closed.resolve).writeHead(200, { "content-encoding": coding });
        response.write(coding === "gzip" ? gzipSync("first") : "first");
      });
      const controller = new AbortController();
      const { body } = await fetch(origin, { signal: controller.signal });
      const reader = body?.getReader();
      expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe("first");
      const next = rejection(reader?.read() ?? Promise.resolve());
      controller.abort(reason);
      expect(await next).toBe(reason);
      await closed.promise;
    });

    test("while all of it waits to be read breaks it off all the same", async () => {
      const { origin } = await serve((_request, response) => void response.end(Buffer.alloc(200_000)));
      const controller = new AbortController();
      const { body } = await fetch(origin, { signal: controller.signal });
      const reader = body?.getReader();
      await reader?.read();
      controller.abort(reason);
      const rest = async () => {
        while ((await reader?.read())?.done === false);
      };
      expect(await rejection(rest())).toBe(reason);
    });

    test("when it is over changes nothing", async () => {
      const { origin } = await serve((_request, response) => void response.end("all"));
      const controller = new AbortController();
      const response = await fetch(origin, { signal: controller.signal });
      expect(await response.text()).toBe("all");
      controller.abort(reason);
      expect(await (await fetch(origin)).text()).toBe("all");
    });
  });

  describe("a redirect", () => {
    const to = (status: number, location: string | undefined): RequestListener => {
      return (request, response) => {
        if (request.url === "/end") return echo(request, response);
        response.writeHead(status, location === undefined ? {} : { location }).end("moved");
      };
    };

    test.each([
      [301, "POST", "GET"],
      [302, "POST", "GET"],
      [303, "POST", "GET"],
      [303, "PUT", "GET"],
      [302, "PUT", "PUT"],
      [307, "POST", "POST"],
      [308, "POST", "POST"],
    ])("of %d makes of a %s a %s", async (status, method, then) => {
      const { origin } = await serve(to(status, "/end"));
      const response = await fetch(origin, { method, body: "hi", headers: { "content-type": "x/y", "x-a": "1" } });
      expect([response.redirected, response.url]).toEqual([true, `${origin}/end`]);
      const answer = await echoed(response);
      expect(answer).toMatchObject({ method: then, body: then === "GET" ? "" : "hi", headers: { "x-a": "1" } });
      expect(answer.headers["content-type"]).toBe(then === "GET" ? undefined : "x/y");
      if (then === "GET") expect(answer.headers["content-length"]).toBe(undefined);
    });

    test("to another origin takes no credentials along; within the origin it does", async () => {
      const end = await serve(echo);
      const { origin } = await serve((request, response) => {
        const location = request.url === "/away" ? end.origin : "/end";
        if (request.url === "/end") return echo(request, response);
        response.writeHead(307, { location }).end();
      });
      const headers = { authorization: "Bearer secret", cookie: "a=1", "x-a": "1" };
      const away = await echoed(await fetch(`${origin}/away`, { headers }));
      expect(away.headers).toMatchObject({ "x-a": "1", host: new URL(end.origin).host });
      expect(away.headers).not.toHaveProperty("authorization");
      expect(away.headers).not.toHaveProperty("cookie");
      expect((await echoed(await fetch(origin, { headers }))).headers).toMatchObject(headers);
    });

    test("is handed on, or refused, where that is asked for", async () => {
      const { origin } = await serve(to(302, "/end"));
      const response = await fetch(origin, { redirect: "manual" });
      expect([response.status, response.headers.get("location"), response.redirected]).toEqual([302, "/end", false]);
      await response.body?.cancel();
      expect(await rejection(fetch(origin, { redirect: "error" }))).toBeInstanceOf(TypeError);
    });

    test("that leads nowhere is an answer", async () => {
      const { origin } = await serve(to(302, undefined));
      expect(await (await fetch(origin)).text()).toBe("moved");
    });

    test.each([
      ["in a circle", "/"],
      ["to another scheme", "ftp://127.0.0.1/"],
      ["to what is no URL", "http://[/"],
    ])("%s is not followed for ever", async (_where, location) => {
      const { origin } = await serve(to(302, location));
      expect(await rejection(fetch(origin))).toBeInstanceOf(TypeError);
    });

    test("of a body that is gone is refused", async () => {
      const { origin } = await serve(to(307, "/end"));
      const body = new Blob(["a"]).stream();
      const init = { method: "POST", body, duplex: "half" } as RequestInit;
      expect(await rejection(fetch(origin, init))).toBeInstanceOf(TypeError);
    });

    test("can be aborted", async () => {
      const controller = new AbortController();
      const { origin } = await serve((request, response) => {
        if (request.url === "/end") controller.abort();
        else response.writeHead(307, { location: "/end" }).end();
      });
      expect(await rejection(fetch(origin, { signal: controller.signal }))).toBe(controller.signal.reason);
    });
  });

  describe("a failure", () => {
    test("to connect is told with Node's code", async () => {
      const { origin, close } = await listen(() => undefined);
      await close();
      const error = await rejection(fetch(origin));
      expect(error).toBeInstanceOf(TypeError);
      expect(codesOf(error)).toContain("ECONNREFUSED");
    });

    test("before the answer rejects", async () => {
      const { origin } = await serve((request) => request.socket.destroy());
      const error = await rejection(fetch(origin, { method: "POST", body: "hi" }));
      expect(error).toBeInstanceOf(TypeError);
      expect(codesOf(error).some((code) => code === "ECONNRESET" || code === "UND_ERR_SOCKET")).toBe(true);
    });

    test("within the answer breaks off its body", async () => {
      const { origin } = await serve((_request, response) => {
        response.writeHead(200, { "content-length": "10" }).write("half", () => response.destroy());
      });
      expect(await rejection((await fetch(origin)).text())).toBeInstanceOf(TypeError);
    });
  });

  test("uses a connection again", async () => {
    const { origin, server } = await serve((_request, response) => void response.end("hi"));
    let connections = 0;
    server.on("connection", () => {
      connections += 1;
    });
    for (let at = 0; at < 9; at += 1) expect(await (await fetch(origin)).text()).toBe("hi");
    // The platform's lets go of one a little late.
    expect(connections).toBeLessThan(3);
  });
});

describe("nodeFetch alone", () => {
  /** Answers the first request of each connection, and breaks off at the second. */
  async function stale() {
    const arrived: string[] = [];
    const seen = new WeakSet<Socket>();
    const { origin } = await serve((request, response) => {
      arrived.push(`${request.method} ${request.url}`);
      if (seen.has(request.socket)) request.socket.destroy();
      else response.end("fine");
      seen.add(request.socket);
    });
    return { origin, arrived };
  }

  /** Undici uses a connection again a turn after its answer. */
  const released = () => new Promise((resolve) => setImmediate(resolve));

  test("asks again on a new connection where the old one was closed, and it changes nothing", async () => {
    const { origin, arrived } = await stale();
    const fetch = nodeFetch();
    await (await fetch(origin)).text();
    await released();
    expect(await (await fetch(`${origin}/again`)).text()).toBe("fine");
    expect(arrived).toEqual(["GET /", "GET /again", "GET /again"]);
  });

  test("does not ask again what may have been done", async () => {
    const { origin, arrived } = await stale();
    const fetch = nodeFetch();
    await (await fetch(origin)).text();
    await released();
    const codes = codesOf(await rejection(fetch(origin, { method: "POST", body: "hi" })));
    expect(codes.some((code) => code === "ECONNRESET" || code === "UND_ERR_SOCKET")).toBe(true);
    expect(arrived).toEqual(["GET /", "POST /"]);
  });

  test("does not ask again on a connection that was new", async () => {
    let arrived = 0;
    const { origin } = await serve((request) => {
      arrived += 1;
      request.socket.destroy();
    });
    await rejection(nodeFetch()(origin));
    expect(arrived).toBe(1);
  });

  test("sends again what the system refused to write", async () => {
    const sockets: Socket[] = [];
    const { origin, server } = await serve((_request, response) => void response.end("fine"));
    server.on("connection", (socket) => sockets.push(socket));
    const fetch = nodeFetch();
    await (await fetch(origin)).text();
    await released();
    // The system knows that it is gone, and this process has not looked yet.
    sockets[0]?.resetAndDestroy();
    expect(await (await fetch(origin, { method: "POST", body: "hi" })).text()).toBe("fine");
    expect(sockets).toHaveLength(2);
  });

  test("leaves nothing on a signal", async () => {
    const { origin } = await serve((request, response) => {
      if (request.url === "/lost") request.socket.destroy();
      else response.end("hi");
    });
    const fetch = nodeFetch();
    const { signal } = new AbortController();
    let listeners = 0;
    const [add, remove] = [signal.addEventListener, signal.removeEventListener];
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove.apply(signal, args);
    };
    await (await fetch(origin, { signal })).text();
    await (await fetch(origin, { signal })).body?.cancel();
    await rejection(fetch(`${origin}/lost`, { signal }));
    await new Promise((resolve) => setImmediate(resolve));
    expect(listeners).toBe(0);
  });

  test("keeps no process alive", async () => {
    const { origin } = await serve((_request, response) => void response.end("hi"));
    const index = new URL("../../src/lib/fetch/node-fetch.ts", import.meta.url).href;
    const program = `
      import { nodeFetch } from "${index}";
      const response = await nodeFetch({ idleMs: 3_600_000 })("${origin}");
      console.log(await response.text());`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program]);
    expect(stdout).toBe("hi\n");
  });

  test("ends what is unused after a while", async () => {
    const { origin, server } = await serve((_request, response) => void response.end("hi"));
    const connected = once(server, "connection");
    await (await nodeFetch({ idleMs: 20 })(origin)).text();
    const [socket] = await connected;
    await once(socket, "close");
  });

  test("ends what is unused two seconds before servers that say nothing of it do", async () => {
    // Where a server of Node names the header Connection itself, Node sends no Keep-Alive.
    const { origin, server } = await serve((_request, response) => {
      response.writeHead(200, { connection: "keep-alive" }).end("hi");
    });
    // This one closes nothing, so that the client is seen to.
    server.keepAliveTimeout = 0;
    const connected = once(server, "connection");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const response = await nodeFetch()(origin);
    expect(response.headers.get("keep-alive")).toBeNull();
    await response.text();
    const [socket] = await connected;
    const closed = once(socket, "close");
    await released();
    vi.advanceTimersByTime(3_000);
    await closed;
  });

  test("keeps as many connections as there were requests at once", async () => {
    const atOnce = 400;
    let waiting: ServerResponse[] = [];
    let connections = 0;
    const { origin, server } = await serve((_request, response) => {
      waiting.push(response);
      if (waiting.length < atOnce) return;
      for (const each of waiting) each.end("hi");
      waiting = [];
    });
    server.keepAliveTimeout = 600_000;
    server.on("connection", () => {
      connections += 1;
    });
    const fetch = nodeFetch({ idleMs: 600_000 });
    for (let wave = 0; wave < 3; wave++) {
      await Promise.all(Array.from({ length: atOnce }, async () => (await fetch(origin)).text()));
    }
    expect(connections).toBe(atOnce);
  });

  test("does not end a stream that is silent for longer", async () => {
    const { origin } = await serve((_request, response) => {
      response.writeHead(200).write("first, ");
      // The silence is the subject: ten times as long as an idle connection is kept.
      setTimeout(() => response.end("last"), 100);
    });
    expect(await (await nodeFetch({ idleMs: 10 })(origin)).text()).toBe("first, last");
  });

  test("gives up a connection that does not come about", async () => {
    // It takes the connection, and says nothing.
    const server = createTcpServer((socket) => void open.push(async () => socket.destroy()));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    open.push(async () => server.close());
    const { port } = server.address() as AddressInfo;
    const error = await rejection(nodeFetch({ connectTimeoutMs: 10 })(`https://127.0.0.1:${port}/`));
    expect(codesOf(error)).toContain("UND_ERR_CONNECT_TIMEOUT");
  });

  describe("where the proxy variables are heeded", () => {
    /** A proxy that forwards what is asked for with a whole URL, and tunnels to anywhere. */
    async function proxy() {
      const asked: string[] = [];
      const { origin, server } = await serve((request, response) => {
        asked.push(`${request.method} ${request.url}`);
        response.end("forwarded");
      });
      server.on("connect", (request: IncomingMessage, socket: Socket) => {
        asked.push(`CONNECT ${request.url}`);
        const [host = "", port = ""] = request.url?.split(":") ?? [];
        const far = connect(Number(port), host, () => {
          socket.write("HTTP/1.1 200 OK\r\n\r\n");
          socket.pipe(far).pipe(socket);
        });
        open.push(async () => {
          far.destroy();
          socket.destroy();
        });
      });
      vi.stubEnv("NODE_USE_ENV_PROXY", "1");
      for (const name of ["HTTP_PROXY", "HTTPS_PROXY"]) vi.stubEnv(name, origin);
      for (const name of ["http_proxy", "https_proxy", "no_proxy", "NO_PROXY"]) vi.stubEnv(name, undefined);
      open.push(async () => vi.unstubAllEnvs());
      return asked;
    }

    test("requests go through the proxy, but to the hosts of NO_PROXY", async () => {
      const { origin } = await serve((_request, response) => void response.end("direct"));
      const asked = await proxy();
      expect(await (await nodeFetch()(`${origin}/x`, { method: "POST", body: "hi" })).text()).toBe("forwarded");
      vi.stubEnv("NO_PROXY", "127.0.0.1");
      expect(await (await nodeFetch()(`${origin}/x`)).text()).toBe("direct");
      expect(asked).toEqual([`POST ${origin}/x`]);
    });

    test("HTTPS goes through a tunnel, with the certificates it was given", async () => {
      const server = createHttpsServer({ cert: certificate, key: privateKey }, echo);
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      open.push(async () => server.close().closeAllConnections());
      const { port } = server.address() as AddressInfo;
      const asked = await proxy();
      const fetch = nodeFetch({ tls: { ca: certificate } });
      expect(await echoed(await fetch(`https://127.0.0.1:${port}/`))).toMatchObject({ method: "GET" });
      expect(asked).toEqual([`CONNECT 127.0.0.1:${port}`]);
    });
  });

  test("loads the parts of undici that its index exports", () => {
    const load = createRequire(import.meta.url);
    expect(load("undici/lib/dispatcher/agent.js")).toBe(load("undici").Agent);
    expect(load("undici/lib/core/connect.js")).toBe(load("undici").buildConnector);
  });

  test.each([
    ["text", "text"],
    ["a form", new URLSearchParams({ a: "1" })],
  ])("a request that has its connection takes none from one that still waits: %s", async (_kind, body) => {
    // It takes the connection, and says nothing.
    const server = createTcpServer((socket) => void open.push(async () => socket.destroy()));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    open.push(async () => server.close());
    const { origin } = await serve((_request, response) => void response.end("fine"));
    const fetch = nodeFetch();
    const controller = new AbortController();
    const { signal } = controller;
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const waiting = rejection(fetch(url, { method: "POST", body, signal }));
    for (let at = 0; at < 3; at += 1) expect(await (await fetch(origin)).text()).toBe("fine");
    // Whatever the others could have done to it is done: they were answered.
    const still = new Promise((resolve) => setImmediate(resolve, "waiting"));
    expect(await Promise.race([waiting, still])).toBe("waiting");
    controller.abort();
    expect(await waiting).toBe(signal.reason);
  });

  test("speaks HTTPS, and trusts whom it is told to", async () => {
    const server = createHttpsServer({ cert: certificate, key: privateKey }, echo);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    open.push(async () => server.close().closeAllConnections());
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const fetch = nodeFetch({ tls: { ca: certificate } });
    expect(await echoed(await fetch(url, { method: "POST", body: "hi" }))).toMatchObject({ body: "hi" });
    expect(codesOf(await rejection(nodeFetch()(url)))).toContain("DEPTH_ZERO_SELF_SIGNED_CERT");
  });
});
