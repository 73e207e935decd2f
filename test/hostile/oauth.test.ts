import { generateKeyPairSync } from "node:crypto";
import type { RequestListener } from "node:http";
import { connect } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { inspect } from "node:util";
import { afterEach, describe, expect } from "vitest";
import { ToolkitError } from "../../src/core/error.ts";
import { clientCredentials, mcpConnector, memoryTokenStore, oauth } from "../../src/mcp/index.ts";
import { never, RecordingHost } from "../mcp/fixture/host.ts";
import { rejection } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import {
  authority,
  closeAll,
  connecting,
  metadataOf,
  person,
  protectedServer,
  type Recorder,
  record,
} from "./evil-authority.ts";

import { oauthFuzz } from "./fuzz/oauth.ts";

afterEach(closeAll);

const listed = (...authorities: readonly Recorder[]) => ({
  authorization_servers: authorities.map(({ origin }) => origin),
});
/** Another one draws other answers. */
const seed = 12;
const secret = "client-s3cret-0123456789";
const privateKey = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({
  type: "pkcs8",
  format: "pem",
});
const all = (...recorders: readonly Recorder[]) => JSON.stringify(recorders.map(({ seen }) => seen));

describe("a client that was registered beforehand", () => {
  verifies("M11", "gives nothing to another authorization server than its own", async () => {
    const own = await authority();
    const evil = await authority();
    const server = await protectedServer(() => listed(evil));
    const { open, pages } = person();
    for (const auth of [
      clientCredentials({ client: { id: "me", issuer: own.origin, secret } }),
      clientCredentials({ client: { id: "me", issuer: own.origin, privateKey: String(privateKey) } }),
      oauth({ client: { id: "me", issuer: own.origin, secret }, open }),
    ]) {
      const error = await connecting(server, auth, [evil]);
      expect(error).toMatchObject({ code: "UNAUTHORIZED", message: expect.stringContaining("nothing was sent") });
    }
    expect(evil.paths).not.toContain("/token");
    expect(all(evil, server)).not.toContain(secret);
    expect(pages).toEqual([]);
  });

  verifies("M11", "takes its own of several authorization servers, and needs no egress for that", async () => {
    const own = await authority();
    const evil = await authority();
    const server = await protectedServer(() => listed(evil, own));
    await connecting(server, clientCredentials({ client: { id: "me", issuer: own.origin, secret } }), []);
    expect(own.form("/token").get("client_secret")).toBe(secret);
    expect(evil.seen).toEqual([]);
  });

  verifies("M11", "signs for its own issuer, whatever the metadata say", async () => {
    const own = await authority((origin) => ({
      "/.well-known/oauth-authorization-server": { ...metadataOf(origin), issuer: `${origin}/` },
    }));
    const server = await protectedServer(() => listed(own));
    const client = { id: "me", issuer: own.origin, privateKey: String(privateKey) };
    await connecting(server, clientCredentials({ client }), []);
    const [, claims = ""] = (own.form("/token").get("client_assertion") ?? "").split(".");
    expect(JSON.parse(Buffer.from(claims, "base64url").toString())).toMatchObject({ aud: own.origin, iss: "me" });
  });

  verifies("M11", "without an issuer is INVALID_CONFIG", () => {
    for (const issuer of [
      undefined,
      "",
      "auth.example.com",
      "ftp://a.example",
      "https://a.example?x",
      "https://u@a.example",
    ]) {
      const make = () => clientCredentials({ client: { id: "me", issuer: issuer as string, secret } });
      expect(make).toThrow(expect.objectContaining({ code: "INVALID_CONFIG", details: { path: "client.issuer" } }));
    }
  });
});

describe("metadata of an authorization server", () => {
  const described = (fields: object) =>
    authority((origin) => ({ "/.well-known/oauth-authorization-server": { ...metadataOf(origin), ...fields } }));

  async function asked(fields: object) {
    const evil = await described(fields);
    const server = await protectedServer(() => listed(evil));
    const { open, pages } = person();
    const error = await connecting(server, oauth({ open }), [evil]);
    return { error, pages, evil };
  }

  verifies("M11", "that name another issuer are refused", async () => {
    const { error, pages, evil } = await asked({ issuer: "https://good.example" });
    expect(error).toMatchObject({ code: "UNAUTHORIZED", message: expect.stringContaining("name another issuer") });
    expect(pages).toEqual([]);
    expect(evil.paths).not.toContain("/register");
  });

  verifies("M11", "that do not promise PKCE with S256 are refused", async () => {
    for (const methods of [undefined, [], ["plain"]]) {
      const { error, pages, evil } = await asked({ code_challenge_methods_supported: methods });
      expect(error).toMatchObject({ code: "UNAUTHORIZED", message: expect.stringContaining("PKCE with S256") });
      expect(pages).toEqual([]);
      expect(evil.paths).not.toContain("/register");
    }
    // None at all promise nothing either, but of a server older than such metadata.
    const evil = await authority(() => ({ "/.well-known/oauth-authorization-server": undefined }));
    const server = await protectedServer(() => listed(evil));
    const error = await connecting(server, oauth({ open: person().open }), [evil]);
    expect(error).toMatchObject({ code: "UNAUTHORIZED", message: expect.stringContaining("PKCE with S256") });
    expect(evil.paths).not.toContain("/register");
  });

  verifies("M11", "that lead a person to what is no page of https or this machine are refused", async () => {
    for (const page of [
      "file:///etc/passwd",
      "ssh://evil.example/x",
      "vscode://evil.example/run",
      "http://evil.example/authorize",
      "https://good.example@evil.example/authorize",
      "http://127.0.0.1.evil.example/",
    ]) {
      const { error, pages } = await asked({ authorization_endpoint: page });
      expect(error, page).toMatchObject({ code: "UNAUTHORIZED", message: expect.stringContaining("is opened") });
      expect(pages, page).toEqual([]);
    }
  });

  verifies(["M11", "H5"], "reach no service inside, whichever field leads there", async () => {
    const inside = await record(() => ({}));
    const fields = ["token_endpoint", "registration_endpoint"] as const;
    for (const field of fields) {
      const { error } = await asked({ [field]: `${inside.origin}/admin` });
      expect(error, field).toMatchObject({
        code: "UNAUTHORIZED",
        message: expect.stringContaining("loopback address"),
      });
    }
    const { open } = person();
    const issuer = await protectedServer(() => listed(inside));
    const metadata = await protectedServer(
      () => ({}),
      () => `Bearer resource_metadata="${inside.origin}/admin"`,
    );
    const evil = await authority(() => ({
      "/.well-known/oauth-authorization-server": ((_request, response) => {
        response.writeHead(302, { location: `${inside.origin}/admin` }).end();
      }) satisfies RequestListener,
    }));
    const redirecting = await protectedServer(() => listed(evil));
    for (const server of [issuer, metadata, redirecting])
      expect(await connecting(server, oauth({ open }), [evil])).toMatchObject({ code: "UNAUTHORIZED" });
    expect(inside.seen).toEqual([]);
  });

  verifies("M11", "are read within 64 KiB, and an answer without end ends", async () => {
    let sent = 0;
    const endless: RequestListener = (_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const more = (error?: Error | null) => {
        // Node 26 calls back at once, before the response is destroyed, where the connection is gone.
        if (error || response.destroyed) return;
        sent += 16_384;
        response.write(" ".repeat(16_384), more);
      };
      more();
    };
    const evil = await authority(() => ({ "/.well-known/oauth-authorization-server": endless }));
    const server = await protectedServer(() => listed(evil));
    const error = await connecting(server, oauth({ open: () => {} }), [evil]);
    expect(error).toMatchObject({ code: "LIMIT_EXCEEDED", details: { limit: "maxAnswerBytes", max: 65_536 } });
    expect(sent).toBeLessThan(16 * 1024 * 1024);
  });
});

describe("the answer with which a person is sent back", () => {
  const named = { authorization_response_iss_parameter_supported: true };

  async function sentBack(
    parameters: readonly (readonly [string, string])[],
    place: "oauth-authorization-server" | "openid-configuration",
  ) {
    const evil = await authority((origin) => ({
      "/.well-known/oauth-authorization-server": undefined,
      [`/.well-known/${place}`]: {
        ...metadataOf(origin),
        ...named,
        jwks_uri: `${origin}/jwks`,
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
      },
    }));
    const server = await protectedServer(() => listed(evil));
    const given = parameters.map(([name, value]) => [name, value.replace("OWN", evil.origin)] as const);
    const error = await connecting(server, oauth({ open: person(given).open }), [evil]);
    return { error, evil };
  }

  verifies("M11", "costs no code where its iss is missing, another, another spelling, or there are two", async () => {
    for (const place of ["oauth-authorization-server", "openid-configuration"] as const) {
      for (const parameters of [
        [],
        [["iss", "https://good.example"]],
        [["iss", "OWN/"]],
        [["iss", ""]],
        [
          ["iss", "OWN"],
          ["iss", "https://good.example"],
        ],
      ] as const) {
        const { error, evil } = await sentBack(parameters, place);
        expect(error, `${place} ${parameters}`).toMatchObject({ code: "UNAUTHORIZED" });
        expect((error as Error).message).toMatch(/another (?:authorization server|one)/);
        expect(evil.paths, `${place} ${parameters}`).not.toContain("/token");
      }
      expect((await sentBack([["iss", "OWN"]], place)).evil.paths).toContain("/token");
    }
  });

  verifies("M11", "says nothing of another authorization server's errors", async () => {
    const { error } = await sentBack(
      [
        ["iss", "https://good.example"],
        ["error", "evil-text"],
      ],
      "oauth-authorization-server",
    );
    expect(inspect(error, { depth: 12 })).not.toContain("evil-text");
  });
});

verifies("M11", "the resource is sent as it is published, without a slash of ours", async () => {
  const own = await authority();
  const server = await protectedServer((origin) => ({ ...listed(own), resource: origin }));
  const { open, pages } = person();
  await connecting(server, oauth({ open }), [own]);
  expect(pages[0]?.searchParams.get("resource")).toBe(server.origin);
  expect(own.form("/token").get("resource")).toBe(server.origin);
  await connecting(server, clientCredentials({ client: { id: "me", issuer: own.origin, secret } }), []);
  expect(own.form("/token").get("resource")).toBe(server.origin);
});

verifies("M11", "a resource that moves has the service register anew, and nothing goes along", async () => {
  const first = await authority();
  const second = await authority();
  let current = first;
  // The challenge does not say where the metadata are: what was found once must not be taken for ever.
  const server = await protectedServer(
    () => listed(current),
    () => "Bearer",
  );
  const { open } = person();
  const egress = { allow: [first.origin, second.origin] };
  const store = memoryTokenStore();
  const connector = mcpConnector(`${server.origin}/mcp`, { auth: oauth({ open, store }), egress });
  const connect = () => rejection(connector.connect({ signal: never, host: new RecordingHost() }));
  await connect();
  expect(first.paths).toContain("/token");
  current = second;
  await connect();
  expect(second.paths).toContain("/register");
  expect(second.form("/token").get("client_id")).toBe(`client-of-${second.origin}`);
  expect(all(second)).not.toContain(`-of-${first.origin}`);
  expect(await store.read(`${server.origin}/mcp`)).toMatchObject({ issuer: second.origin });
});

verifies("M11", "a document that describes the client is preferred to a registration", async () => {
  const own = await authority((origin) => ({
    "/.well-known/oauth-authorization-server": { ...metadataOf(origin), client_id_metadata_document_supported: true },
  }));
  const server = await protectedServer(() => listed(own));
  const clientMetadataUrl = "https://service.example/client.json";
  const store = memoryTokenStore();
  // It was registered before it had a document.
  const registered = { id: "registered", redirectUri: "http://127.0.0.1:4/callback" };
  await store.write(`${server.origin}/mcp`, { issuer: own.origin, client: registered });
  const { open, pages } = person();
  await connecting(server, oauth({ open, clientMetadataUrl, store }), [own]);
  expect(pages[0]?.searchParams.get("client_id")).toBe(clientMetadataUrl);
  expect(own.paths).not.toContain("/register");
});

verifies(["M11", "H5"], "whatever it answers, an attempt ends with tokens or a ToolkitError", async () => {
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  let left = 150;
  for (const { describe, run } of oauthFuzz.cases(random)) {
    if (left === 0) break;
    left -= 1;
    const error = await Promise.resolve(run()).catch((thrown: unknown) => thrown);
    expect(error === undefined || ToolkitError.is(error), `seed ${seed}, ${describe}: ${String(error)}`).toBe(true);
  }
});

verifies("M11", "no request to the place where a person is sent back ends the process", async () => {
  const evil = await authority();
  const server = await protectedServer(() => listed(evil));
  const answers: string[] = [];
  const { open } = person();
  const sentElsewhere = async (page: URL) => {
    const { port } = new URL(page.searchParams.get("redirect_uri") ?? "");
    for (const path of ["//", "//:", "http://[", "/callback?state=%FF", "*", "///?state="])
      answers.push(`${path} ${await statusLine(Number(port), path)}`);
    await open(page);
  };
  const error = await connecting(server, oauth({ open: sentElsewhere }), [evil]);
  // It went on: the token was given, and refused by the server.
  expect(error).toMatchObject({ code: "UNAUTHORIZED", message: expect.stringContaining("has just been given") });
  expect(answers).toEqual([
    "// HTTP/1.1 404 Not Found",
    "//: HTTP/1.1 404 Not Found",
    "http://[ HTTP/1.1 404 Not Found",
    "/callback?state=%FF HTTP/1.1 400 Bad Request",
    "* HTTP/1.1 404 Not Found",
    "///?state= HTTP/1.1 404 Not Found",
  ]);
});

verifies("M11", "a document with a user or a fragment in its URL is INVALID_CONFIG", () => {
  for (const clientMetadataUrl of ["https://u:p@me.example/client.json", "https://me.example/client.json#me"]) {
    const make = () => oauth({ clientMetadataUrl });
    expect(make).toThrow(expect.objectContaining({ code: "INVALID_CONFIG", details: { path: "clientMetadataUrl" } }));
  }
});

verifies(
  "M11",
  "a person is shown no more than five pages, however often a server forgets what was authorized",
  async () => {
    const evil = await authority((origin) => ({
      "/token": { access_token: `token-of-${origin}`, token_type: "Bearer" },
    }));
    const server = await protectedServer(() => listed(evil));
    const { open, pages } = person();
    const egress = { allow: [evil.origin] };
    const connector = mcpConnector(`${server.origin}/mcp`, { auth: oauth({ open }), egress });
    const attempt = () => rejection(connector.connect({ signal: never, host: new RecordingHost() }));
    for (let count = 0; count < 5; count++) await attempt();
    expect(pages).toHaveLength(5);
    const message = expect.stringMatching(/5 pages for it within ten minutes: the next one in [0-9]+ s\.$/);
    expect(await attempt()).toMatchObject({ code: "UNAUTHORIZED", message });
    expect(pages).toHaveLength(5);
  },
);

describe("an error", () => {
  verifies("M11", "of an authorization that gave long secrets is a ToolkitError without them", async () => {
    const long = `s3cret-${"x".repeat(50_000)}`;
    for (const fields of [
      { access_token: long },
      { refresh_token: long },
      { access_token: `ü${long.slice(0, 20_000)}` },
    ]) {
      const given = { access_token: "short-s3cret", token_type: "Bearer", ...fields };
      const evil = await authority(() => ({ "/token": given }));
      const server = await protectedServer(() => listed(evil));
      const error = await connecting(server, oauth({ open: person().open }), [evil]);
      expect(ToolkitError.is(error), String(error).slice(0, 100)).toBe(true);
      expect(inspect(error, { depth: 12, maxStringLength: null })).not.toContain("s3cret");
    }
  });

  verifies("M11", "quotes no text that stands for the code of an error", async () => {
    const text = "Your session expired: call 555 quoted-s3cret";
    for (const code of ["constructor", "__proto__", "toString", text]) {
      const evil = await authority(() => ({
        "/token": ((_request, response) => {
          response.writeHead(400, { "content-type": "application/json" });
          response.end(`{"error":${JSON.stringify(code)},"error_description":"quoted-s3cret"}`);
        }) satisfies RequestListener,
      }));
      const server = await protectedServer(() => listed(evil));
      const client = { id: "me", issuer: evil.origin, secret };
      for (const auth of [oauth({ open: person().open }), clientCredentials({ client })]) {
        const error = await connecting(server, auth, [evil]);
        expect(ToolkitError.is(error), code).toBe(true);
        expect(inspect(error, { depth: 12, showHidden: true }), code).not.toContain("quoted-s3cret");
      }
      const error = await connecting(server, oauth({ open: person([["error", code]]).open }), [evil]);
      expect(error).toMatchObject({ code: "UNAUTHORIZED" });
      expect(inspect(error, { depth: 12, showHidden: true }), code).not.toContain("quoted-s3cret");
    }
  });

  const quote = "root:x:0:0:quoted-s3cret";
  const json = (status: number, body: unknown): RequestListener => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return (_request, response) => void response.writeHead(status, { "content-type": "application/json" }).end(text);
  };
  const answers: readonly RequestListener[] = [
    json(200, quote),
    json(400, quote),
    json(200, { access_token: { [quote]: quote }, token_type: quote }),
    json(200, { access_token: "t", token_type: quote }),
    json(400, { error: quote, error_description: quote }),
    json(400, { error: "invalid_client", error_description: quote, error_uri: quote }),
    json(400, { error: "invalid_grant", error_description: quote }),
    json(500, quote),
    (_request, response) => void response.socket?.end(`${quote}\r\n`),
  ];

  verifies(
    ["M11", "H5"],
    "quotes nothing of what an authorization server answers, at any of its endpoints",
    async () => {
      for (const place of ["/token", "/register", "/.well-known/oauth-authorization-server"]) {
        for (const [index, answer] of answers.entries()) {
          const evil = await authority(() => ({ [place]: answer }));
          const server = await protectedServer(() => listed(evil));
          const auths = [
            oauth({ open: person().open }),
            clientCredentials({ client: { id: "me", issuer: evil.origin, secret } }),
          ];
          for (const auth of auths) {
            const error = await connecting(server, auth, [evil]);
            const said = inspect(error, { depth: 12, showHidden: true });
            expect(said, `answer ${index} at ${place}`).not.toContain("quoted-s3cret");
          }
        }
      }
    },
  );
});

/** The first line with which a server of this machine answers a path that is sent as it is written. */
async function statusLine(port: number, path: string): Promise<string | undefined> {
  const socket = connect(port, "127.0.0.1");
  socket.end(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`);
  return (await textOf(socket)).split("\r\n")[0];
}
