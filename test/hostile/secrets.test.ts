import { chmod, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, vi } from "vitest";
import { nodeIn, type Sandbox, sandboxes, works } from "../../example/sandbox/sandboxes.ts";
import { fileTokenStore, oauth } from "../../src/mcp/index.ts";
import { redactorOf } from "../../src/mcp/redact.ts";
import { parseTarget } from "../../src/mcp/target/parse-target.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure } from "../support/failure.ts";
import { child, server } from "../support/hand-server.ts";
import { verifies } from "../support/verifies.ts";
import { warningsLogger } from "../support/warnings-logger.ts";

const range = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const secret = "postgres://admin:Tr0ub4dor@db";

/** Everything that a reader of a value could find in it. */
const allOf = (value: unknown) => `${inspect(value, { depth: 20, showHidden: true })}${JSON.stringify(value)}`;

const die = `process.stderr.write(${JSON.stringify(`${secret}\n`)}, () => process.exit(1));`;

describe("what a server prints", () => {
  let toolkit: Toolkit;
  let logged: string;
  let errors: unknown[];

  beforeEach(() => {
    logged = "";
    errors = [];
    const log = (message: string) => {
      logged += message;
    };
    toolkit = new Toolkit({ logger: { debug: log, info: log, warn: log, error: log }, random: () => 1 });
    toolkit.on("connectorDisconnected", ({ error }) => void errors.push(error));
    toolkit.on("connectorRemoved", ({ error }) => void errors.push(error));
  });
  afterEach(async () => {
    await toolkit.close();
  });

  verifies(
    "H5",
    "before it has connected is in no error of a caller, and on the connection and in the log",
    async () => {
      const script = `console.log(${JSON.stringify(secret)}); ${die}`;
      const connection = toolkit.addConnector(child(script), { namespace: "far", retryMs: 600_000 });
      await toolkit.start();
      for (const name of ["mnie", "far.tool"]) errors.push(await failure(toolkit.call(name, {}, { timeoutMs: 200 })));
      const { failures } = await toolkit.list();
      expect(failures).toHaveLength(1);
      errors.push(failures);
      expect(errors.length).toBeGreaterThan(3);
      expect(allOf(errors)).toContain("exited with code 1");
      expect(allOf(errors)).not.toContain("Tr0ub4dor");
      expect(connection.stderr).toContain(secret);
      const { message = "" } = connection.lastError ?? {};
      expect(message).toContain(`stdout began with "${secret}"; stderr ended with "${secret}"`);
      expect([logged, JSON.stringify(connection)]).toEqual([
        expect.stringContaining("Tr0ub4dor"),
        expect.stringContaining("Tr0ub4dor"),
      ]);
    },
  );

  verifies(
    "H5",
    "as it dies in a call is not in the error of that call, of the next, nor of one that waited",
    async () => {
      const tools = `{ tools: [{ name: "work", inputSchema: { type: "object" } }] }`;
      const script = server(`
      if (m.method === "tools/list") send({ id: m.id, result: ${tools} });
      if (m.method === "tools/call") { ${die} }`);
      const connection = toolkit.addConnector(child(script), { namespace: "far", maxAttempts: 1, retryMs: 600_000 });
      await connection.ready();
      errors.push(await failure(toolkit.call("far.work", {})));
      expect((errors.at(-1) as { code: string }).code).toBe("OUTCOME_UNKNOWN");
      errors.push(await failure(toolkit.call("far.work", {}, { timeoutMs: 2_000 })));
      expect(allOf(errors)).toContain("exited with code 1");
      expect(allOf(errors)).not.toContain("Tr0ub4dor");
      expect(logged).toContain("Tr0ub4dor");
    },
  );

  verifies("H5", "as a list is asked for is in no failure of a list, nor after it was given up", async () => {
    const script = server(`if (m.method === "tools/list") { ${die} }`);
    const connection = toolkit.addConnector(child(script), { namespace: "far", maxAttempts: 2, retryMs: 1 });
    errors.push(await failure(connection.ready()));
    errors.push((await toolkit.list()).failures, await failure(toolkit.call("far.work", {})));
    expect(connection.state).toBe("stopped");
    expect(allOf(errors)).toContain("exited with code 1");
    expect(allOf(errors)).not.toContain("Tr0ub4dor");
    expect(connection.lastError?.message).toContain(secret);
  });
});

describe("what a server answers instead of a connection", () => {
  type Answer = (request: { readonly method: string; readonly id?: unknown }, response: ServerResponse) => void;
  const json = (id: unknown, body: object) => JSON.stringify({ jsonrpc: "2.0", id, ...body });
  const answered = (status: number, body: string, type = "application/json"): Answer => {
    return (_request, response) => void response.writeHead(status, { "content-type": type }).end(body);
  };
  const rpc =
    (body: object): Answer =>
    ({ id }, response) =>
      response.writeHead(200, { "content-type": "application/json" }).end(json(id, body));
  const refused = { error: { code: -32_000, message: secret, data: { secret } } };
  const initialized = {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "far", version: "1" },
  };
  const answers: Readonly<Record<string, Answer>> = {
    "a status with a body": answered(500, secret, "text/plain"),
    "a status with a phrase": (_request, response) => void response.writeHead(500, secret).end(),
    "a status that two transports get": answered(404, secret, "text/plain"),
    "a gateway that is down": answered(503, secret, "text/plain"),
    "no credentials": answered(401, secret, "text/plain"),
    "a redirect": (_request, response) =>
      void response.writeHead(307, { location: `https://other.test/${encodeURIComponent(secret)}` }).end(),
    "a JSON-RPC error": rpc(refused),
    "a revision that is none": rpc({ result: { ...initialized, protocolVersion: secret } }),
    "a list that fails": (request, response) =>
      rpc(request.method === "initialize" ? { result: initialized } : refused)(request, response),
  };

  verifies("H5", "is in no error of a caller, and on the connection or in the log", async () => {
    for (const [name, answer] of Object.entries(answers)) {
      const far = createServer(async (request, response) => {
        if (request.method !== "POST") return void response.writeHead(404, secret).end(secret);
        const message = JSON.parse(Buffer.concat(await request.toArray()).toString());
        if (message.id === undefined) response.writeHead(202).end();
        else answer(message, response);
      });
      await new Promise<void>((resolve) => far.listen(0, "127.0.0.1", resolve));
      let logged = "";
      const log = (message: string) => {
        logged += message;
      };
      const toolkit = new Toolkit({ logger: { debug: log, info: log, warn: log, error: log }, random: () => 1 });
      const errors: unknown[] = [];
      toolkit.on("connectorDisconnected", ({ error }) => void errors.push(error));
      const { port } = far.address() as AddressInfo;
      const connection = toolkit.addConnector(`http://127.0.0.1:${port}/mcp`, { namespace: "far", retryMs: 600_000 });
      await toolkit.start();
      for (const key of ["mnie", "far.tool"]) errors.push(await failure(toolkit.call(key, {}, { timeoutMs: 200 })));
      errors.push((await toolkit.list()).failures);
      expect(allOf(errors), name).not.toContain("Tr0ub4dor");
      expect(logged, name).toContain("Tr0ub4dor");
      if (connection.state !== "connected") expect(connection.lastError?.message, name).toContain("Tr0ub4dor");
      await toolkit.close();
      far.close();
      far.closeAllConnections();
    }
  });
});

describe("a key in the path of a URL", () => {
  const keys = [
    "550e8400-e29b-41d4-a716-446655440000",
    "sk-live-4eC39HqLyjWDarjtT1zdp7dc",
    "9f86d081884c7d659a2feaa0c55ad015",
    "bot123456:ABC-DEF1234ghIkl",
    "1234567890123456",
    "AbCdEfGhIjKlMnOpQrSt",
  ];
  let server: Server;
  let origin: string;

  beforeEach(async () => {
    // A server that says what it was sent.
    server = createServer((request, response) => {
      response
        .writeHead(418)
        .end(`${request.method} ${request.url?.toUpperCase()} ${decodeURIComponent(request.url ?? "")}`);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    origin = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    server.close();
    server.closeAllConnections();
  });

  verifies("H5", "is in no label, error, event, log or snapshot, whatever the server repeats of it", async () => {
    for (const key of keys) {
      const seen: unknown[] = [];
      const log = (...line: unknown[]) => void seen.push(line);
      await using toolkit = new Toolkit({ logger: { debug: log, info: log, warn: log, error: log }, random: () => 1 });
      toolkit.on("*", (event) => void seen.push(event));
      const url = `http://us3r-name:p4ss-word@${origin}/s/${encodeURIComponent(key)}/mcp?api=qu3ry-value#fr4gment`;
      const connection = toolkit.addConnector(url, { retryMs: 600_000 });
      await toolkit.start();
      expect(connection.label).toBe(`http://${origin}/s/***/mcp`);
      seen.push(connection, connection.lastError, await toolkit.list(), connection.namespace);
      seen.push(await failure(toolkit.call("mnie", {})), await toolkit.explain("mnie"));
      const again = () => toolkit.addConnector(url.replace("#fr4gment", ""));
      seen.push(await failure(Promise.resolve().then(again)));
      seen.push(await failure(toolkit.removeConnector(url.replace("/mcp", "/none"))));
      const invalid = () => toolkit.addConnector(url.replace("http:", "ftp:"));
      seen.push(await failure(Promise.resolve().then(invalid)));
      expect(allOf(seen)).toContain("418");
      for (const each of [key, encodeURIComponent(key), "us3r-name", "p4ss-word", "qu3ry-value", "fr4gment"]) {
        expect(allOf(seen).toLowerCase()).not.toContain(each.toLowerCase());
      }
    }
  });

  verifies(
    "H5",
    "or in its host, however short it is, is masked where a variable with the name of a secret puts it",
    async () => {
      vi.stubEnv("TENANT_KEY", "s3cr3t").stubEnv("PLACE", "far-away");
      const secretly = async (url: string, label: string) => {
        const seen: unknown[] = [];
        const log = (...line: unknown[]) => void seen.push(line);
        await using toolkit = new Toolkit({
          logger: { debug: log, info: log, warn: log, error: log },
          random: () => 1,
        });
        toolkit.on("*", (event) => void seen.push(event));
        const connection = toolkit.addConnector(url, { retryMs: 600_000 });
        await toolkit.start();
        expect(connection.label).toBe(label);
        seen.push(connection, connection.lastError, await toolkit.list(), connection.namespace);
        seen.push(await failure(toolkit.call("mnie", {})), await toolkit.explain("mnie"));
        seen.push(await failure(Promise.resolve().then(() => toolkit.addConnector(url))));
        expect(allOf(seen).toLowerCase()).not.toContain("s3cr3t");
        return allOf(seen);
      };
      const path = "/${PLACE}/${TENANT_KEY}/mcp";
      expect(await secretly(`http://${origin}${path}`, `http://${origin}/far-away/***/mcp`)).toContain("418");
      const host = "http://${TENANT_KEY}.invalid/${PLACE}";
      expect(await secretly(host, "http://***.invalid/far-away")).toMatch(/ENOTFOUND|EAI_AGAIN/);
      const toolkit = new Toolkit();
      for (const url of [
        "ftp://${TENANT_KEY}/mcp",
        "http://${TENANT_KEY}:x/",
        "http:${TENANT_KEY}/",
        "http://${TENANT_KEY} b/",
      ])
        seenIn(await failure(Promise.resolve().then(() => toolkit.addConnector(url))));
      function seenIn(error: unknown): void {
        expect(allOf(error)).not.toContain("s3cr3t");
      }
    },
  );

  verifies("H5", "still tells two servers apart, and finds the one to remove", async () => {
    await using toolkit = new Toolkit();
    const [first = "", second = ""] = keys.map((key) => `http://${origin}/s/${key}/mcp`);
    const asked: string[] = [];
    const headers = ({ url }: { readonly url: string }) => {
      asked.push(url);
      return {};
    };
    const connections = [first, second].map((url) => toolkit.addConnector(url, { headers, retryMs: 600_000 }));
    expect(connections.map(({ label }) => label)).toEqual([`http://${origin}/s/***/mcp`, `http://${origin}/s/***/mcp`]);
    await toolkit.start();
    expect(new Set(asked)).toEqual(new Set([first, second]));
    await toolkit.removeConnector(first);
    expect(toolkit.connections).toEqual([connections[1]]);
  });

  verifies("H5", "is told from a name, which is shown", () => {
    const toolkit = new Toolkit();
    for (const name of [
      "modelcontextprotocol",
      "streamable-http-server",
      "my-mcp-server-2025-11-25",
      "myCompanyKnowledgeBase",
      "oauth2-server-example",
    ]) {
      expect(toolkit.addConnector(`http://${origin}/${name}/mcp`).label).toBe(`http://${origin}/${name}/mcp`);
    }
  });
});

describe("a secret that a server was sent", () => {
  const key = "Hunter2-hunter2/ÄÖ";
  const about = `{ serverInfo: { name: "a " + shout, title: key, version: key }, instructions: "Use " + shout }`;
  const script = `
const key = process.env.API_KEY, shout = key.toUpperCase();
const schema = { type: "object", description: key, properties: { stage: { enum: ["production", shout] } } };
const lists = {
  "tools/list": { tools: [{ name: "run_" + key, title: shout, description: shout, inputSchema: schema, _meta: { note: [shout] } }] },
  "prompts/list": { prompts: [{ name: "ask_" + key, description: shout, arguments: [{ name: "a", description: key }] }] },
  "resources/list": { resources: [{ uri: "note:" + key, name: shout, description: shout }] },
  "resources/templates/list": { resourceTemplates: [{ uriTemplate: "note:" + shout + "/{x}", name: shout }] },
};
const text = (text) => ({ type: "text", text });
${server(
  `
  const { name, uri, arguments: given, _meta } = m.params ?? {};
  if (m.method in lists) send({ id: m.id, result: lists[m.method] });
  if (m.method === "prompts/get") send({ id: m.id, result: { messages: [{ role: "user", content: text(name) }] } });
  if (m.method === "resources/read") send({ id: m.id, result: { contents: [{ uri, text: uri }] } });
  if (m.method === "tools/call" && given.stage === "production") {
    send({ method: "notifications/message", params: { level: "warning", logger: shout, data: { [shout]: shout } } });
    send({ method: "notifications/progress", params: { progressToken: _meta.progressToken, progress: 1, message: shout } });
    send({ id: m.id, result: { content: [text(name + shout)] } });
  }
  if (m.method === "tools/call" && given.stage === undefined) send({ id: m.id, error: { code: -1, message: shout, data: shout } });`,
  about,
  "{ tools: {}, prompts: {}, resources: {}, logging: {} }",
)}`;

  verifies("H5", "is masked in all it tells of itself, in upper or lower case, and relayed in results", async () => {
    const seen: unknown[] = [];
    const log = (...line: unknown[]) => void seen.push(line);
    await using toolkit = new Toolkit({ logger: { debug: log, info: log, warn: log, error: log } });
    toolkit.on("*", (event) => void seen.push(event));
    const env = { API_KEY: key, NODE_ENV: "production" };
    const connection = toolkit.addConnector({ ...child(script), env });
    await connection.ready();
    const { entries } = await toolkit.list({ kind: ["tool", "prompt", "resource", "template"] });
    expect(entries).toHaveLength(4);
    seen.push(
      entries,
      connection,
      connection.server,
      await Promise.all(entries.map(({ ref }) => toolkit.explain(ref))),
    );
    const options = { onProgress: (progress: unknown) => void seen.push(progress) };
    const ran = await toolkit.call("run_***", { stage: "production" }, options);
    seen.push(await failure(toolkit.call("run_***", {})), toolkit.connections);
    // The server knows them by their own names.
    expect(await ran.text()).toBe(`run_${key}${key.toUpperCase()}`);
    expect((await toolkit.render("ask_***", { a: "b" })).messages).toMatchObject([{ role: "user" }]);
    expect(await (await toolkit.read("note:***")).text()).toBe(`note:${key}`);
    expect(allOf(seen)).toContain("production");
    expect(allOf(seen).match(/\*{3}/g)?.length).toBeGreaterThan(20);
    expect(allOf(seen).toLowerCase()).not.toContain("hunter2");
  });

  verifies("H5", "is masked in what it asks a person and a model", async () => {
    const asking = `
const key = process.env.API_KEY, shout = key.toUpperCase();
const requests = [
  { method: "elicitation/create", params: { message: "Is it " + shout + " in production?", requestedSchema: { type: "object", title: key, properties: { stage: { type: "string", description: shout } } } } },
  { method: "elicitation/create", params: { mode: "url", message: key, url: "https://far.test/?key=" + encodeURIComponent(key) } },
  { method: "sampling/createMessage", params: { maxTokens: 9, systemPrompt: key, messages: [{ role: "user", content: { type: "text", text: "say " + shout } }] } },
];
let call;
const next = () => {
  const request = requests.shift();
  if (request === undefined) send({ id: call, result: { content: [{ type: "text", text: "done" }] } });
  else send({ id: "q" + requests.length, ...request });
};
${server(`
  if (m.method === "tools/list") send({ id: m.id, result: { tools: [{ name: "ask", inputSchema: { type: "object" } }] } });
  if (m.method === "tools/call") { call = m.id; next(); }
  if (m.method === undefined) next();`)}`;
    const seen: unknown[] = [];
    await using toolkit = new Toolkit({
      delegate: {
        elicit: async (request) => {
          seen.push(request);
          return { action: "decline" };
        },
        sample: async (request) => {
          seen.push(request);
          return { role: "assistant", content: { type: "text", text: "ok" }, model: "scripted" };
        },
      },
    });
    const env = { API_KEY: key, NODE_ENV: "production" };
    await toolkit.addConnector({ ...child(asking), env }, { namespace: "far" }).ready();
    expect(await (await toolkit.call("far.ask", {})).text()).toBe("done");
    expect(seen).toMatchObject([
      { message: "Is it *** in production?", schema: { title: "***", properties: { stage: { description: "***" } } } },
      { message: "***", url: "https://far.test/?key=***" },
      { systemPrompt: "***", messages: [{ content: { text: "say ***" } }] },
    ]);
    expect(allOf(seen).toLowerCase()).not.toContain("hunter2");
  });
});

describe("secrets that are too long for one pattern", () => {
  const script = server(`
if (m.method === "tools/list") send({ id: m.id, result: { tools: [{ name: "fail", description: "fails", inputSchema: { type: "object" } }] } });
if (m.method === "tools/call") send({ id: m.id, error: { code: 1, message: "because of <" + process.env.KEYFILE + ">" } });`);
  // The quotes have two more forms.
  const long = range(2_500, (at) => `"line ${at} of the file"`).join(" ");

  verifies("H5", "are masked all the same, one of 60 KB or 200 of 1 KB", async () => {
    const logged: string[] = [];
    const log = (message: string) => void logged.push(message);
    const toolkit = new Toolkit({ logger: { debug: log, info: log, warn: log, error: log } });
    try {
      const connection = toolkit.addConnector({ ...child(script), env: { KEYFILE: long } }, { namespace: "far" });
      await connection.ready({ signal: AbortSignal.timeout(10_000) });
      const error = await failure(toolkit.call("far.fail"));
      expect(error).toMatchObject({ message: expect.stringMatching(/because of <[*]+>/) });
      expect(allOf(error) + logged.join() + JSON.stringify(connection)).not.toContain("of the file");
    } finally {
      await toolkit.close();
    }

    const redactor = redactorOf(parseTarget({ url: "https://host/mcp" }));
    const tokens = range(200, (at) => `Bearer eyJ.${at}.${"abcdefghi-".repeat(100)}`);
    for (const token of tokens) redactor.conceal(token);
    expect(redactor.text(`a ${tokens[0]} b ${tokens[199]} c`)).toBe("a *** b *** c");
  });
});

describe("the environment of a child", () => {
  const passed = {
    HTTPS_PROXY: "http://proxy.corp:3128",
    http_proxy: "proxy.corp:3128",
    NO_PROXY: "localhost,.corp",
    NODE_EXTRA_CA_CERTS: "/etc/ssl/certs/ca-certificates.crt",
    SSL_CERT_FILE: "/etc/ssl/corp@2x.pem",
    REQUESTS_CA_BUNDLE: "/etc/ssl/corp.pem",
    npm_config_registry: "https://npm.corp/api/npm/virtual/",
    LANG: "de_CH.UTF-8",
  };
  const kept = {
    ALL_PROXY: "http://anna:p4ss@proxy.corp:3128",
    FTP_PROXY: "http://proxy.corp:3128",
    npm_config_https_proxy: "anna:p4ss@proxy.corp:3128",
    PIP_INDEX_URL: "https://pip.corp/9f86d081884c7d659a2feaa0c55ad015/simple",
    npm_config__authToken: "npm_abc",
    AWS_SECRET_ACCESS_KEY: "abc",
    GITHUB_TOKEN: "abc",
    DATABASE_URL: "postgres://anna:p4ss@db/main",
  };
  const script = server(`
    if (m.method === "tools/list") send({ id: m.id, result: { tools: [{ name: "env", inputSchema: { type: "object" } }] } });
    if (m.method === "tools/call") send({ id: m.id, result: { content: [], structuredContent: process.env } });`);
  const warnings: string[] = [];
  const { logger } = warningsLogger(warnings);
  const environmentOf = async (more: object) => {
    await using toolkit = new Toolkit({ logger });
    toolkit.addConnectors({ mcpServers: { far: { ...child(script), ...more } } });
    await toolkit.start();
    return (await (await toolkit.call("far.env", {})).json()) as Record<string, string>;
  };

  beforeEach(() => {
    warnings.length = 0;
    for (const [name, value] of Object.entries({ ...passed, ...kept })) vi.stubEnv(name, value);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  verifies("H5", "leads to the registries behind a proxy, and has no credential that it was not given", async () => {
    const environment = await environmentOf({ env: { GITHUB_TOKEN: "${GITHUB_TOKEN}" } });
    expect(environment).toMatchObject({ ...passed, PATH: process.env.PATH, GITHUB_TOKEN: "abc" });
    const { GITHUB_TOKEN: _given, ...rest } = kept;
    for (const name of Object.keys(rest)) expect(environment).not.toHaveProperty(name);
    const [warning = "", ...others] = warnings.filter((each) => each.includes("credential"));
    expect(others).toEqual([]);
    for (const name of ["ALL_PROXY", "npm_config_https_proxy", "PIP_INDEX_URL"]) expect(warning).toContain(name);
    expect(warning).not.toContain("p4ss");
  });

  verifies("H5", "has what it is given by name, without a warning", async () => {
    const names = ["ALL_PROXY", "npm_config_https_proxy", "PIP_INDEX_URL"] as const;
    const env = Object.fromEntries(names.map((name) => [name, `\${${name}}`]));
    expect(await environmentOf({ env })).toMatchObject(Object.fromEntries(names.map((name) => [name, kept[name]])));
    expect(warnings).toEqual([]);
  });

  describe.skipIf(process.platform === "win32")("of a wrapped one (`env` is not on Windows)", () => {
    verifies("H5", "is that of the command which wraps it", async () => {
      const wrap = ["env", "-u", "HTTPS_PROXY", "IN=${NO_PROXY}"];
      const environment = await environmentOf({ wrap });
      expect(environment).toMatchObject({ IN: passed.NO_PROXY, SSL_CERT_FILE: passed.SSL_CERT_FILE });
      expect(environment).not.toHaveProperty("HTTPS_PROXY");
    });
  });
});

const sandboxNames = Object.keys(sandboxes) as Sandbox[];
for (const name of sandboxNames) {
  const isUsable = works(name);
  const why = isUsable ? "" : " (skipped: it is not installed here, or may not be used)";
  describe.skipIf(!isUsable)(`a server in the sandbox of ${name}${why}`, () => {
    verifies("H5", "answers, cannot reach the network, and ends with its connection", async () => {
      const page = createServer((_request, response) => response.end("a page"));
      await new Promise<void>((resolve) => page.listen(0, "127.0.0.1", resolve));
      const url = `http://127.0.0.1:${(page.address() as AddressInfo).port}/`;
      const script = await readFile(new URL("../../example/sandbox/server.mjs", import.meta.url), "utf8");
      const args = ["--input-type=module", "--eval", script];
      await using toolkit = new Toolkit();
      toolkit.addConnector({ command: process.execPath, args }, { namespace: "open" });
      const closed = { command: nodeIn(name), args, wrap: sandboxes[name] };
      const connection = toolkit.addConnector(closed, { namespace: "closed" });
      await toolkit.start();
      expect(connection.label).toBe("node");
      expect(await (await toolkit.call("open.page", { url })).text()).toBe("a page");
      expect((await failure(toolkit.call("closed.page", { url }))).code).toBe("TOOL_FAILED");
      const { processId = 0 } = connection;
      await connection.close();
      expect(() => process.kill(processId, 0)).toThrow("ESRCH");
      page.close();
    });
  });
}

describe.skipIf(process.platform === "win32")("a file of tokens (Windows has no modes)", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "toolweave-tokens-"));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  verifies(
    "H5",
    "that others may read is reported to the operator, and is its owner's alone once it is written",
    async () => {
      const file = join(folder, "tokens.json");
      const store = fileTokenStore(file);
      const modeOf = async () => ((await stat(file)).mode & 0o777).toString(8);
      const { warnings, logger } = warningsLogger();
      const connect = async () => {
        await using toolkit = new Toolkit({ logger });
        // Nothing listens there: the report needs no server.
        toolkit.addConnector("http://127.0.0.1:9/mcp", { namespace: "far", auth: oauth({ store }), retryMs: 600_000 });
        await toolkit.start();
        return warnings.splice(0).filter((warning) => warning.includes("mode"));
      };
      expect(await connect()).toEqual([]);
      await store.write("key", { issuer: "https://issuer" });
      expect([await modeOf(), await connect()]).toEqual(["600", []]);
      await chmod(file, 0o644);
      const [warning, ...others] = await connect();
      expect([warning, others]).toEqual([expect.stringContaining(`The token file ${file} has mode 644`), []]);
      expect(warning).toContain("chmod 600");
      await store.write("other", { issuer: "https://issuer" });
      expect([await modeOf(), await connect()]).toEqual(["600", []]);
    },
  );
});

describe("secrets that an authorization server chose", () => {
  const known = () => redactorOf(parseTarget({ url: "https://host/mcp" }));
  const seconds = (run: () => void) => {
    const before = process.cpuUsage();
    run();
    return process.cpuUsage(before).user / 1_000_000;
  };

  verifies(["M11", "H5"], "are looked for in linear time, also where a text is almost one everywhere", () => {
    const redactor = known();
    redactor.conceal(`${"a".repeat(3_500)}b${"a".repeat(3_500)}`);
    const text = "a".repeat(1_048_576);
    // Nearly three seconds, compared at each place.
    expect(seconds(() => redactor.text(text))).toBeLessThan(1);
    expect(seconds(() => redactor.value([text.slice(0, 500_000), { [text.slice(500_000)]: 1 }]))).toBeLessThan(1);
    // A text that is not searched to its end is not shown.
    expect(redactor.text(text)).toBe("***");
    expect(redactor.text(`a word ${"a".repeat(500)}`)).toContain("a word");
  });

  verifies(
    ["M11", "H5"],
    "that change with each request cost no more each time, and no more than a mebibyte is known",
    () => {
      const redactor = known();
      const token = (number: number, length: number) => `t0ken-${number}-${"x".repeat(length)}`;
      const rotate = (length: number, times: number) =>
        seconds(() => {
          for (let number = 1; number <= times; number++) {
            redactor.conceal(`Bearer ${token(number, length)}`);
            expect(redactor.text(`<${token(number, length)}>`)).toBe("<***>");
          }
        });
      // More than a minute, where all are made one expression each time.
      expect(rotate(300, 500)).toBeLessThan(1);
      expect(rotate(50_000, 50)).toBeLessThan(1);
      const last = [...Array(60).keys()].filter((number) => redactor.text(token(number, 50_000)) === "***");
      expect(last).toEqual([...Array(20).keys()].map((index) => 31 + index));
    },
  );
});
