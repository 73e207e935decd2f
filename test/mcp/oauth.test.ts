import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Connection } from "../../src/core/connection.ts";
import { defaultFetch } from "../../src/lib/fetch/node-fetch.ts";
import {
  clientCredentials,
  fileTokenStore,
  type McpConnectorOptions,
  mcpConnector,
  memoryTokenStore,
  type OAuthOptions,
  oauth,
  type TokenStore,
} from "../../src/mcp/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { closedAfterEach } from "../support/closed-after-each.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import {
  browse,
  type ProtectedFixture,
  protect,
  service,
  startAuthority,
  type TestAuthority,
} from "./fixture/authority.ts";
import { never, RecordingHost } from "./fixture/host.ts";
import { listen, sseFixture, streamableFixture } from "./fixture/http.ts";

const open = closedAfterEach();
afterEach(() => {
  vi.useRealTimers();
});

interface World extends ProtectedFixture {
  readonly url: string;
  readonly authority: TestAuthority;
}

/** An authorization server, and a protected MCP server. */
async function world(options: { readonly seconds?: number; readonly transport?: "http" | "sse" } = {}): Promise<World> {
  const { seconds, transport = "http" } = options;
  const authority = await startAuthority(seconds === undefined ? {} : { accessTokenSeconds: seconds });
  open.push(() => authority.close());
  const server: RequestListener = transport === "sse" ? sseFixture() : streamableFixture({ json: true }).handler;
  const fixture = protect(server, authority);
  const listening = await listen(fixture.handler);
  open.push(() => listening.close());
  const url = `${listening.origin}/${transport === "sse" ? "sse" : "mcp"}`;
  return Object.assign(fixture, { url, authority });
}

/** A service, and everything that was ever said in it or sent by it. */
class Service {
  readonly heard: unknown[] = [];
  readonly secrets = new Set<string>();
  readonly pages: string[] = [];
  readonly opened: URL[] = [];
  readonly toolkit: Toolkit;
  readonly #waiting: (() => void)[] = [];

  constructor() {
    const note = (...said: unknown[]) => {
      this.heard.push(said);
      for (const wake of this.#waiting.splice(0)) wake();
    };
    this.toolkit = new Toolkit({ logger: { debug: note, info: note, warn: note, error: note }, random: () => 0.01 });
    this.toolkit.on("*", note);
    open.push(() => this.toolkit.close());
  }

  /** A person who goes wherever the service sends them. */
  readonly browser = async (url: URL): Promise<void> => {
    this.opened.push(url);
    for (const wake of this.#waiting.splice(0)) wake();
    this.pages.push((await browse(url)).text);
  };

  /** Notes what is secret on its way. */
  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const { body: sent } = init ?? {};
    const body = new URLSearchParams(sent instanceof Uint8Array ? Buffer.from(sent).toString() : "");
    for (const name of ["code", "code_verifier", "refresh_token", "client_secret"]) this.#secret(body.get(name));
    this.#secret(new Headers(init?.headers).get("authorization"));
    const response = await defaultFetch(input, init);
    if (/\/(?:token|reg)$/.test(String(input))) {
      const given = (await response.clone().json()) as Record<string, unknown>;
      for (const name of ["access_token", "refresh_token", "client_secret"]) this.#secret(given[name]);
    }
    return response;
  };

  add(url: string, options: McpConnectorOptions, maxAttempts?: number): Connection {
    // The authorization server is on this machine too.
    const egress = { allow: ["127.0.0.0/8"] };
    return this.toolkit.addConnector(mcpConnector(url, { fetch: this.fetch, egress, ...options }), {
      namespace: "far",
      maxAttempts,
      // Pings would renew tokens as well.
      healthCheckMs: Number.POSITIVE_INFINITY,
    });
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Nothing secret was heard by anybody. */
  assertDiscreet(...errors: unknown[]): void {
    const said = inspect([this.heard, errors, this.toolkit.connections], {
      depth: 14,
      maxArrayLength: null,
      maxStringLength: null,
    });
    const found = [...this.secrets].filter((secret) => said.includes(secret));
    expect(found).toEqual([]);
    expect(this.secrets.size).toBeGreaterThan(2);
  }

  #secret(value: unknown): void {
    if (typeof value !== "string") return;
    this.secrets.add(value.replace(/^(?:Bearer|Basic) /, ""));
  }
}

const echo = async ({ toolkit }: Service, message: string) => (await toolkit.call("far.echo", { message })).text();

describe.each(["http", "sse"] as const)("a person's authorization over %s", (transport) => {
  verifies("M11", "is asked for at the first connection, and renewed without the person", async () => {
    const { url, authority, refuseSeen } = await world({ transport });
    const client = new Service();
    const connection = client.add(url, { auth: oauth({ open: client.browser, clientName: "My service" }) });
    await client.toolkit.start();
    await connection.ready();
    expect(await echo(client, "one")).toBe("Echo: one");
    expect(client.opened).toHaveLength(1);
    expect(client.opened[0]?.searchParams.get("code_challenge_method")).toBe("S256");
    await expect.poll(() => client.pages.length).toBe(1);
    expect(client.pages[0]).toContain("Authorized");
    refuseSeen();
    expect(await echo(client, "two")).toBe("Echo: two");
    expect(authority.grants).toEqual(["authorization_code ok", "refresh_token ok"]);
    expect(client.opened).toHaveLength(1);
    client.assertDiscreet();
  });

  verifies("M11", "any number of refused requests cause one refresh", async () => {
    const { url, authority, refuseSeen } = await world({ transport });
    const client = new Service();
    const connection = client.add(url, { auth: oauth({ open: client.browser }) });
    await client.toolkit.start();
    await connection.ready();
    refuseSeen();
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => echo(client, String(index))));
    expect(answers).toEqual(Array.from({ length: 20 }, (_, index) => `Echo: ${index}`));
    expect(authority.grants).toEqual(["authorization_code ok", "refresh_token ok"]);
    client.assertDiscreet();
  });
});

verifies(
  ["M11", "M13"],
  "while a person is waited for, no time runs and no attempt is lost; the connection says why",
  async () => {
    const { url } = await world();
    const client = new Service();
    const asked = Promise.withResolvers<URL>();
    const auth = oauth({ open: asked.resolve });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const connection = client.add(url, { auth }, 1);
    await client.toolkit.start();
    expect(connection).toMatchObject({ state: "connecting", attempts: 1, lastError: { code: "UNAUTHORIZED" } });
    expect(connection.lastError?.message).toMatch(
      /waits for a person to authorize it.*open the URL that was given to `open`/,
    );
    const calling = failure(client.toolkit.call("far.echo", { message: "x" }, { timeoutMs: 50 }));
    await vi.advanceTimersByTimeAsync(50);
    const call = await calling;
    expect(call.message).toContain("waits for a person");
    // Much longer than an attempt may take.
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(connection).toMatchObject({ state: "connecting", attempts: 1 });
    await browse(await asked.promise);
    await connection.ready();
    expect(await echo(client, "one")).toBe("Echo: one");
    client.assertDiscreet(call);
  },
);

verifies(
  "M11",
  "a token is renewed before it expires, where the server says when, or else before it is used",
  async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const given = await world({ seconds: 100 });
    const client = new Service();
    const kept = memoryTokenStore();
    let renewals = 0;
    const write: TokenStore["write"] = async (...written) => {
      await kept.write(...written);
      renewals += 1;
    };
    const connection = client.add(given.url, { auth: oauth({ open: client.browser, store: { ...kept, write } }) });
    await client.toolkit.start();
    await connection.ready();
    const callAfter = async (seconds: number) => {
      const before = renewals;
      vi.setSystemTime(Date.now() + seconds * 1_000);
      expect(await echo(client, "one")).toBe("Echo: one");
      await expect.poll(() => renewals).toBeGreaterThan(before);
    };
    // In the last part of its life, in which the server, counting whole seconds, may refuse it already.
    await callAfter(99.5);
    const refusals = given.refusals;
    await callAfter(110);
    expect(given.refusals).toBe(refusals);
    expect(given.authority.grants).toEqual(["authorization_code ok", "refresh_token ok", "refresh_token ok"]);
  },
);

verifies(
  "M11",
  "what was revoked is UNAUTHORIZED, saying what to do; when the person has done it, all goes on",
  async () => {
    const { url, authority, refuseSeen } = await world();
    const client = new Service();
    let asked = 0;
    let page: URL | undefined;
    const auth = oauth({
      open: async (given) => {
        asked += 1;
        if (asked === 1) await client.browser(given);
        else page = given;
      },
    });
    const connection = client.add(url, { auth });
    await client.toolkit.start();
    await connection.ready();
    await authority.revoke();
    refuseSeen();
    const errors = await Promise.all([failure(echo(client, "a")), failure(echo(client, "b"))]);
    for (const error of errors) {
      expect(error).toMatchObject({ code: "UNAUTHORIZED", details: { target: url } });
      expect(error.message).toMatch(/open the URL that was given to `open`, then call again/);
    }
    expect(authority.grants.filter((grant) => grant.startsWith("refresh_token"))).toEqual([
      "refresh_token invalid_grant",
    ]);
    await expect.poll(() => page).toBeDefined();
    expect(connection.state).toBe("connected");
    expect((await browse(page as URL)).text).toContain("Authorized");
    expect(await echo(client, "again")).toBe("Echo: again");
    expect(asked).toBe(2);
    client.assertDiscreet(errors);
  },
);

verifies("M11", "a network error never costs what was authorized", async () => {
  const { url, authority, refuseSeen } = await world();
  const client = new Service();
  const store = memoryTokenStore();
  const connection = client.add(url, { auth: oauth({ open: client.browser, store }) });
  await client.toolkit.start();
  await connection.ready();
  const kept = await store.read(url);
  await authority.stop();
  refuseSeen();
  const error = await failure(echo(client, "one"));
  expect(error.code).toBe("UNAVAILABLE");
  expect(error.message).toMatch(/authorization server gives no answer.*The tokens are kept/);
  expect(await store.read(url)).toEqual(kept);
  expect(connection.state).toBe("connected");
  await authority.start();
  expect(await echo(client, "two")).toBe("Echo: two");
  expect(client.opened).toHaveLength(1);
  client.assertDiscreet(error);
});

verifies("M11", "a person who denies is not asked again at once, and the error says what to do", async () => {
  const { url, authority } = await world();
  authority.person = "denies";
  const client = new Service();
  const connection = client.add(url, { auth: oauth({ open: client.browser }) }, 3);
  const gone = new Promise<unknown>((resolve) => client.toolkit.on("connectorRemoved", ({ error }) => resolve(error)));
  await client.toolkit.start();
  expect(await gone).toMatchObject({ code: "UNAUTHORIZED" });
  expect(connection.lastError?.message).toMatch(
    /the person denied it \(access_denied\)\. A person is asked again.*open the URL/,
  );
  expect(client.opened).toHaveLength(1);
  expect(client.pages[0]).toContain("Not authorized");
});

verifies("M11", "an answer with another state is refused, and harms the login that goes on in nothing", async () => {
  const { url, authority } = await world();
  const client = new Service();
  let forged: { readonly status: number; readonly text: string } | undefined;
  const auth = oauth({
    open: async (page) => {
      const callback = new URL(page.searchParams.get("redirect_uri") ?? "");
      expect(callback.hostname).toBe("127.0.0.1");
      callback.search = "?code=forged-code&state=forged";
      forged = await browse(callback);
      await client.browser(page);
    },
  });
  const connection = client.add(url, { auth });
  await client.toolkit.start();
  await connection.ready();
  expect(forged).toMatchObject({ status: 400, text: expect.stringContaining("belongs to no login") });
  expect(authority.grants).toEqual(["authorization_code ok"]);
});

verifies("M11", "more scope is asked for where it is missing, on top of what there is", async () => {
  const given = await world();
  const { url, authority } = given;
  const client = new Service();
  const connection = client.add(url, { auth: oauth({ open: client.browser }) });
  await client.toolkit.start();
  await connection.ready();
  given.needs = "mcp:admin";
  const error = await failure(echo(client, "one"));
  expect(error.code).toBe("UNAUTHORIZED");
  expect(error.message).toContain('for the scope "mcp:admin"');
  await expect.poll(() => client.pages.length).toBe(2);
  expect(client.opened[1]?.searchParams.get("scope")?.split(" ").sort()).toEqual([
    "mcp:admin",
    "mcp:read",
    "offline_access",
  ]);
  expect(await echo(client, "two")).toBe("Echo: two");
  expect(authority.grants).toEqual(["authorization_code ok", "authorization_code ok"]);
  // Credentials that cannot be had are not asked for again and again.
  given.needs = "mcp:none";
  for (let call = 0; call < 3; call++) await failure(echo(client, "x"));
  client.assertDiscreet(error);
});

verifies("M11", "a service authorizes itself, and renews what is refused", async () => {
  const { url, authority, refuseSeen } = await world();
  const client = new Service();
  const connection = client.add(url, { auth: clientCredentials({ client: { ...service, issuer: authority.issuer } }) });
  await client.toolkit.start();
  await connection.ready();
  refuseSeen();
  const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => echo(client, String(index))));
  expect(answers).toHaveLength(20);
  expect(authority.grants).toEqual(["client_credentials ok", "client_credentials ok"]);
  client.assertDiscreet();
});

verifies("M11", "a client that is not accepted is told so", async () => {
  const { url, authority } = await world();
  const client = new Service();
  const { issuer } = authority;
  const auth = clientCredentials({ client: { id: service.id, issuer, secret: "wrong-s3cret-9876543210" } });
  const connection = client.add(url, { auth }, 1);
  await client.toolkit.start();
  await expect.poll(() => connection.state).toBe("stopped");
  expect(connection.lastError).toMatchObject({ code: "UNAUTHORIZED" });
  expect(connection.lastError?.message).toMatch(/does not accept the client.*Check id and secret/);
  expect(inspect([client.heard, connection], { depth: 12 })).not.toContain("wrong-s3cret");
});

verifies("M11", "without any credentials the error says which would do", async () => {
  const { url } = await world();
  const error = await failure(mcpConnector(url).connect({ signal: never, host: new RecordingHost() }));
  expect(error.code).toBe("UNAUTHORIZED");
  expect(error.message).toContain('wants credentials: give auth, such as oauth() (scope "mcp:read"), or headers');
});

verifies("M11", "without somebody to ask the error says what is missing", async () => {
  const { url } = await world();
  const client = new Service();
  const connection = client.add(url, { auth: oauth() }, 1);
  await client.toolkit.start();
  await expect.poll(() => connection.state).toBe("stopped");
  expect(connection.lastError?.message).toMatch(
    /wants to be authorized for the scope "mcp:read".*oauth\(\) has no `open`/,
  );
});

verifies(["M9", "M11"], "closing while a person is waited for leaves nothing behind", async () => {
  const { url } = await world();
  const client = new Service();
  const asked = Promise.withResolvers<URL>();
  const ended = Promise.withResolvers<void>();
  const auth = oauth({
    open: (page, { signal }) => {
      signal.addEventListener("abort", () => ended.resolve());
      asked.resolve(page);
    },
  });
  client.add(url, { auth });
  await client.toolkit.start();
  const page = await asked.promise;
  await client.toolkit.close();
  await ended.promise;
  await expect(fetch(page.searchParams.get("redirect_uri") ?? "")).rejects.toThrow("fetch failed");
});

describe("tokens in a file", () => {
  async function folder(): Promise<string> {
    const made = await mkdtemp(join(tmpdir(), "toolweave-tokens-"));
    open.push(() => rm(made, { recursive: true }));
    return made;
  }

  async function authorized(url: string, options: OAuthOptions): Promise<Service> {
    const client = new Service();
    const connection = client.add(url, { auth: oauth({ open: client.browser, ...options }) });
    await client.toolkit.start();
    await connection.ready();
    return client;
  }

  verifies("M11", "after a restart nobody is asked, and nobody else can read them", async () => {
    const { url, authority, refuseSeen } = await world();
    const file = join(await folder(), "deep", "tokens.json");
    const first = await authorized(url, { store: fileTokenStore(file) });
    await first.toolkit.close();
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(join(file, ".."))).mode & 0o777).toBe(0o700);
    const second = await authorized(url, { store: fileTokenStore(file) });
    refuseSeen();
    expect(await echo(second, "one")).toBe("Echo: one");
    expect(second.opened).toEqual([]);
    expect(authority.grants).toEqual(["authorization_code ok", "refresh_token ok"]);
    second.assertDiscreet();
  });

  verifies("M11", "two services that share them use each refresh token once", async () => {
    const { url, authority, refuseSeen } = await world();
    const file = join(await folder(), "tokens.json");
    const services = [await authorized(url, { store: fileTokenStore(file) })];
    services.push(await authorized(url, { store: fileTokenStore(file) }));
    for (let round = 1; round <= 3; round++) {
      refuseSeen();
      const calls = services.flatMap((client) => Array.from({ length: 5 }, () => echo(client, "x")));
      await Promise.all(calls);
      expect(authority.grants.filter((grant) => grant.startsWith("refresh_token"))).toEqual(
        Array.from({ length: round }, () => "refresh_token ok"),
      );
    }
  });

  verifies("M11", "a file that is broken is a clear error, and is left as it is", async () => {
    const { url } = await world();
    const file = join(await folder(), "tokens.json");
    for (const [text, problem] of [
      ['{"version": 1, "servers": {"s3cret', "no valid JSON"],
      ['{"version": 7, "servers": {}}', "no token file of this version"],
      [JSON.stringify({ version: 1, servers: { [url]: { issuer: "x", tokens: { accessToken: 5 } } } }), "is broken"],
    ] as const) {
      await writeFile(file, text);
      const client = new Service();
      const connection = client.add(url, { auth: oauth({ open: client.browser, store: fileTokenStore(file) }) }, 1);
      await client.toolkit.start();
      await expect.poll(() => connection.state).toBe("stopped");
      expect(connection.lastError).toMatchObject({ code: "STORE_FAILED" });
      expect(connection.lastError?.message).toContain(problem);
      expect(inspect(client.heard, { depth: 12 })).not.toContain("s3cret");
      expect(await readFile(file, "utf8")).toBe(text);
      await client.toolkit.close();
    }
  });
});

test("options that are none are refused with their name", () => {
  for (const [make, path] of [
    [() => oauth({ open: "x" as never }), "open"],
    [() => oauth({ redirectPort: 70_000 }), "redirectPort"],
    [() => oauth({ authorizationTimeoutMs: 0 }), "authorizationTimeoutMs"],
    [() => oauth({ clientMetadataUrl: "http://example.com/x" }), "clientMetadataUrl"],
    [() => oauth({ store: {} as TokenStore }), "store"],
    [() => clientCredentials({} as never), "client.id"],
  ] as const) {
    expect(make).toThrow(expect.objectContaining({ code: "INVALID_CONFIG", details: { path } }));
  }
});
