import { describe, expect } from "vitest";
import { z } from "zod";
import { defineTool, type Policy, type Toolkit } from "../../src/index.ts";
import type { AuditRecord } from "../../src/server/index.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";
import { serveOverHttp } from "./fixture/client.ts";
import { servedToolkit } from "./fixture/toolkit.ts";

/** Builtins in which each way of a call is to be seen, among hundreds of others. */
function large(policy?: Policy): Toolkit {
  const toolkit = servedToolkit(policy === undefined ? {} : { policy });
  const city = (index: number) =>
    defineTool({ name: `city_${index}`, description: `Weather of city ${index}.`, run: () => index });
  for (let index = 0; index < 300; index += 1) toolkit.add(city(index));
  toolkit.add(
    defineTool({
      name: "invoice",
      description: "Sends an invoice to a customer.",
      annotations: { destructiveHint: true },
      input: z.object({ customer: z.string(), amount: z.number() }),
      output: z.object({ sent: z.boolean() }),
      run: () => ({ sent: true }),
    }),
  );
  return toolkit;
}

const through = (name: string, input: object = {}) => ({ name: "call_tool", arguments: { name, arguments: input } });

describe("discovery by search", () => {
  verifies("V1", "shows three tools, by which a model finds any other, learns its form, and calls it", async () => {
    await using toolkit = large();
    await using endpoint = await serveOverHttp(toolkit, { discovery: "search" });
    const { client } = await endpoint.connect();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["call_tool", "describe_tool", "search_tools"]);
    const found = await client.callTool({ name: "search_tools", arguments: { query: "bill a customer invoice" } });
    expect(found.structuredContent).toMatchObject({
      tools: [{ name: "invoice", description: "Sends an invoice to a customer." }],
    });
    expect(await client.callTool({ name: "search_tools", arguments: { query: "city", limit: 2 } })).toMatchObject({
      structuredContent: { tools: [{}, {}], more: 298 },
    });
    const described = await client.callTool({ name: "describe_tool", arguments: { name: "invoice" } });
    expect(described.structuredContent).toMatchObject({
      name: "invoice",
      annotations: { destructiveHint: true },
      inputSchema: { required: ["customer", "amount"] },
      outputSchema: { type: "object" },
    });
    const sent = await client.callTool(through("invoice", { customer: "Ada", amount: 3 }));
    const listed = await client.callTool({ name: "invoice", arguments: { customer: "Ada", amount: 3 } });
    expect(sent).toEqual(listed);
    expect(sent.structuredContent).toEqual({ sent: true });
  });

  verifies("V2", "passes progress, log messages and questions of the tool that is called", async () => {
    await using toolkit = large();
    await using endpoint = await serveOverHttp(toolkit, { discovery: "search" });
    const { client, received } = await endpoint.connect();
    const steps: unknown[] = [];
    const onprogress = (progress: unknown) => steps.push(progress);
    expect(await client.callTool(through("steps"), undefined, { onprogress })).toMatchObject({
      content: [{ text: "done" }],
    });
    expect(steps).toContainEqual({ progress: 1, total: 3, message: "step 1" });
    expect(await client.callTool(through("ask"))).toMatchObject({
      content: [{ text: expect.stringContaining("Bern") }],
    });
    expect(received.map(({ method }) => method)).toContain("elicitation/create");
  });

  verifies(["V1", "C1"], "calls take the rules, checks and records of the tool that is meant", async () => {
    const asked: string[] = [];
    const decide = ({ entry }: { readonly entry: { readonly ref: string } }) => {
      asked.push(entry.ref);
      return entry.ref === "builtin.sum" ? { approve: "it adds up" } : true;
    };
    const records: AuditRecord[] = [];
    await using toolkit = large({ block: ["whoami"], decide });
    await using endpoint = await serveOverHttp(toolkit, {
      discovery: "search",
      audit: (record) => void records.push(record),
    });
    const { client } = await endpoint.connect();
    expect(await client.callTool(through("whoami"))).toMatchObject({
      isError: true,
      _meta: { "toolweave/code": "DENIED" },
    });
    expect(await client.callTool(through("invoice", { customer: "Ada" }))).toMatchObject({
      isError: true,
      _meta: { "toolweave/code": "INVALID_INPUT" },
    });
    await client.callTool(through("echo", { text: "hi" }));
    await client.callTool({ name: "search_tools", arguments: { query: "echo" } });
    expect(await client.callTool(through("sum", { a: 1, b: 2 }))).toMatchObject({
      isError: true,
      _meta: { "toolweave/code": "PENDING" },
    });
    expect((await toolkit.approvals.list()).map(({ tool }) => tool)).toEqual(["builtin.sum"]);
    expect(asked).toContain("builtin.echo");
    const calls = records.filter(({ method }) => method === "tools/call");
    expect(calls.map(({ target, outcome, code }) => [target, outcome, code])).toEqual([
      ["whoami", "failed", "DENIED"],
      ["invoice", "failed", "INVALID_INPUT"],
      ["echo", "ok", undefined],
      ["search_tools", "ok", undefined],
      ["sum", "failed", "PENDING"],
    ]);
  });

  verifies("V1", "says to the model what is wrong with a name or an argument", async () => {
    await using toolkit = large();
    await using endpoint = await serveOverHttp(toolkit, { discovery: "search" });
    const { client } = await endpoint.connect();
    const wrong = [
      through("invoise"),
      { name: "describe_tool", arguments: { name: "invoise" } },
      { name: "search_tools", arguments: {} },
      { name: "call_tool", arguments: { name: "echo", arguments: "text" } },
      { name: "call_tool", arguments: {} },
    ];
    const answers = await Promise.all(wrong.map((params) => client.callTool(params)));
    expect(answers.map(({ isError }) => isError)).toEqual([true, true, true, true, true]);
    expect(answers.map(({ content }) => (content as { text: string }[])[0]?.text)).toEqual([
      'There is no tool "invoise". Did you mean "invoice"?',
      'There is no tool "invoise". Did you mean "invoice"?',
      "query must be a text that is not blank.",
      "arguments must be an object.",
      "name must be a text that is not blank.",
    ]);
  });

  verifies(["V1", "E1"], "tells a client of no change that it cannot see; what came is found at once", async () => {
    await using toolkit = large();
    await using endpoint = await serveOverHttp(toolkit, { discovery: "search" });
    const { client, received } = await endpoint.connect();
    toolkit.add(defineTool({ name: "tide", description: "High water at a harbour.", run: () => "high" }));
    expect(
      (await client.callTool({ name: "search_tools", arguments: { query: "harbour" } })).structuredContent,
    ).toMatchObject({
      tools: [{ name: "tide" }],
    });
    toolkit.remove("text:note");
    await until(() => received.length > 0);
    expect(received.map(({ method }) => method)).toEqual(["notifications/resources/list_changed"]);
  });

  verifies("V3", "finds nothing that a principal may not see", async () => {
    await using toolkit = large();
    const tokens = { ada: "ada-has-a-long-token", eve: "eve-has-a-long-token" };
    const selection = ({ principal }: { principal?: string | undefined }) =>
      principal === "eve" ? { include: ["city_*"] } : undefined;
    await using endpoint = await serveOverHttp(toolkit, { discovery: "search", tokens, selection });
    const { client } = await endpoint.connect({ authorization: `Bearer ${tokens.eve}` });
    const found = await client.callTool({ name: "search_tools", arguments: { query: "invoice" } });
    expect(found.structuredContent).toMatchObject({ tools: [] });
    const hidden = await client.callTool(through("invoice", { customer: "Ada", amount: 3 }));
    expect(hidden).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("There is no tool") }] });
  });
});
