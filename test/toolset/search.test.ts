import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { defineTool } from "../../src/core/tool.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { toolTerms } from "../../src/toolset/tool-terms.ts";
import type { ToolsetOptions } from "../../src/toolset/toolset.ts";
import type { Embed } from "../../src/toolset/toolset-types.ts";
import { failure } from "../support/failure.ts";
import { FakeConnector } from "../support/fake-connector.ts";
import { verifies } from "../support/verifies.ts";

const tool = (name: string, description: string, parameters: Readonly<Record<string, string>> = {}) => ({
  name,
  description,
  input: {
    type: "object",
    properties: Object.fromEntries(
      Object.entries(parameters).map(([key, text]) => [key, { type: "string", description: text }]),
    ),
  } as const,
});

const mail = [
  tool("sendMessage", "Sends a message.", { recipient: "The address.", subject: "A line of text." }),
  tool("archive_message", "Takes a message out of the inbox."),
];
const weather = [
  tool("get_forecast", "Tells what is to come.", { city: "The name of a city.", days: "The number of days." }),
  tool("list_alerts", "Storms and floods."),
  tool("list_stations", "Where measurements are taken."),
];

describe("search_tools", () => {
  let toolkit: Toolkit;

  beforeEach(async () => {
    toolkit = new Toolkit();
    toolkit.addConnector(new FakeConnector({ lists: { tool: mail } }), { namespace: "mail" });
    toolkit.addConnector(new FakeConnector({ lists: { tool: weather } }), { namespace: "weather" });
    await toolkit.start();
  });
  afterEach(() => toolkit.close());

  async function answerTo(query: string, options: ToolsetOptions = {}) {
    const run = (await toolkit.toolset({ maxTokens: 1, ...options })).begin();
    const [answer] = await run.execute([{ id: "1", name: "search_tools", input: { query } }]);
    return answer;
  }

  async function found(query: string, options: ToolsetOptions = {}): Promise<readonly string[]> {
    const content = await (await answerTo(query, options))?.content?.json();
    const { tools = [] } = (content ?? {}) as { tools?: { name: string }[] };
    return tools.map(({ name }) => name);
  }

  const cases: readonly (readonly [what: string, query: string, first: string])[] = [
    ["a name whose words are written together", "send message", "mail__sendMessage"],
    ["other forms of the words", "archiving messages", "mail__archive_message"],
    ["the names of parameters", "recipients", "mail__sendMessage"],
    ["the descriptions of parameters", "number of days", "weather__get_forecast"],
    ["the beginning of a word", "forec", "weather__get_forecast"],
    ["a slip of the keyboard", "forcast", "weather__get_forecast"],
    ["two letters that are swapped", "archvie", "mail__archive_message"],
    ["a rare word before a common one", "message storms", "weather__list_alerts"],
  ];
  for (const [what, query, first] of cases) {
    verifies("T6", `finds a tool by ${what}`, async () => expect((await found(query))[0]).toBe(first));
  }

  verifies("T6", "a namespace whose tools are about the query helps each of them", async () => {
    toolkit.add(defineTool({ name: "list_stations", description: "Where measurements are taken.", run: () => 1 }));
    // Equal but for the company they are in.
    expect((await found("stations of the forecast")).slice(0, 3)).toEqual([
      "weather__get_forecast",
      "weather__list_stations",
      "list_stations",
    ]);
  });

  verifies("T6", "what a server says of itself counts for its tools", async () => {
    const lists = { tool: [tool("run", "Starts it."), tool("stop", "Ends it.")] };
    const plain = new FakeConnector({ lists });
    const described = new FakeConnector({ lists });
    described.instructions = "Controls the dishwasher in the kitchen.";
    toolkit.addConnector(plain, { namespace: "aaa" });
    toolkit.addConnector(described, { namespace: "zzz" });
    await toolkit.start();
    expect(await found("run the dishwasher")).toEqual(["zzz__run", "aaa__run"]);
  });

  verifies("T6", "after a change what is new is found, and what did not change is not read again", async () => {
    const { tools } = await toolkit.toolset();
    const before = tools.map(({ alias, entry }) => toolTerms(alias, entry));
    expect(await found("invoice")).toEqual([]);
    const billing = new FakeConnector({ lists: { tool: [tool("write_invoice", "Bills a customer.")] } });
    toolkit.addConnector(billing, { namespace: "billing" });
    await toolkit.start();
    expect(await found("invoice")).toEqual(["billing__write_invoice"]);
    const after = (await toolkit.toolset()).tools.filter(({ entry }) => entry.namespace !== "billing");
    expect(after.map(({ alias, entry }) => toolTerms(alias, entry)).every((each, at) => each === before[at])).toBe(
      true,
    );
  });

  test("texts without an end, deep schemas and many choices cost a bounded index", async () => {
    const words = Array.from({ length: 20_000 }, (_, at) => `word${at}`);
    const nested = (levels: number) =>
      words.slice(0, levels).reduce<object>((inner, name) => ({ properties: { [name]: inner } }), {});
    const wide = Object.fromEntries(words.map((word) => [word, { type: "string", description: word }]));
    const lists = {
      tool: [
        { name: "long", description: words.join(" ") },
        // Two levels of JSON for each level of schemas, of 1,000 that are read.
        { name: "deep", input: { type: "object", ...nested(498) } as const },
        { name: "deeper", input: { type: "object", ...nested(2_000) } as const },
        { name: "bottomless", input: { type: "object", ...nested(20_000) } as const },
        { name: "wide", input: { type: "object", properties: wide } as const },
        {
          name: "choices",
          input: { type: "object", properties: { one: { enum: words }, two: { anyOf: words } } } as const,
        },
      ],
    };
    toolkit.addConnector(new FakeConnector({ lists: lists as never }), { namespace: "huge" });
    await toolkit.start();
    const { tools } = await toolkit.toolset();
    const huge = tools.filter(({ entry }) => entry.namespace === "huge").map(({ entry }) => entry.name);
    expect(huge).toEqual(["choices", "deep", "long", "wide"]);
    const leftOut = "A tool that cannot be read is left out: it is nested deeper than 1000 levels";
    expect(toolkit.connections.find(({ namespace }) => namespace === "huge")?.warnings).toEqual([leftOut, leftOut]);
    const sizes = tools.map(({ alias, entry }) => toolTerms(alias, entry).size);
    expect(Math.max(...sizes)).toBeLessThan(1_000);
    expect((await found("word0"))[0]).toBe("huge__long");
    expect(await found(words.join(" "))).toContain("huge__long");
  });

  describe("with embed", () => {
    /** Knows two subjects: the weather and all else. */
    const subjects: Embed = async (texts) =>
      texts.map((text) => (/forecast|alerts|rain|umbrella/.test(text) ? [1, 0, 0.1] : [0, 1, 0.1]));

    verifies("T6", "finds by meaning what no word finds, and puts first what both find", async () => {
      expect(await found("umbrella")).toEqual([]);
      const both = await found("umbrella for the days", { embed: subjects });
      expect(both[0]).toBe("weather__get_forecast");
      expect((await found("umbrella", { embed: subjects })).slice(0, 2).sort()).toEqual([
        "weather__get_forecast",
        "weather__list_alerts",
      ]);
    });

    verifies("T6", "embeds each text once, from toolset to toolset, and again only what changed", async () => {
      const embedded: string[] = [];
      const embed: Embed = (texts, options) => {
        embedded.push(...texts);
        return subjects(texts, options);
      };
      await Promise.all([found("rain", { embed }), found("sun", { embed })]);
      expect(embedded.filter((text) => text.includes("__"))).toHaveLength(5);
      embedded.length = 0;
      await found("storm", { embed });
      expect(embedded).toEqual(["storm"]);
      embedded.length = 0;
      toolkit.addConnector(new FakeConnector({ lists: { tool: mail.slice(0, 1) } }), { namespace: "other" });
      await toolkit.start();
      await found("storm", { embed });
      expect(embedded).toEqual(["other__sendMessage: Sends a message.", "storm"]);
    });

    const broken: Readonly<Record<string, Embed>> = {
      "one that fails": () => Promise.reject(new Error("no credit")),
      "one that throws": () => {
        throw new Error("no credit");
      },
      "one that gives too few": async () => [],
      "one that gives no vectors": async (texts) => texts.map(() => undefined as never),
      "one that gives no numbers": async (texts) => texts.map(() => [Number.NaN]),
      "one that gives vectors of another length for each": async (texts) =>
        texts.map((text) => Array(text.length).fill(1)),
      "one that gives zeros": async (texts) => texts.map(() => [0, 0]),
    };
    for (const [what, embed] of Object.entries(broken)) {
      test(`${what} leaves the search to the words`, async () => {
        expect((await found("archive", { embed }))[0]).toBe("mail__archive_message");
      });
    }

    test("an abort ends a search whose embed never answers", async () => {
      const abort = new AbortController();
      const embed: Embed = () => {
        abort.abort(new Error("enough"));
        return new Promise(() => undefined);
      };
      const run = (await toolkit.toolset({ maxTokens: 1, embed })).begin({ signal: abort.signal });
      const searching = run.execute([{ id: "1", name: "search_tools", input: { query: "rain" } }]);
      await expect(searching).rejects.toThrow("enough");
    });

    test("what is no function is refused", async () => {
      const error = await failure(toolkit.toolset({ embed: "openai" as never }));
      expect([error.code, error.message]).toEqual(["INVALID_CONFIG", expect.stringContaining("embed")]);
    });
  });
});
