import { describe, expect } from "vitest";
import { Toolkit } from "../../src/index.ts";
import { verifies } from "../support/verifies.ts";
import { type Era, eras, listenAsking, type Way, ways } from "./fixture/asking.ts";
import { serveOverHttp, type TestEndpoint } from "./fixture/client.ts";
import { ask, everyCapability, type StatelessAnswer } from "./fixture/stateless.ts";

/** The requests during which a server may ask. */
const methods = { tool: "tools/call", prompt: "prompts/get", resource: "resources/read" } as const;
type Asked = keyof typeof methods;
const kinds = Object.keys(methods) as Asked[];

const roots = [{ uri: "file:///home/ada", name: "ada" }];
/** The answers that a server gets in each way, whatever the eras. */
const answers: Readonly<Record<Way, object>> = {
  form: { action: "accept", content: { city: "Bern" } },
  url: { action: "accept" },
  sampling: { role: "assistant", model: "test-model", content: { type: "text", text: "aha" } },
  roots: { roots },
};
const wayOf = (method: unknown, { mode }: { readonly mode?: unknown }): Way =>
  method === "roots/list"
    ? "roots"
    : method === "sampling/createMessage"
      ? "sampling"
      : mode === "url"
        ? "url"
        : "form";

/** Makes a request as a client of an era, and gives the text of its result. */
type Caller = (kind: Asked, params: Readonly<Record<string, unknown>>) => Promise<string>;

async function callerOf(era: Era, endpoint: TestEndpoint): Promise<Caller> {
  if (era === "2026-07-28") return (kind, params) => answered(endpoint, kind, params);
  const { client } = await endpoint.connect({}, () => roots);
  return async (kind, params) => {
    const given = params as { readonly name: string; readonly uri: string };
    if (kind === "tool") return textIn(await client.callTool(given));
    return textIn(await (kind === "prompt" ? client.getPrompt(given) : client.readResource(given)));
  };
}

/** Answers what it is asked until the request is complete. */
async function answered(endpoint: TestEndpoint, kind: Asked, params: object): Promise<string> {
  let more = {};
  for (let id = 1; ; id += 1) {
    const message = { method: methods[kind], id, params: { ...params, ...more }, capabilities: everyCapability };
    const { result, error }: StatelessAnswer = await ask(endpoint, message);
    if (error !== undefined) throw new Error(`${error.code} ${error.message}`);
    if (result.resultType !== "input_required") return textIn(result);
    const asked = Object.entries(result.inputRequests ?? {});
    const inputResponses = asked.map(([key, { method, params }]) => [key, answers[wayOf(method, params ?? {})]]);
    more = { inputResponses: Object.fromEntries(inputResponses), requestState: result.requestState };
  }
}

/** The text of a result of any of the requests. */
function textIn(result: unknown): string {
  const { content, messages, contents } = result as Record<string, { text?: string; content?: { text: string } }[]>;
  const [first] = content ?? messages ?? contents ?? [];
  return first?.content?.text ?? first?.text ?? "";
}

function paramsOf(kind: Asked, way: Way, namespace: string, isFirst = true) {
  if (kind === "resource") return { uri: isFirst ? `asking://${way}` : `asking://${way}#${namespace}` };
  return { name: `${namespace}__${way}` };
}

describe("the four cells", () => {
  for (const upstream of eras) {
    for (const client of eras) {
      verifies(
        ["V6", "V2", "M10"],
        `a client of ${client} is asked by a server of ${upstream}: by form, page, model and roots, in tool, prompt and resource`,
        async () => {
          const server = await listenAsking(upstream);
          try {
            await using toolkit = new Toolkit();
            toolkit.addConnector(
              { url: `${server.origin}/mcp` },
              { namespace: "up", protocol: upstream, callerRoots: true },
            );
            await toolkit.start();
            await using endpoint = await serveOverHttp(toolkit);
            const call = await callerOf(client, endpoint);
            const rows = [];
            for (const kind of kinds)
              for (const way of ways)
                rows.push({ kind, way, got: JSON.parse(await call(kind, paramsOf(kind, way, "up"))) });
            expect(rows).toEqual(
              kinds.flatMap((kind) => ways.map((way) => ({ kind, way, got: expect.objectContaining(answers[way]) }))),
            );
          } finally {
            await server.close();
          }
        },
      );
    }
  }

  verifies(["V6", "V2", "M10"], "are answered through ten servers at once, clients of both eras together", async () => {
    const servers = await Promise.all(
      [...Array(10).keys()].map((index) => listenAsking(eras[index % 2] ?? "2025-11-25")),
    );
    try {
      await using toolkit = new Toolkit();
      for (const [index, { origin }] of servers.entries())
        toolkit.addConnector({ url: `${origin}/mcp` }, { namespace: `up${index}`, callerRoots: true });
      await toolkit.start();
      await using endpoint = await serveOverHttp(toolkit);
      const callers = await Promise.all(eras.map((era) => callerOf(era, endpoint)));
      const calls = callers.flatMap((call) =>
        servers.flatMap((_server, index) =>
          ways.map(async (way) => {
            const kind = kinds[index % kinds.length] ?? "tool";
            const got = JSON.parse(await call(kind, paramsOf(kind, way, `up${index}`, index === 0)));
            return [way, got] as const;
          }),
        ),
      );
      for (const [way, got] of await Promise.all(calls)) expect(got).toMatchObject(answers[way]);
    } finally {
      await Promise.all(servers.map((server) => server.close()));
    }
  });
});
