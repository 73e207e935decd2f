import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { defineTool } from "../../src/core/tool.ts";
import type { ToolOptions } from "../../src/core/tool-options.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { estimateTokens } from "../../src/toolset/tokens.ts";
import type { ToolsetOptions } from "../../src/toolset/toolset.ts";
import type { ToolAnswer } from "../../src/toolset/toolset-types.ts";
import { failure } from "../support/failure.ts";
import { FakeConnector } from "../support/fake-connector.ts";
import { verifies } from "../support/verifies.ts";

const many = Array.from({ length: 30 }, (_, at) => ({ name: `folder_${at}`, description: "Opens a folder." }));
const rest = "It says a great deal more about itself than anybody would read, again and again. ".repeat(5);
const tool = (name: string, text: string, options: ToolOptions = {}) =>
  defineTool({
    name,
    description: `${text} ${rest}`,
    input: {
      type: "object",
      properties: { value: { type: "string", title: "Value", description: `What it is about. ${rest}` } },
    },
    options,
    run: ({ value }) => `${name} ${value}`,
  });

describe("the cost of tools", () => {
  let toolkit: Toolkit;

  beforeEach(async () => {
    const far = new FakeConnector({
      lists: {
        tool: [
          { name: "sendMail", description: "Sends a message." },
          { name: "list", description: "Lists mail." },
          ...many,
        ],
      },
    });
    toolkit = new Toolkit({
      items: [
        tool("create_invoice", "Writes an invoice for a customer."),
        tool("delete_invoice", "Deletes an invoice."),
        tool("convert", "Converts a length."),
        tool("read", "Reads what is too long.", { capability: true }),
      ],
    });
    toolkit.addConnector(far, { namespace: "mail" });
    await toolkit.start();
  });
  afterEach(() => toolkit.close());

  const call = (name: string, input: unknown = {}, id = name) => ({ id, name, input });
  const resultOf = async (answer: ToolAnswer | undefined) => answer?.content?.json();
  const told = async (options: ToolsetOptions) => (await toolkit.toolset(options)).tokens().disclosure;
  const names = (definitions: readonly { readonly name: string }[]) => definitions.map(({ name }) => name);

  verifies("T6", "is estimated for each tool and namespace, and the same each time", async () => {
    const toolset = await toolkit.toolset();
    const report = toolset.tokens();
    expect(report.tools.map(({ alias, ref }) => [alias, ref])).toContainEqual(["mail__list", "mail.list"]);
    expect(report.full).toBe(report.tools.reduce((sum, { tokens }) => sum + tokens, 0));
    expect(report.total).toBe(report.full);
    expect(Object.values(report.namespaces).reduce((sum, tokens) => sum + tokens, 0)).toBe(report.full);
    expect(Object.keys(report.namespaces)).toEqual(["builtin", "mail"]);
    expect((await toolkit.toolset()).tokens()).toEqual(report);
    expect(estimateTokens({ name: "n", description: "äöü", inputSchema: { type: "object" } })).toBe(
      Math.ceil('{"name":"n","description":"......","parameters":{"type":"object"}}'.length / 4),
    );
  });

  verifies(
    "T6",
    "within a budget definitions are told in full, else by the first sentence of each description",
    async () => {
      const { full } = (await toolkit.toolset()).tokens();
      expect(await told({ maxTokens: full })).toBe("full");
      const toolset = await toolkit.toolset({ maxTokens: full - 1 });
      expect(toolset.tokens()).toMatchObject({ disclosure: "shortened", full });
      expect(toolset.tokens().total).toBeLessThan(full);
      expect(toolset.definitions()[0]).toEqual({
        name: "convert",
        description: "Converts a length.",
        inputSchema: { type: "object", properties: { value: { type: "string", description: "What it is about." } } },
      });
      expect(names(toolset.definitions())).toHaveLength(36);
    },
  );

  verifies(["T6", "T2"], "what does not fit then is found, described, and offered from the next turn", async () => {
    const toolset = await toolkit.toolset({ maxTokens: 700, forced: ["convert"] });
    const first = ["describe_tool", "search_tools", "convert", "read"];
    expect(toolset.tokens().disclosure).toBe("search");
    expect(names(toolset.definitions())).toEqual(first);
    const run = toolset.begin();
    const [found] = await run.execute([call("search_tools", { query: "Invoice" })]);
    expect(await found?.content?.json()).toEqual({
      tools: [
        { name: "create_invoice", description: "Writes an invoice for a customer." },
        { name: "delete_invoice", description: "Deletes an invoice." },
      ],
      more: 0,
    });
    expect(names(run.definitions())).toEqual(first);
    const [described] = await run.execute([call("describe_tool", { name: "delete_invoice" })]);
    expect(await described?.content?.json()).toMatchObject({ name: "delete_invoice", inputSchema: { type: "object" } });
    expect(names(run.definitions())).toEqual([...first, "delete_invoice"]);
    expect(run.definitions().at(-1)?.description).toContain(rest.trim());
    const [deleted] = await run.execute([call("delete_invoice", { value: "7" })]);
    expect(await deleted?.content?.text()).toBe("delete_invoice 7");
    expect(names(toolset.begin().definitions())).toEqual(first);
  });

  verifies("T6", "one that was never described is called all the same, and offered then", async () => {
    const toolset = await toolkit.toolset({ maxTokens: 700 });
    const run = toolset.begin();
    const [answer] = await run.execute([call("create_invoice", { value: "Ada" })]);
    expect(await answer?.content?.text()).toBe("create_invoice Ada");
    expect(names(run.definitions())).toContain("create_invoice");
  });

  verifies("T6", "what was asked for first gives way when the budget is full", async () => {
    const { total, tools } = (await toolkit.toolset({ maxTokens: 1 })).tokens();
    const costOf = (name: string) => tools.find(({ alias }) => alias === name)?.tokens ?? 0;
    const maxTokens = total + costOf("delete_invoice") + costOf("mail__list");
    const run = (await toolkit.toolset({ maxTokens })).begin();
    const last = async (name: string) => {
      await run.execute([call("describe_tool", { name })]);
      return names(run.definitions()).slice(3);
    };
    expect(await last("create_invoice")).toEqual(["create_invoice"]);
    expect(await last("delete_invoice")).toEqual(["delete_invoice"]);
    expect(await last("mail__list")).toEqual(["delete_invoice", "mail__list"]);
    expect(await last("delete_invoice")).toEqual(["mail__list", "delete_invoice"]);
  });

  test("search ranks names before descriptions and whole words before parts, in any case", async () => {
    const run = (await toolkit.toolset({ maxTokens: 1 })).begin();
    const found = async (query: string, limit?: number) => {
      const [answer] = await run.execute([call("search_tools", { query, limit })]);
      const { tools, ...others } = (await resultOf(answer)) as { tools: { name: string }[] };
      return [names(tools), others];
    };
    expect(await found("mail", 1)).toEqual([["mail__list"], { more: 31 }]);
    expect(await found("SEND mail", 2)).toEqual([["mail__sendMail", "mail__list"], { more: 30 }]);
    expect(await found("invoice", 1)).toEqual([["create_invoice"], { more: 1 }]);
    expect(await found("nonsense")).toEqual([
      [],
      { more: 0, hint: expect.stringContaining("Nothing was found"), namespaces: ["builtin", "mail"] },
    ]);
  });

  const wrong: readonly [string, string, unknown, string, string][] = [
    ["a query that is none", "search_tools", {}, "INVALID_INPUT", "query"],
    ["a tool there is not", "describe_tool", { name: "create_invoices" }, "NOT_FOUND", "create_invoice"],
  ];
  for (const [what, name, input, code, says] of wrong) {
    test(`${what} is answered with what is wrong`, async () => {
      const [answer] = await (await toolkit.toolset({ maxTokens: 1 })).begin().execute([call(name, input)]);
      expect([answer?.status, answer?.error?.code]).toEqual(["failed", code]);
      expect(answer?.error?.message).toContain(says);
    });
  }

  verifies(
    ["T6", "T5"],
    "lists of a policy refuse neither the search nor the description, but what was found",
    async () => {
      const toolset = await toolkit.toolset({ maxTokens: 1, policy: { allow: ["mail.*"], decide: () => false } });
      const answers = await toolset
        .begin()
        .execute([
          call("search_tools", { query: "mail" }),
          call("describe_tool", { name: "convert" }),
          call("convert"),
        ]);
      expect(answers.map(({ status }) => status)).toEqual(["ok", "ok", "denied"]);
    },
  );

  verifies(["T6", "N8"], "with a budget nothing else is called search_tools, whether it is needed or not", async () => {
    toolkit.add(tool("search_tools", "Mine."));
    const aliases = async (maxTokens?: number) =>
      names((await toolkit.toolset({ maxTokens })).tools.map(({ alias }) => ({ name: alias })));
    expect(await aliases()).toContain("search_tools");
    for (const maxTokens of [1, 100_000]) {
      const given = await aliases(maxTokens);
      expect(given).not.toContain("search_tools");
      expect(given.some((alias) => /^search_tools_[A-Za-z0-9]{8}$/.test(alias))).toBe(true);
    }
  });

  for (const maxTokens of [0, -1, 1.5, Number.NaN, "9" as never]) {
    test(`refuses a budget of ${String(maxTokens)}`, async () => {
      expect((await failure(toolkit.toolset({ maxTokens }))).code).toBe("INVALID_INPUT");
    });
  }
});
