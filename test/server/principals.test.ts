import { describe, expect } from "vitest";
import { defineTool, memoryStore, resource, Toolkit } from "../../src/index.ts";
import { mcpConnector } from "../../src/mcp/index.ts";
import { type AuditRecord, createMcpHandler, type VerifiedToken } from "../../src/server/index.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";
import { call, serveOverHttp } from "./fixture/client.ts";
import { servedToolkit } from "./fixture/toolkit.ts";

const tokens = { ada: "ada-has-a-long-token", ben: "ben-has-a-long-token" };
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe("principals", () => {
  verifies("V3", "are known by their tokens, and without one nothing is served", async () => {
    await using toolkit = servedToolkit();
    await using endpoint = await serveOverHttp(toolkit, { tokens });
    const ada = await endpoint.connect(bearer(tokens.ada));
    const ben = await endpoint.connect(bearer(tokens.ben));
    expect(await ada.client.callTool({ name: "whoami" })).toMatchObject({ content: [{ text: "ada" }] });
    expect(await ben.client.callTool({ name: "whoami" })).toMatchObject({ content: [{ text: "ben" }] });
    for (const headers of [{}, bearer("ada-has-a-long-tokem"), { authorization: `Basic ${tokens.ada}` }]) {
      const refused = await endpoint.post(call(1, "whoami"), headers);
      expect(refused.status).toBe(401);
      expect(refused.headers.get("www-authenticate")).toBe("Bearer");
      expect(await refused.text()).not.toContain("token");
    }
  });

  verifies(
    "V3",
    "come from a hook that sees the request; one that throws lets nobody in and says nothing",
    async () => {
      await using toolkit = servedToolkit();
      const authenticate = (request: Request) => {
        const user = request.headers.get("x-user");
        if (user === "broken") throw new Error("the directory at 10.0.0.7 is down");
        return user ?? undefined;
      };
      await using endpoint = await serveOverHttp(toolkit, { authenticate });
      const { client } = await endpoint.connect({ "x-user": "ada" });
      expect(await client.callTool({ name: "whoami" })).toMatchObject({ content: [{ text: "ada" }] });
      expect((await endpoint.post(call(1, "whoami"))).status).toBe(401);
      const broken = await endpoint.post(call(1, "whoami"), { "x-user": "broken" });
      expect(broken.status).toBe(500);
      expect(await broken.text()).not.toContain("10.0.0.7");
    },
  );

  verifies("V3", "come from OAuth tokens for this resource alone; the metadata says where to get one", async () => {
    await using toolkit = servedToolkit();
    const resourceUrl = "https://tools.example/mcp";
    const known: Record<string, VerifiedToken> = {
      good: { principal: "ada", audience: [resourceUrl], scopes: ["tools"] },
      other: { principal: "ada", audience: "https://other.example/mcp", scopes: ["tools"] },
      old: { principal: "ada", audience: resourceUrl, scopes: ["tools"], expiresAt: 1 },
      narrow: { principal: "ada", audience: resourceUrl },
    };
    const oauth = {
      resource: resourceUrl,
      authorizationServers: ["https://login.example"],
      scopes: ["tools"],
      verify: async (token: string) => known[token],
    };
    await using endpoint = await serveOverHttp(toolkit, { oauth });
    const { client } = await endpoint.connect(bearer("good"));
    expect(await client.callTool({ name: "whoami" })).toMatchObject({ content: [{ text: "ada" }] });
    const missing = await endpoint.post(call(1, "whoami"));
    const metadata = "https://tools.example/.well-known/oauth-protected-resource/mcp";
    expect(missing.headers.get("www-authenticate")).toBe(`Bearer resource_metadata="${metadata}", scope="tools"`);
    const statuses = await Promise.all(
      ["other", "old", "unknown", "narrow"].map(
        async (token) => (await endpoint.post(call(1, "whoami"), bearer(token))).status,
      ),
    );
    expect(statuses).toEqual([401, 401, 401, 403]);
    const described = await fetch(new URL("/.well-known/oauth-protected-resource/mcp", endpoint.url));
    expect(await described.json()).toEqual({
      resource: resourceUrl,
      authorization_servers: ["https://login.example"],
      scopes_supported: ["tools"],
      bearer_methods_supported: ["header"],
    });
  });

  verifies("V3", "have a selection each, changes included, and items of their own", async () => {
    await using toolkit = servedToolkit({ store: memoryStore() });
    const session = (principal: string) => ({ session: { id: principal, principal } });
    await toolkit.user.putPrompt("---\nname: secret\n---\nOf Ada", session("ada"));
    const selection = ({ principal }: { readonly principal?: string | undefined }) =>
      principal === "ada" ? undefined : { include: ["echo", "late"] };
    await using endpoint = await serveOverHttp(toolkit, { tokens, selection });
    const ada = await endpoint.connect(bearer(tokens.ada));
    const ben = await endpoint.connect(bearer(tokens.ben));
    expect((await ada.client.listPrompts()).prompts.map(({ name }) => name)).toEqual(["greet", "user__secret"]);
    expect((await ben.client.listPrompts()).prompts).toEqual([]);
    expect((await ben.client.listTools()).tools.map(({ name }) => name)).toEqual(["echo"]);
    await expect(ben.client.callTool({ name: "sum", arguments: { a: 1, b: 1 } })).rejects.toMatchObject({
      code: -32602,
    });
    await expect(ben.client.readResource({ uri: "text:note" })).rejects.toMatchObject({ code: -32002 });
    await toolkit.user.putPrompt("---\nname: other\n---\nOf Ada", session("ada"));
    toolkit.remove("sum");
    toolkit.add(defineTool({ name: "late", run: () => "late" }));
    await until(() => ada.received.length >= 2 && ben.received.length >= 1);
    expect(ada.received.map(({ method }) => method).sort()).toEqual([
      "notifications/prompts/list_changed",
      "notifications/tools/list_changed",
    ]);
    expect(ben.received.map(({ method }) => method)).toEqual(["notifications/tools/list_changed"]);
  });

  verifies(["V3", "M10"], "get no log message of an upstream server that may be of another's call", async () => {
    await using upstream = servedToolkit();
    await using origin = await serveOverHttp(upstream);
    await using toolkit = new Toolkit();
    // One with a session, whose log messages are not said to be of a call.
    toolkit.addConnector(mcpConnector(origin.url.href, { protocol: "2025-11-25" }), { namespace: "up" });
    await toolkit.start();
    await using endpoint = await serveOverHttp(toolkit, { tokens });
    const ada = await endpoint.connect(bearer(tokens.ada));
    const ben = await endpoint.connect(bearer(tokens.ben));
    const controller = new AbortController();
    let running = 0;
    toolkit.on("callStarted", () => (running += 1));
    const hanging = ben.client
      .callTool({ name: "up__hang" }, undefined, { signal: controller.signal })
      .catch(() => undefined);
    await until(() => running === 1);
    await ada.client.callTool({ name: "up__steps" });
    controller.abort();
    await hanging;
    await until(() => origin.handler.sessions === 1);
    expect([...ada.received, ...ben.received].filter(({ method }) => method === "notifications/message")).toEqual([]);
    await ada.client.callTool({ name: "up__steps" });
    await until(() => ada.received.length > 0);
    expect(ada.received).toHaveLength(1);
    expect(ada.received[0]).toMatchObject({ params: { logger: "up/builtin.steps", data: "all steps are done" } });
    expect(ben.received).toEqual([]);
  });

  verifies("V3", "leave a record of each request: who, what, how it ended, and nothing of what was said", async () => {
    await using toolkit = servedToolkit();
    const records: AuditRecord[] = [];
    await using endpoint = await serveOverHttp(toolkit, { tokens, audit: (record) => void records.push(record) });
    const session = await endpoint.begin(bearer(tokens.ada));
    await endpoint.post(call(1, "echo", { text: "the arguments" }), session);
    await endpoint.post(call(2, "fail"), session);
    await endpoint.post(call(3, "echo", { text: 5 }), session);
    await endpoint.post(call(4, "echo"), { ...session, ...bearer("not-a-token-of-anyone") });
    expect(
      records.map(({ method, target, outcome, code, principal }) => [method, target, outcome, code, principal]),
    ).toEqual([
      ["initialize", undefined, "ok", undefined, "ada"],
      ["tools/call", "echo", "ok", undefined, "ada"],
      ["tools/call", "fail", "failed", "TOOL_FAILED", "ada"],
      ["tools/call", "echo", "failed", "INVALID_INPUT", "ada"],
      ["POST", undefined, "refused", 401, undefined],
    ]);
    const text = JSON.stringify(records);
    for (const secret of ["the arguments", tokens.ada, session["mcp-session-id"]]) expect(text).not.toContain(secret);
  });

  verifies(
    "V3",
    "are needed where more than this machine is named, and options that make no sense are refused",
    async () => {
      await using toolkit = new Toolkit({ items: [resource.text("note", "x")] });
      const config = { code: "INVALID_CONFIG" };
      const make = (options: object) => () => createMcpHandler(toolkit, options);
      expect(make({ allowedHosts: ["tools.example"] })).toThrow(expect.objectContaining(config));
      expect(make({ allowedHosts: ["tools.example"], allowAnonymous: true })).not.toThrow();
      expect(make({ tokens: { ada: "short" } })).toThrow(expect.objectContaining(config));
      expect(make({ tokens, authenticate: () => "ada" })).toThrow(expect.objectContaining(config));
      expect(make({ token: "x" })).toThrow(expect.objectContaining(config));
      expect(make({ maxSessions: 0 })).toThrow(expect.objectContaining(config));
      const view = toolkit.view({ include: ["note"] });
      expect(() => createMcpHandler(view, { selection: () => undefined })).toThrow(expect.objectContaining(config));
    },
  );
});
