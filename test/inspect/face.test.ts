import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { agent } from "../../src/agent/index.ts";
import { ToolkitError } from "../../src/core/error.ts";
import { defineTool } from "../../src/core/tool.ts";
import { inspect } from "../../src/inspect/index.ts";
import type {
  EventBatch,
  InspectionStatus,
  ListedItems,
  ShownApproval,
  ShownItem,
  ShownOutcome,
  ShownPrompt,
  ShownRun,
} from "../../src/inspect/inspection-face.ts";
import { parsePrompt } from "../../src/prompt/parse-prompt.ts";
import { scriptedModel } from "../../src/testing/index.ts";
import { FakeConnector } from "../support/fake-connector.ts";
import { verifies } from "../support/verifies.ts";
import { inspections, type OpenedPage } from "./support.ts";

const make = inspections();

const greet = defineTool({
  name: "greet",
  description: "Greets a person.",
  input: z.object({ name: z.string() }),
  run: ({ name }) => `Hello, ${name}!`,
});
const pay = defineTool({
  name: "pay",
  description: "Pays.",
  input: z.object({ amount: z.number() }),
  options: { needsApproval: true },
  run: ({ amount }) => `Paid ${amount}.`,
});

/** Sends a request with any headers, `Host` and `Origin` included, which fetch keeps to itself. */
async function raw(origin: string, path: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  request(`${origin}${path}`, { headers }, (response) => {
    response.resume();
    resolve(response.statusCode ?? 0);
  })
    .on("error", reject)
    .end();
  return promise;
}

describe("the link", () => {
  verifies("Y1", "opens the page once: its token becomes a cookie that no script reads", async () => {
    const inspection = await make.inspect(make.toolkit());
    const { origin } = new URL(inspection.url);
    const first = await fetch(inspection.url);
    expect(first.status).toBe(200);
    expect(first.headers.get("set-cookie")).toMatch(/^toolweave-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
    expect(await first.text()).not.toContain(new URL(inspection.url).searchParams.get("token"));
    const cookie = first.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
    expect((await fetch(`${origin}/`, { headers: { cookie } })).status).toBe(200);
    const second = await fetch(inspection.url);
    expect([second.status, second.headers.get("set-cookie")]).toEqual([401, null]);
    expect((await fetch(inspection.link())).status).toBe(200);
  });

  verifies("Y1", "nothing is answered without it, with a forged one, or with a forged cookie", async () => {
    const page = await make.open(make.toolkit({ items: [greet] }));
    const forged = { cookie: `${page.cookie.slice(0, -4)}AAAA` };
    for (const path of ["/", "/api/status", "/api/items", "/api/stream", "/status.json", "/health"]) {
      expect((await fetch(`${page.origin}${path}`)).status, path).toBe(401);
      expect((await fetch(`${page.origin}${path}`, { headers: forged })).status, path).toBe(401);
    }
    expect((await fetch(`${page.origin}/?token=${"A".repeat(43)}`)).status).toBe(401);
    const call = { method: "POST", headers: { "content-type": "application/json" }, body: '{"ref":"builtin.greet"}' };
    expect((await fetch(`${page.origin}/api/call`, call)).status).toBe(401);
  });

  verifies("Y1", "requests of other pages and names are refused, with the cookie too", async () => {
    const page = await make.open(make.toolkit());
    const { cookie, origin } = page;
    const { port } = new URL(origin);
    expect(await raw(origin, "/api/status", { cookie })).toBe(200);
    expect(await raw(origin, "/api/status", { cookie, host: `localhost:${port}` })).toBe(200);
    expect(await raw(origin, "/api/status", { cookie, host: `evil.example:${port}` })).toBe(403);
    expect(await raw(origin, "/", { cookie, host: "evil.example" })).toBe(403);
    expect(await raw(origin, "/api/status", { cookie, origin: "https://evil.example" })).toBe(403);
    expect(await raw(origin, "/api/status", { cookie, origin: "http://127.0.0.1:1" })).toBe(403);
    expect(await raw(origin, "/api/status", { cookie, origin: "null" })).toBe(403);
    expect(await raw(origin, "/api/status", { cookie, "sec-fetch-site": "same-site" })).toBe(403);
    expect(await raw(origin, "/api/status", { cookie, "sec-fetch-site": "same-origin" })).toBe(200);
    const form = await page.post("/api/call", {}, { "content-type": "text/plain" });
    expect(form.status).toBe(415);
  });

  test("every answer forbids scripts and styles in the page, frames and guesses of types", async () => {
    const page = await make.open(make.toolkit());
    for (const path of ["/", "/page.js", "/api/status", "/api/nothing", "/nothing"]) {
      const { headers } = await page.get(path);
      expect(headers.get("content-security-policy"), path).toMatch(/^default-src 'none'; script-src 'self';/);
      expect(headers.get("content-security-policy")).not.toContain("unsafe");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
    }
  });
});

describe("the face", () => {
  verifies("Y1", "lists, explains, calls, and says why a call failed", async () => {
    const page = await make.open(make.toolkit({ items: [greet] }));
    const found = await page.json<ListedItems>("/api/items?words=greets+PERSON");
    expect(found).toMatchObject({ count: 1, items: [{ kind: "tool", ref: "builtin.greet" }] });
    expect((await page.json<ListedItems>("/api/items?words=none")).count).toBe(0);
    const item = await page.json<ShownItem>("/api/item?ref=builtin.greet&kind=tool");
    expect(item.input).toMatchObject({ properties: { name: { type: "string" } } });
    expect(item.steps?.map(({ name }) => name)).toContain("validateInput");
    expect(item.explanation).toContain("builtin.greet");
    const done = await page.act<ShownOutcome>("/api/call", { ref: "builtin.greet", input: { name: "Ada" } });
    expect(done).toMatchObject({ content: { text: "Hello, Ada!" }, durationMs: expect.any(Number) });
    const failed = await page.act<ShownOutcome>("/api/call", { ref: "builtin.greet", input: {} });
    expect(failed).toMatchObject({ error: { code: "INVALID_INPUT", remedy: expect.any(String) } });
    expect((await page.get("/api/item?ref=none&kind=tool")).status).toBe(404);
    expect((await page.post("/api/call", { input: {} })).status).toBe(400);
  });

  verifies("Y1", "a call ends when its page goes", async () => {
    const started = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<void>();
    const wait = defineTool({
      name: "wait",
      run: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            aborted.resolve();
            reject(signal.reason);
          });
          started.resolve();
        }),
    });
    const page = await make.open(make.toolkit({ items: [wait] }));
    const gone = new AbortController();
    const call = fetch(`${page.origin}/api/call`, {
      method: "POST",
      headers: { cookie: page.cookie, "content-type": "application/json" },
      body: JSON.stringify({ ref: "builtin.wait" }),
      signal: gone.signal,
    });
    await started.promise;
    gone.abort();
    await expect(call).rejects.toThrow("abort");
    await aborted.promise;
  });

  verifies("Y1", "a principal sees that a connector is gone, and not why", async () => {
    const toolkit = make.toolkit();
    const far = new FakeConnector({ label: "far", lists: { tool: [{ name: "x" }] } });
    const connection = toolkit.addConnector(far, { namespace: "far" });
    await toolkit.start();
    const [operator, page] = [
      await make.open(toolkit),
      await make.open(toolkit, { selection: { principal: "ada", include: ["far.*"] } }),
    ];
    const lost = new Promise<void>((resolve) => toolkit.on("connectorDisconnected", () => resolve()));
    far.sessions.at(-1)?.lose(new Error("key abc was refused"));
    await lost;
    await connection.ready();
    const firstOf = async ({ get }: OpenedPage) => {
      const { value = "" } =
        (await (await get("/api/stream")).body?.pipeThrough(new TextDecoderStream()).getReader().read()) ?? {};
      return value;
    };
    expect(await firstOf(operator)).toContain("key abc was refused");
    const seen = await firstOf(page);
    expect(seen).toContain("connectorDisconnected");
    expect(seen).not.toContain("abc");
  });

  verifies("Y1", "an operator's page with a selection changes nothing beyond that", async () => {
    const toolkit = make.toolkit({ items: [greet, pay] });
    toolkit.addConnector(new FakeConnector({ label: "far" }), { namespace: "far" });
    await toolkit.start();
    const asked = await toolkit.call("builtin.pay", { amount: 9 }).catch((error: unknown) => error);
    const page = await make.open(toolkit, { operator: true, selection: { include: ["builtin.greet"] } });
    expect(await page.json("/api/approvals")).toEqual([]);
    const id = ToolkitError.is(asked, "PENDING") ? asked.details.id : "";
    expect((await page.post("/api/decide", { id, approved: true })).status).toBe(404);
    expect((await page.post("/api/reconnect", { namespace: "far" })).status).toBe(404);
    expect((await page.post("/api/accept", { ref: "far.x", version: "1" })).status).toBe(404);
    expect((await page.json<ShownItem>("/api/item?ref=builtin.greet&kind=tool")).explanation).toBeUndefined();
  });

  test("a result of many bytes is shown in part", async () => {
    const long = defineTool({ name: "long", run: () => "x".repeat(5_000_000) });
    const page = await make.open(make.toolkit({ items: [long] }));
    const { content, cutFrom } = await page.act<ShownOutcome>("/api/call", { ref: "builtin.long" });
    expect([content?.text?.length, cutFrom]).toEqual([200_000, 5_000_000]);
  });

  verifies("Y1", "renders a prompt", async () => {
    const brief = parsePrompt("---\nname: brief\n---\nAbout {{city}}.");
    const page = await make.open(make.toolkit({ items: [brief] }));
    const shown = await page.act<ShownPrompt>("/api/render", { ref: "builtin.brief", input: { city: "Bern" } });
    expect(shown.messages).toMatchObject([{ role: "user", content: [{ content: { text: "About Bern." } }] }]);
  });

  verifies("Y1", "the runs of agents are listed with their steps, and those that failed or wait", async () => {
    const model = scriptedModel([
      { toolCalls: [{ name: "greet", input: { name: "Ada" } }] },
      { error: { status: 400, message: "no" } },
      { toolCalls: [{ name: "pay", input: { amount: 3 } }] },
      "Hello.",
    ]);
    const write = parsePrompt("---\nname: write\ntools: [greet, pay]\n---\nWrite.");
    const toolkit = make.toolkit({ items: [greet, pay, write], delegate: agent({ defaultModel: model }) });
    const page = await make.open(toolkit);
    await page.act("/api/call", { ref: "builtin.write", kind: "prompt" });
    for (let run = 0; run < 2; run += 1) await toolkit.call("builtin.write").catch(() => undefined);
    const runs = await page.json<readonly ShownRun[]>("/api/runs");
    expect(runs.map(({ status, steps, calls }) => [status, steps.length, calls.length])).toEqual([
      ["finished", 1, 0],
      ["waiting", 1, 0],
      ["failed", 1, 1],
    ]);
    expect(runs[2]?.calls[0]).toMatchObject({ name: "greet", status: "ok", step: 0 });
  });

  verifies("Y1", "an approval is answered on the page, and what was approved ran", async () => {
    const toolkit = make.toolkit({ items: [pay] });
    const page = await make.open(toolkit);
    const asked = await page.act<ShownOutcome>("/api/call", { ref: "builtin.pay", input: { amount: 3 } });
    const id = asked.error?.approval ?? "";
    expect(asked.error?.code).toBe("PENDING");
    expect((await page.json<InspectionStatus>("/api/status")).pendingApprovals).toBe(1);
    await page.act("/api/decide", { id, approved: true });
    expect(await page.json<readonly ShownApproval[]>("/api/approvals")).toMatchObject([
      { id, status: "succeeded", decidedBy: "page", result: { content: { text: "Paid 3." } } },
    ]);
  });

  verifies("Y1", "a principal sees its own and decides nothing", async () => {
    const toolkit = make.toolkit({ items: [greet, pay] });
    toolkit.addConnector(new FakeConnector({ label: "secret --key abc" }), { namespace: "far" });
    await toolkit.start();
    await toolkit.call("builtin.pay", { amount: 9 }, { session: { id: "b", principal: "ben" } }).catch(() => undefined);
    const page = await make.open(toolkit, { selection: { principal: "ada", include: ["builtin.*"] } });
    const status = await page.json<InspectionStatus>("/api/status");
    expect(status.isOperator).toBe(false);
    expect(status.namespaces.map(({ namespace }) => namespace)).toEqual(["builtin"]);
    expect(JSON.stringify(status)).not.toContain("abc");
    expect(await page.json("/api/approvals")).toEqual([]);
    const asked = await page.act<ShownOutcome>("/api/call", { ref: "builtin.pay", input: { amount: 3 } });
    const mine = await page.json<readonly ShownApproval[]>("/api/approvals");
    expect(mine).toMatchObject([{ id: asked.error?.approval, principal: "ada" }]);
    expect((await page.post("/api/decide", { id: asked.error?.approval, approved: true })).status).toBe(403);
    expect((await page.post("/api/reconnect", { namespace: "far" })).status).toBe(403);
    expect((await page.post("/api/accept", { ref: "far.x", version: "1" })).status).toBe(403);
    expect((await page.get("/api/item?ref=far.x&kind=tool")).status).toBe(404);
    expect((await page.json<ShownItem>("/api/item?ref=builtin.greet&kind=tool")).explanation).toBeUndefined();
  });

  verifies("Y1", "the stream begins with the latest events and goes on with what happens", async () => {
    const toolkit = make.toolkit({ items: [greet] });
    const page = await make.open(toolkit);
    await toolkit.call("builtin.greet", { name: "Ada" });
    const stream = await page.get("/api/stream");
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    const texts: string[] = [];
    const types = () =>
      [...texts.join("").matchAll(/^data: (.*)$/gm)].flatMap(([, data = ""]) =>
        (JSON.parse(data) as EventBatch).events.map(({ type, about }) => `${type} ${about}`),
      );
    const until = async (count: number) => {
      while (types().length < count) texts.push((await reader?.read())?.value ?? "");
    };
    await until(2);
    await toolkit.call("builtin.greet", { name: "Ben" }).catch(() => undefined);
    await until(4);
    expect(types()).toEqual([1, 2].flatMap(() => ["callStarted builtin.greet", "callFinished builtin.greet"]));
    await page.inspection.close();
  });
});

describe("health", () => {
  verifies("Y1", "is 200 while everything is connected, 503 with names while something is not", async () => {
    const toolkit = make.toolkit();
    const far = new FakeConnector({ label: "far" });
    // It stays down for as long as the test wants it.
    far.outcomes = Array.from({ length: 1_000 }, () => new Error("no such host"));
    const connection = toolkit.addConnector(far, { namespace: "far" });
    await toolkit.start();
    const page = await make.open(toolkit, { health: "open" });
    const health = async () => {
      const answer = await fetch(`${page.origin}/health`);
      return [answer.status, await answer.json()];
    };
    expect(await health()).toEqual([503, { health: "degraded", down: ["far"] }]);
    const open = (await (await fetch(`${page.origin}/status.json`)).json()) as InspectionStatus;
    expect(open.namespaces).toMatchObject([{ namespace: "far", state: expect.stringMatching(/waiting|connecting/) }]);
    expect(JSON.stringify(open)).not.toContain("no such host");
    expect(JSON.stringify(await page.json("/status.json"))).toContain("no such host");
    far.outcomes = [];
    connection.reconnect();
    await connection.ready();
    expect(await health()).toEqual([200, { health: "ok", down: [] }]);
  });

  test("is read with a token where there is one", async () => {
    const token = "a-token-of-a-monitor";
    const page = await make.open(make.toolkit(), { health: { token } });
    const ask = (text: string) => fetch(`${page.origin}/status.json`, { headers: { authorization: `Bearer ${text}` } });
    expect((await ask(token)).status).toBe(200);
    expect((await ask(`${token}s`)).status).toBe(401);
    expect((await fetch(`${page.origin}/api/status`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(
      401,
    );
  });
});

describe("options", () => {
  test.each([
    [{ port: 70_000 }, "port"],
    [{ prot: 1 }, 'Did you mean "port"?'],
    [{ operator: 1 }, "operator"],
    [{ health: { token: "short" } }, "health"],
    [{ prompts: "prompts" }, "prompts"],
  ])("%j is refused", async (options, message) => {
    await expect(inspect(make.toolkit(), options as never)).rejects.toThrow(message);
  });

  test("a port that is taken is named", async () => {
    const { url } = await make.inspect(make.toolkit());
    const port = Number(new URL(url).port);
    await expect(make.inspect(make.toolkit(), { port })).rejects.toThrow(`The page cannot be served on port ${port}`);
  });
});
