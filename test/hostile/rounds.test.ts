import { afterEach, describe, expect } from "vitest";
import type { ElicitRequest } from "../../src/core/interaction.ts";
import { mcpConnector } from "../../src/mcp/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { type Listening, listen } from "../mcp/fixture/http.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

type Fields = Readonly<Record<string, unknown>>;

describe("a hostile server without sessions", () => {
  let toolkit: Toolkit;
  let listening: Listening;
  let calls: Fields[];
  let asked: ElicitRequest[];

  afterEach(async () => {
    await toolkit.close();
    await listening.close();
  });

  /** A server that answers every call of a tool, prompt or resource with one result. */
  async function connect(answer: () => Fields, list: Fields = {}): Promise<void> {
    calls = [];
    asked = [];
    listening = await listen(async (request, response) => {
      let text = "";
      for await (const chunk of request) text += chunk;
      const { id, method, params } = JSON.parse(text) as { id: unknown; method: string; params: Fields };
      const results: Readonly<Record<string, () => Fields>> = {
        "server/discover": () => ({ supportedVersions: ["2026-07-28"], capabilities: { tools: {} } }),
        "tools/list": () => ({ tools: [{ name: "pay", inputSchema: { type: "object" } }], ...list }),
      };
      if (method === "tools/call") calls.push(params);
      const result = { resultType: "complete", ...(results[method] ?? answer)() };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
    toolkit = new Toolkit({
      delegate: {
        elicit: async (request) => {
          asked.push(request);
          return { action: "accept", content: {} };
        },
      },
    });
    const roots = { roots: [{ uri: "file:///data" }] };
    await toolkit.addConnector(mcpConnector(listening.origin, roots), { namespace: "far" }).ready();
  }

  const required = (more: Fields): Fields => ({ resultType: "input_required", ...more });
  const form = { method: "elicitation/create", params: { message: "Who?", requestedSchema: { type: "object" } } };
  const call = () => failure(toolkit.call("far.pay", {}));

  verifies(
    ["M16", "H4"],
    "that requires input without end asks a person ten times, and is called seventeen times at most",
    async () => {
      await connect(() => required({ inputRequests: { again: form } }));
      expect([(await call()).details, asked.length]).toEqual([expect.objectContaining({ max: 10 }), 10]);
      await toolkit.close();
      await listening.close();
      await connect(() => required({ inputRequests: { again: { method: "roots/list" } } }));
      expect((await call()).details).toEqual({ limit: "inputRounds", max: 16 });
      expect(calls).toHaveLength(17);
    },
  );

  verifies(["M16", "H4"], "that puts ten thousand questions at once has none of them answered", async () => {
    const questions = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`q${at}`, form]));
    await connect(() => required({ inputRequests: questions }));
    expect([(await call()).details, asked.length, calls.length]).toEqual([
      { limit: "inputRequests", max: 32, actual: 10_000 },
      0,
      1,
    ]);
  });

  verifies(["M16", "H4"], "that wants two megabytes of state back does not get them", async () => {
    await connect(() => required({ requestState: "x".repeat(2 * 1024 * 1024) }));
    expect([(await call()).details, calls.length]).toEqual([
      { limit: "requestState", max: 1024 * 1024, actual: 2 * 1024 * 1024 },
      1,
    ]);
  });

  verifies(
    "M16",
    "that asks for nothing but time is called again more and more slowly, as long as the call may last",
    async () => {
      await connect(() => required({ requestState: "soon" }));
      const error = await failure(toolkit.call("far.pay", {}, { timeoutMs: 1_000 }));
      expect(error.code).toBe("TIMEOUT");
      expect(calls.length).toBeLessThan(5);
    },
  );

  const odd: Readonly<Record<string, Fields>> = {
    "a type of its own": { resultType: "task" },
    "a type that is no text": { resultType: 7 },
    "input required, and none named": required({}),
    "questions in a list": required({ inputRequests: [form] }),
    "a question without a method": required({ inputRequests: { a: {} } }),
    "a question that was not offered": required({ inputRequests: { a: { method: "tasks/get" } } }),
    "a form without a message": required({ inputRequests: { a: { method: "elicitation/create", params: {} } } }),
    "a page that is a script": required({
      inputRequests: {
        a: { method: "elicitation/create", params: { mode: "url", message: "Go", url: "javascript:1" } },
      },
    }),
    "a state that is no text": required({ requestState: { a: 1 } }),
  };
  for (const [name, answer] of Object.entries(odd)) {
    verifies("M16", `that answers with ${name} fails that call alone`, async () => {
      await connect(() => answer);
      expect([(await call()).code, asked.length, calls.length]).toEqual(["REMOTE_ERROR", 0, 1]);
      expect((await toolkit.list()).entries).toHaveLength(1);
    });
  }

  verifies("M16", "that requires input for a list gives no list", async () => {
    await connect(() => ({}), required({ inputRequests: { a: form } }));
    const { failures } = await toolkit.list();
    expect([failures.map(({ error }) => (error as { code?: string }).code), asked.length]).toEqual([
      ["REMOTE_ERROR"],
      0,
    ]);
  });
});
