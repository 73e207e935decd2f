import { describe, expect, test } from "vitest";
import type { Tool } from "../../src/core/item.ts";
import { defineTool } from "../../src/core/tool.ts";
import type { ToolOptions } from "../../src/core/tool-options.ts";
import { parsePrompt } from "../../src/prompt/parse-prompt.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import type { ToolsetOptions } from "../../src/toolset/toolset.ts";
import { failure } from "../support/failure.ts";
import { FakeConnector, tools } from "../support/fake-connector.ts";
import { verifies } from "../support/verifies.ts";

const tool = (name: string, options: ToolOptions = {}): Tool =>
  defineTool({ name, description: `Does ${name}.`, options, run: () => name });

async function setup(...items: Tool[]): Promise<Toolkit> {
  const toolkit = new Toolkit({
    items: [parsePrompt("---\nname: brief\n---\nHi.", { filename: "brief.md" }), ...items],
  });
  toolkit.addConnector(new FakeConnector({ lists: { tool: tools("forecast", "alerts") } }), { namespace: "weather" });
  await toolkit.start();
  return toolkit;
}

const names = async (toolkit: Toolkit, options?: ToolsetOptions) =>
  (await toolkit.toolset(options)).tools.map(({ alias }) => alias);

describe("a toolset", () => {
  verifies(
    "T1",
    "is what there was when it was made, in the order of lists, with the same definitions at each call",
    async () => {
      const toolkit = await setup(tool("b"), tool("a"));
      const toolset = await toolkit.toolset();
      toolkit.add(tool("c"));
      toolkit.remove("a");
      expect(toolset.tools.map(({ alias, entry }) => [alias, entry.ref])).toEqual([
        ["a", "builtin.a"],
        ["b", "builtin.b"],
        ["weather__alerts", "weather.alerts"],
        ["weather__forecast", "weather.forecast"],
      ]);
      expect(toolset.definitions()).toBe(toolset.definitions());
      expect(toolset.definitions()[0]).toEqual({ name: "a", description: "Does a.", inputSchema: { type: "object" } });
      expect(toolset.get("weather__alerts")?.ref).toBe("weather.alerts");
      expect(toolset.get("alerts")).toBeUndefined();
      expect(Object.isFrozen(toolset.tools)).toBe(true);
      await toolkit.close();
    },
  );

  test("takes what is included and not excluded, and prompts where they are named", async () => {
    const toolkit = await setup(tool("a"), tool("b"));
    expect(await names(toolkit, { include: ["weather.*"] })).toEqual(["weather__alerts", "weather__forecast"]);
    expect(await names(toolkit, { include: ["a", "*.fore*"] })).toEqual(["a", "weather__forecast"]);
    expect(await names(toolkit, { exclude: ["weather.*", "builtin.a"] })).toEqual(["b"]);
    expect(await names(toolkit, { include: ["brief"] })).toEqual(["brief"]);
    expect(await names(toolkit, { include: [] })).toEqual([]);
    const toolset = await toolkit.toolset({ include: ["weather.*"] });
    expect(toolset.exclude("weather.alerts").tools.map(({ alias }) => alias)).toEqual(["weather__forecast"]);
    await toolkit.close();
  });

  verifies("T2", "one that is forced is the tool choice of the first turn, and the others stay", async () => {
    const toolkit = await setup(tool("a"), tool("b"));
    const toolset = await toolkit.toolset({ forced: ["b"] });
    expect(toolset.toolChoice).toEqual({ tool: "b" });
    const run = toolset.begin();
    expect(run.definitions()).toHaveLength(4);
    await run.execute([{ id: "1", name: "b", input: {} }]);
    expect(run.toolChoice).toBe("auto");
    await toolkit.close();
  });

  verifies(
    "T2",
    "of several that are forced only they are offered in the first turn, with what only adds an ability",
    async () => {
      const toolkit = await setup(tool("a"), tool("b"), tool("search", { capability: true }));
      const run = (await toolkit.toolset({ forced: ["a", "weather.alerts"] })).begin();
      expect(run.toolChoice).toBe("required");
      expect(run.definitions().map(({ name }) => name)).toEqual(["a", "search", "weather__alerts"]);
      await run.execute([]);
      expect([run.toolChoice, run.definitions().length]).toEqual(["auto", 5]);
      await toolkit.close();
    },
  );

  verifies("T2", "an exclusive one is there only when it is forced, and then alone", async () => {
    const toolkit = await setup(tool("a"), tool("only", { exclusive: true }), tool("search", { capability: true }));
    expect(await names(toolkit)).not.toContain("only");
    expect(await names(toolkit, { include: ["*"] })).not.toContain("only");
    expect(await names(toolkit, { forced: ["only"] })).toEqual(["only"]);
    const among = await toolkit.toolset({ forced: ["a", "only", "search"] });
    expect([among.tools.map(({ alias }) => alias), among.toolChoice]).toEqual([["only"], { tool: "only" }]);
    await toolkit.close();
  });

  verifies("T2", "a required call is one of the first turn, and none discloses nothing", async () => {
    const toolkit = await setup(tool("a"), tool("b", { guidance: "Use b." }));
    const required = (await toolkit.toolset({ policy: { toolChoice: "required" } })).begin();
    expect(required.toolChoice).toBe("required");
    await required.execute([{ id: "1", name: "a", input: {} }]);
    expect(required.toolChoice).toBe("auto");
    expect((await toolkit.toolset({ forced: ["a"] })).begin({ turns: 2 }).toolChoice).toBe("auto");
    for (const maxTokens of [undefined, 1]) {
      const none = await toolkit.toolset({ maxTokens, forced: ["a"], policy: { toolChoice: "none" } });
      expect([none.toolChoice, none.definitions(), none.begin().definitions(), none.tokens().total]).toEqual([
        "none",
        [],
        [],
        0,
      ]);
      const [answer] = await none.begin().execute([{ id: "1", name: "a", input: {} }]);
      expect(answer?.error?.details).toEqual({ rule: "toolChoice" });
    }
    await toolkit.close();
  });

  verifies("T2", "one more is forced by force, by its ref, its alias or its name", async () => {
    const toolkit = await setup(tool("a"), tool("forecast"), tool("only", { exclusive: true }));
    const toolset = await toolkit.toolset();
    const choiceOf = (name: string) => toolset.force(name).toolChoice;
    expect(["weather.forecast", "weather__forecast", "forecast", "alerts"].map(choiceOf)).toEqual([
      { tool: "weather__forecast" },
      { tool: "weather__forecast" },
      { tool: "forecast" },
      { tool: "weather__alerts" },
    ]);
    expect(toolset.toolChoice).toBe("auto");
    const several = toolset.force("a").force("alerts");
    expect([several.toolChoice, several.definitions().map(({ name }) => name)]).toEqual([
      "required",
      ["a", "weather__alerts"],
    ]);
    expect(
      several
        .force("only")
        .definitions()
        .map(({ name }) => name),
    ).toEqual(["only"]);
    expect((await toolkit.toolset({ include: ["a"] })).force("alerts").definitions()).toHaveLength(2);
    expect(toolset.add(tool("extra")).force("extra").toolChoice).toEqual({ tool: "extra" });
    expect(() => toolset.force("alrts")).toThrow(/forced names "alrts".*"weather.alerts"/);
    expect(() => toolset.exclude("a").force("a")).toThrow(/forced and excluded/);
    expect(() => toolset.force("")).toThrow(/none of them empty/);
    await toolkit.close();
  });

  const wrong: readonly [ToolsetOptions, string, string][] = [
    [{ forced: ["weather.forcast"] }, "NOT_FOUND", 'Did you mean "weather.forecast"?'],
    [{ exclude: ["nothing"] }, "NOT_FOUND", "nothing"],
    [{ forced: ["a"], exclude: ["builtin.*"] }, "INVALID_INPUT", "forced and excluded"],
    [{ forced: ["only", "a", "sole"] }, "INVALID_INPUT", "each of which is exclusive"],
    [{ policy: { block: "x" as never } }, "INVALID_CONFIG", "policy.block"],
    [{ policy: { decide: true as never } }, "INVALID_CONFIG", "policy.decide"],
  ];
  for (const [options, code, says] of wrong) {
    verifies("T2", `refuses ${JSON.stringify(options)}`, async () => {
      const exclusive = ["only", "sole"].map((name) => tool(name, { exclusive: true }));
      const toolkit = await setup(tool("a"), ...exclusive);
      const error = await failure(toolkit.toolset(options));
      expect([error.code, error.message]).toEqual([code, expect.stringContaining(says)]);
      await toolkit.close();
    });
  }

  test("a glob that excludes nothing is no mistake", async () => {
    const toolkit = await setup(tool("a"));
    expect(await names(toolkit, { exclude: ["far.*"] })).toHaveLength(3);
    await toolkit.close();
  });

  test("takes tools of the service's own beside, and calls them", async () => {
    const toolkit = await setup(tool("a"));
    const toolset = (await toolkit.toolset({ include: ["a"] })).add(tool("extra"));
    expect(toolset.tools.map(({ alias }) => alias)).toEqual(["a", "extra"]);
    const [answer] = await toolset.begin().execute([{ id: "1", name: "extra", input: {} }]);
    expect(await answer?.content?.text()).toBe("extra");
    expect(() => toolset.add(tool("no name"))).toThrow(/no name/);
    await toolkit.close();
  });

  verifies(
    "T1",
    "says how its tools are used, each text once, and how to read the results of those that were",
    async () => {
      const shared = { guidance: "Prefer small steps." };
      const toolkit = await setup(
        tool("a", { ...shared, formatGuidance: "a gives miles." }),
        tool("b", { ...shared, formatGuidance: "b gives minutes." }),
        tool("c"),
      );
      const toolset = await toolkit.toolset();
      expect(toolset.guidance()).toBe("## a, b\n\nPrefer small steps.");
      expect(toolset.guidance({ used: ["b", "c"] })).toBe("## b\n\nb gives minutes.");
      expect(toolset.guidance({ used: [] })).toBe("");
      await toolkit.close();
    },
  );

  verifies(["N10", "T1"], "a bare name includes what lookup finds, and excludes in every namespace", async () => {
    const toolkit = await setup(tool("forecast"), tool("a"));
    expect(await names(toolkit, { include: ["forecast"] })).toEqual(["forecast"]);
    expect(await names(toolkit, { include: ["alerts"] })).toEqual(["weather__alerts"]);
    expect(await names(toolkit, { include: ["a*"] })).toEqual(["a"]);
    expect(await names(toolkit, { exclude: ["forecast"] })).toEqual(["a", "weather__alerts"]);
    expect(await names(toolkit, { exclude: ["al*"] })).toEqual(["a", "forecast", "weather__forecast"]);
    const toolset = await toolkit.toolset();
    expect(toolset.exclude("alerts").tools.map(({ alias }) => alias)).toEqual(["a", "forecast", "weather__forecast"]);
    expect(() => toolset.exclude("alrts")).toThrow(/exclude names "alrts".*"weather.alerts"/);
    expect(() => toolset.exclude("")).toThrow(/none of them empty/);
    await toolkit.close();
  });

  verifies(
    ["N10", "T2"],
    "a bare name forces what lookup finds, a glob all that fits but what is exclusive",
    async () => {
      const toolkit = await setup(tool("forecast"), tool("only", { exclusive: true }));
      expect((await toolkit.toolset({ forced: ["forecast"] })).toolChoice).toEqual({ tool: "forecast" });
      expect((await toolkit.toolset({ forced: ["weather.*"] })).begin().definitions()).toHaveLength(2);
      expect((await toolkit.toolset({ forced: ["o*"] })).toolChoice).toBe("auto");
      await toolkit.close();
    },
  );

  const unknown: readonly (readonly [options: ToolsetOptions, message: RegExp])[] = [
    [{ include: ["weather.forcast"] }, /^include names "weather.forcast": .*"weather.forecast"/],
    [{ include: ["a", "nothing"] }, /^include names "nothing"/],
    [{ forced: ["nothing"] }, /^forced names "nothing"/],
    [{ exclude: ["alert"] }, /^exclude names "alert": .*"weather.alerts"/],
  ];
  for (const [options, message] of unknown) {
    verifies("N10", `a name that nothing has is NOT_FOUND: ${JSON.stringify(options)}`, async () => {
      const toolkit = await setup(tool("a"));
      const error = await failure(toolkit.toolset(options));
      expect([error.code, error.message]).toEqual(["NOT_FOUND", expect.stringMatching(message)]);
      await toolkit.close();
    });
  }

  for (const list of ["include", "exclude", "forced"] as const) {
    verifies("N10", `an empty text in ${list} is refused, and so is a resource`, async () => {
      const toolkit = await setup(tool("a"));
      toolkit.add(resource.text("note", "hi"));
      expect(await failure(toolkit.toolset({ [list]: [""] }))).toMatchObject({
        code: "INVALID_CONFIG",
        details: { path: list },
      });
      expect((await failure(toolkit.toolset({ [list]: ["text:note"] }))).code).toBe("INVALID_INPUT");
      await toolkit.close();
    });
  }

  verifies(
    ["N10", "T5"],
    "the policy of a run refuses a name in every namespace, and allows what lookup finds",
    async () => {
      const toolkit = await setup(tool("forecast"), tool("a"));
      const denied = async (policy: ToolsetOptions["policy"], ...others: Tool[]) => {
        const toolset = (await toolkit.toolset({ policy })).add(...others);
        const calls = toolset.tools.map(({ alias }) => ({ id: alias, name: alias, input: {} }));
        return (await toolset.begin().execute(calls))
          .filter(({ status }) => status === "denied")
          .map(({ name }) => name);
      };
      expect(await denied({ block: ["forecast"] })).toEqual(["forecast", "weather__forecast"]);
      expect(await denied({ allow: ["forecast", "alerts"] })).toEqual(["a", "weather__forecast"]);
      expect(await denied({ allow: ["extra", "a"] }, tool("extra"))).toEqual([
        "forecast",
        "weather__alerts",
        "weather__forecast",
      ]);
      expect(await denied({ block: ["extra"] }, tool("extra"))).toEqual(["extra"]);
      await toolkit.close();
    },
  );
});
