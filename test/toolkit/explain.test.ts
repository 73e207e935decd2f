import { afterEach, beforeEach, describe, expect } from "vitest";
import type { Entry } from "../../src/core/item.ts";
import { defineTool } from "../../src/core/tool.ts";
import type { ToolkitOptions } from "../../src/core/toolkit-options.ts";
import { parsePrompt } from "../../src/prompt/parse-prompt.ts";
import { defineTemplate } from "../../src/resource/define.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { Bench } from "../connection/support.ts";
import { FakeConnector, tools } from "../support/fake-connector.ts";
import { verifies } from "../support/verifies.ts";

describe("explain", () => {
  let bench: Bench;
  let far: FakeConnector;

  const forecast = defineTool({
    name: "forecast",
    description: "The weather of a city.",
    options: { cache: { ttlMs: 60_000 }, rateLimit: { calls: 10, perMs: 1_000 }, needsApproval: () => false },
    run: () => "sun",
  });
  const lonely = defineTool({ name: "lonely", options: { exclusive: true }, run: () => "" });
  const brief = parsePrompt("---\nname: forecast\n---\nIn brief.");
  const memo = defineTemplate({
    name: "memo",
    uriTemplate: "memo://{id}",
    read: () => "hi",
  });

  const start = async (options: ToolkitOptions = {}) => {
    far = new FakeConnector({ lists: { tool: tools("forecast", "a:b") } });
    bench = new Bench({ items: [forecast, lonely, brief, memo, resource.text("note", "hi")], ...options });
    await bench.start({ far });
  };
  const explained = async (...args: Parameters<typeof bench.toolkit.explain>) =>
    String(await bench.toolkit.explain(...args));

  beforeEach(() => start());
  afterEach(() => bench.toolkit.close());

  verifies("T5", "an unscoped name: every candidate in order, the winner and what it shadows", async () => {
    expect(await explained("forecast")).toMatchInlineSnapshot(`
      "forecast
        reads as     name forecast
        means        tool builtin.forecast
        shadows      prompt builtin.forecast, tool far.forecast
        alias        forecast
        costs        about 23 tokens
        goes through depth (maxDepth: 8)
                     coerce (coerce: false)
                     validateInput
                     approve (needsApproval: a function of the input)
                     cache (cache: {"ttlMs":60000})
                     rateLimit (rateLimits: [{"calls":10,"perMs":1000,"per":"principal"}])
                     timeout (inactivityMs: 60000, totalMs: 600000)"
    `);
    expect(bench.of("ambiguousName")).toEqual([]);
  });

  verifies("T5", "a scoped name of a connector, with its state", async () => {
    expect(await explained("far.forecast")).toMatchInlineSnapshot(`
      "far.forecast
        reads as     namespace.name: forecast in far
        means        tool far.forecast
        connector    far is connected
        alias        far__forecast
        costs        about 14 tokens
        goes through depth (maxDepth: 8)
                     coerce (coerce: false)
                     validateInput
                     approve (needsApproval: false)
                     retry (attempts: 4, baseMs: 100, maxMs: 2000, isSafe: false, patienceMs: 60000)
                     timeout (inactivityMs: 60000, totalMs: 600000)"
    `);
    far.outcomes = [new Error("ECONNREFUSED"), new Error("ECONNREFUSED")];
    far.session.lose(new Error("gone"));
    await bench.clock.advance(0);
    expect(await explained("far.forecast")).toMatchInlineSnapshot(`
      "far.forecast
        reads as     namespace.name: forecast in far
        means        tool far.forecast (stale)
        connector    far is waiting, 1 attempt, ECONNREFUSED, next attempt 1970-01-01T00:16:42.000Z
        alias        far__forecast
        costs        about 14 tokens
        goes through depth (maxDepth: 8)
                     coerce (coerce: false)
                     validateInput
                     approve (needsApproval: false)
                     retry (attempts: 4, baseMs: 100, maxMs: 2000, isSafe: false, patienceMs: 60000)
                     timeout (inactivityMs: 60000, totalMs: 600000)"
    `);
  });

  verifies("T5", "URIs: of a resource, of a template, scoped, and what is a name after all", async () => {
    expect(await explained("text:note")).toMatchInlineSnapshot(`
      "text:note
        reads as     name text:note, then uri text:note
        means        resource text:note#builtin"
    `);
    expect(await explained("memo://7#builtin")).toMatchInlineSnapshot(`
      "memo://7#builtin
        reads as     uri#namespace: memo://7 in builtin, then name memo://7#builtin
        means        resource memo://7#builtin"
    `);
    expect((await bench.toolkit.explain("a:b")).winner).toEqual({ kind: "tool", ref: "far.a:b", stale: false });
  });

  verifies(["T5", "C12"], "what means nothing says why, and never throws", async () => {
    expect(await explained("far.forcast")).toMatchInlineSnapshot(`
      "far.forcast
        reads as     namespace.name: forcast in far
        problem      There is no item "far.forcast". Did you mean "far.forecast"?"
    `);
    for (const odd of ["", ".", "#", "x:", undefined, Symbol("x"), {}])
      expect((await bench.toolkit.explain(odd as string)).problem).toContain("There is no");
  });

  verifies("T5", "under strictNames an ambiguous name is a problem", async () => {
    await bench.toolkit.close();
    await start({ strictNames: true });
    const { problem, winner, candidates } = await bench.toolkit.explain("forecast");
    expect([problem, winner, candidates.length]).toEqual([expect.stringContaining("far.forecast"), undefined, 3]);
  });

  verifies("T5", "the rules that refuse, hide or decide, of the toolkit and of a toolset", async () => {
    await bench.toolkit.close();
    await start({ policy: { block: ["far.*"], decide: () => true } });
    const { toolkit } = bench;
    const policy = { block: ["*.a:b"], decide: () => true };
    const toolset = await toolkit.toolset({ exclude: ["builtin.forecast"], policy });
    const rules = async (key: string) =>
      (await toolkit.explain(key, { toolset })).rules.map(
        ({ of, verdict, at, rule }) => `${of} ${verdict}: ${at} ${rule}`,
      );
    expect(await rules("far.a:b")).toEqual([
      "toolkit refuses: policy.block far.*",
      "toolset refuses: policy.block *.a:b",
    ]);
    expect(await rules("far.forecast")).toEqual([
      "toolkit refuses: policy.block far.*",
      "toolset decides: policy.decide a function",
    ]);
    expect(await rules("forecast")).toEqual([
      "toolkit decides: policy.decide a function",
      "toolset hides: exclude builtin.forecast",
      "toolset decides: policy.decide a function",
    ]);
    expect((await rules("lonely"))[1]).toContain("offered only where it is forced");
    expect((await toolkit.explain("lonely", { toolset })).alias).toBeUndefined();
    const none = await toolkit.toolset({ policy: { toolChoice: "none" } });
    expect((await toolkit.explain("forecast", { toolset: none })).rules[1]).toMatchObject({
      at: "policy.toolChoice",
      rule: "none",
    });
  });

  verifies(
    ["N10", "T5"],
    "the rule that refuses, allows, offers or sets, as it is written, and where it stands",
    async () => {
      await bench.toolkit.close();
      await start({
        policy: { block: ["x.*", "a:b"], allow: ["far.*", "forecast", "*.lonely", "text:note"] },
        settings: {
          "*": { maxConcurrent: 5 },
          forecast: { timeoutMs: 5, needsApproval: true },
          "x.*": { coerce: true },
        },
      });
      const { toolkit } = bench;
      const toolset = await toolkit.toolset({
        include: ["f*", "far.forecast", "lonely"],
        policy: { allow: ["forecast"] },
      });
      const rules = async (key: string) =>
        (await toolkit.explain(key, { toolset })).rules.map(({ of, verdict, at, rule, sets }) =>
          [of, verdict, at, rule, ...(sets ?? [])].join(" "),
        );
      const limited = "toolkit sets settings * maxConcurrent";
      expect(await rules("forecast")).toEqual([
        "toolkit allows policy.allow forecast",
        limited,
        "toolkit sets settings forecast timeoutMs needsApproval",
        "toolset offers include f*",
        "toolset allows policy.allow forecast",
      ]);
      expect(await rules("far.forecast")).toEqual([
        "toolkit allows policy.allow far.*",
        limited,
        "toolkit sets settings forecast timeoutMs needsApproval",
        "toolset offers include far.forecast",
        "toolset refuses policy.allow forecast",
      ]);
      expect((await rules("a:b")).slice(0, 2)).toEqual(["toolkit refuses policy.block a:b", limited]);
      expect((await rules("lonely"))[2]).toContain("toolset hides  it is exclusive");
      expect(await rules("TEXT:note")).toEqual(["toolkit allows policy.allow text:note"]);
      expect(await rules("memo://7")).toEqual(["toolkit refuses policy.allow far.*, forecast, *.lonely, text:note"]);
      const forced = await toolkit.toolset({ forced: ["forecast"] });
      expect((await toolkit.explain("forecast", { toolset: forced })).rules.at(-1)).toMatchObject({
        at: "forced",
        rule: "forecast",
      });
      expect(await explained("forecast")).toContain(
        "sets         settings forecast: timeoutMs, needsApproval (toolkit)",
      );
    },
  );

  const hiding = [
    [{ include: ["far.*"] }, "nothing of include fits it: far.*"],
    [{ forced: ["lonely"] }, "builtin.lonely is exclusive and forced"],
    [{ include: ["*"] }, undefined],
  ] as const;
  for (const [selection, why] of hiding) {
    verifies("T5", `how a tool stands in a toolset of ${JSON.stringify(selection)}`, async () => {
      const toolset = await bench.toolkit.toolset(selection);
      const { rules, alias } = await bench.toolkit.explain("forecast", { toolset });
      const hidden = rules.find(({ verdict }) => verdict === "hides");
      expect(hidden?.rule).toEqual(why === undefined ? undefined : expect.stringContaining(why));
      expect(alias).toBe(
        why === undefined ? toolset.tools.find(({ entry }) => entry.item === forecast)?.alias : undefined,
      );
    });
  }

  verifies("T5", "what came after the toolset is not in it; a plain value has nothing else", async () => {
    const toolset = await bench.toolkit.toolset();
    bench.toolkit.add(defineTool({ name: "late", run: () => "" }));
    const explanation = await bench.toolkit.explain("late", { toolset });
    expect(explanation.rules).toEqual([
      { of: "toolset", verdict: "hides", rule: "it was not there when the toolset was made" },
    ]);
    expect(JSON.parse(JSON.stringify(explanation))).toEqual(explanation);
  });

  verifies(["T5", "N6"], "the first candidate is what a lookup finds", async () => {
    const keys = ["forecast", "builtin.forecast", "far.forecast", "a:b", "text:note", "text:note#builtin", "memo://1"];
    for (const key of keys) {
      const entry: Entry = await bench.toolkit.lookup(key);
      expect((await bench.toolkit.explain(key)).winner).toEqual({ kind: entry.kind, ref: entry.ref, stale: false });
    }
  });

  verifies("T5", "a lazy connector that is still to come is named, and not started", async () => {
    const lazy = new FakeConnector();
    bench.toolkit.addConnector(lazy, { namespace: "lazy", lazy: true });
    const { unsettled } = await bench.toolkit.explain("lazy.tool");
    expect([unsettled, lazy.attempts]).toEqual([["lazy"], 0]);
  });
});
