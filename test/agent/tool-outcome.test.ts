import { beforeEach, describe, expect } from "vitest";
import { ToolkitError } from "../../src/core/error.ts";
import { defineTool, resource } from "../../src/index.ts";
import type { ScriptedToolCall } from "../../src/testing/index.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { faultsOf, resultsIn, serve, toldIn } from "./support.ts";

let runs: string[] = [];
beforeEach(() => {
  runs = [];
});

const integer = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } as const;
const double = defineTool<{ n: number }>({
  name: "double",
  input: integer,
  run: ({ n }) => {
    runs.push(`double ${n}`);
    return { doubled: 2 * n };
  },
});
const take = defineTool({
  name: "take",
  options: { takesControl: true },
  run: () => {
    runs.push("take");
    return "taken";
  },
});
const failing = (name: string, error: unknown) =>
  defineTool({
    name,
    run: () => {
      throw error;
    },
  });
const items = [
  double,
  take,
  failing("breaks", new Error("the disk is full")),
  failing(
    "unsure",
    new ToolkitError("OUTCOME_UNKNOWN", "The connection was lost after sending.", { namespace: "shop" }),
  ),
  defineTool({ name: "guarded", options: { needsApproval: true }, run: () => "guarded" }),
  defineTool({
    name: "waits",
    run: (_input, context) => context.pending({ reason: "payment", message: "Paid by hand." }),
  }),
  defineTool({ name: "nothing", run: () => undefined }),
  defineTool({ name: "blank", run: () => "" }),
  defineTool({ name: "picture", run: () => resource.data("dot", png) }),
  defineTool({ name: "blocked", run: () => "never" }),
];
const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]);

/** The results that the model gets for the calls of one turn. */
async function told(calls: readonly ScriptedToolCall[], options: Parameters<typeof serve>[2] = {}) {
  await using served = serve([{ toolCalls: calls }, "done"], items, options);
  const answer = await served.assistant.generate("Go.", { tools: ["*"] });
  const [, second] = served.model.requests;
  expect(faultsOf(second?.prompt ?? [])).toEqual([]);
  return { answer, text: toldIn(second), results: resultsIn(second), calls: answer.meta?.toolCalls as object[] };
}

describe("what the model is told of a call", () => {
  const rows: readonly (readonly [string, ScriptedToolCall, string, RegExp, Parameters<typeof serve>[2]?])[] = [
    ["that succeeds", { name: "double", input: { n: 4 } }, "ok", /^\{"doubled":8\}$/],
    ["that throws", { name: "breaks" }, "failed", /^Failed \(TOOL_FAILED\): .*the disk is full/],
    ["whose outcome is unknown", { name: "unsure" }, "failed", /OUTCOME_UNKNOWN.*lost after sending/],
    ["of a tool there is not", { name: "dubble", input: { n: 1 } }, "failed", /NOT_FOUND.*Did you mean "double"/],
    [
      "with a number that none can hold",
      { name: "double", input: '{"n":1e400}' },
      "failed",
      /INVALID_INPUT.*beyond 1\.8e308.*Nothing ran/,
    ],
    [
      "with arguments that are no JSON",
      { name: "double", input: "{n:" },
      "failed",
      /INVALID_INPUT.*no JSON.*Nothing ran/,
    ],
    ["with arguments that do not fit", { name: "double", input: { n: "x" } }, "failed", /INVALID_INPUT.*\/n/],
    ["with arguments whose slips are mended", { name: "double", input: { n: "21" } }, "ok", /"doubled":42/],
    ["with arguments that are no object", { name: "double", input: "[1]" }, "failed", /INVALID_INPUT/],
    ["with null for nothing", { name: "nothing", input: "null" }, "ok", /^Done\. It has no result\.$/],
    ["without arguments", { name: "nothing", input: "" }, "ok", /^Done\. It has no result\.$/],
    ["whose result is an empty text", { name: "blank" }, "ok", /^The result is an empty text\.$/],
    ["with an image", { name: "picture" }, "ok", /^\[file\]$/],
    [
      "the policy of the toolkit refuses",
      { name: "blocked" },
      "denied",
      /^Not done, because it is not allowed: .*block/,
      { toolkit: { policy: { block: ["builtin.blocked"] } } },
    ],
    [
      "the policy of the agent refuses",
      { name: "blocked" },
      "denied",
      /^Not done, because it is not allowed: .*block/,
      { agent: { policy: { block: ["builtin.blocked"] } } },
    ],
    ["a person refuses at once", { name: "guarded" }, "denied", /^Not done, because it is not allowed: .*not today/],
  ];
  for (const [what, call, status, words, options = {}] of rows) {
    verifies("A4", what, async () => {
      const approve = async () => ({ approved: false, reason: "not today" });
      const given = what.startsWith("a person") ? await deniedBy(approve, call) : await told([call], options);
      expect(given.text).toMatch(words);
      expect(given.calls).toMatchObject([{ name: call.name, status, step: 0 }]);
    });
  }

  async function deniedBy(approve: () => Promise<{ approved: boolean; reason: string }>, call: ScriptedToolCall) {
    await using served = serve([{ toolCalls: [call] }, "done"], items);
    Object.assign(served.assistant, { approve });
    const answer = await served.assistant.generate("Go.", { toolbox: served.toolkit, tools: ["*"] });
    return { text: toldIn(served.model.requests[1]), calls: answer.meta?.toolCalls as object[] };
  }

  verifies("A4", "every call of a batch has one result, in the order of the calls", async () => {
    const calls = [
      { name: "breaks" },
      { name: "double", input: { n: 1 } },
      { name: "nosuch" },
      { name: "double", input: "{" },
      { name: "double", input: { n: 2 } },
    ];
    const { results } = await told(calls);
    expect(results.map(({ toolName }) => toolName)).toEqual(calls.map(({ name }) => name));
  });

  verifies(["A4", "T3"], "identical calls run once, and each has its result", async () => {
    const call = { name: "double", input: { n: 3 } };
    const { results } = await told([call, call]);
    expect(runs).toEqual(["double 3"]);
    expect(results.map(({ toolCallId }) => toolCallId)).toEqual(["call-1", "call-2"]);
    expect(results[0]?.output).toMatchObject({ type: "json", value: { doubled: 6 } });
    expect(results[1]?.output).toEqual(results[0]?.output);
  });

  verifies("A4", "calls that a model gives one id, or none, are told apart", async () => {
    const { results } = await told([
      { name: "double", input: { n: 1 }, id: "a" },
      { name: "double", input: { n: 2 }, id: "a" },
      { name: "double", input: { n: 3 }, id: "" },
    ]);
    const ids = results.map(({ toolCallId }) => toolCallId);
    expect(ids[0]).toBe("a");
    expect(new Set(ids).size).toBe(3);
    expect(ids).not.toContain("");
  });

  verifies(["A2", "T4"], "a tool that takes control gives the answer, alone", async () => {
    await using served = serve([{ toolCalls: [{ name: "take" }] }], items);
    const answer = await served.assistant.generate("Go.", { tools: ["*"] });
    expect(await answer.text()).toBe("taken");
    expect(answer.meta).toMatchObject({ finishReason: "control", steps: 1 });
    expect(faultsOf(served.assistant.conversationOf(answer)?.messages ?? [])).toEqual([]);
  });

  verifies(["A4", "T4"], "in a batch with others, nothing runs", async () => {
    const { text, calls } = await told([{ name: "take" }, { name: "double", input: { n: 1 } }]);
    expect(text).toMatch(/take takes control and must be called alone/);
    expect(calls).toMatchObject([{ status: "denied" }, { status: "denied" }]);
    expect(runs).toEqual([]);
  });

  verifies("A4", "an error of a tool is no error of the run, however often", async () => {
    await using served = serve(
      ({ prompt }) => (prompt.length < 9 ? { toolCalls: [{ name: "breaks" }] } : "I give up."),
      items,
    );
    const answer = await served.assistant.generate("Go.", { tools: ["breaks"] });
    expect(await answer.text()).toBe("I give up.");
  });

  verifies("A4", "a call of a model that has no tools is answered too", async () => {
    await using served = serve([{ toolCalls: [{ name: "double" }] }, "done"], items);
    await served.assistant.generate("Go.");
    expect(toldIn(served.model.requests[1])).toMatch(/There is no tool "double"\. There are no tools/);
  });

  verifies("A4", "a call that waits is told in words where nothing keeps the run", async () => {
    await using served = serve([{ toolCalls: [{ name: "waits" }] }, "It waits."], items);
    await using other = serve([], items);
    // The agent does not serve the toolkit in which it runs: nothing could resume it.
    const answer = await served.assistant.generate("Go.", { toolbox: other.toolkit, tools: ["waits"] });
    expect(toldIn(served.model.requests[1])).toMatch(/^Not done yet: .*Paid by hand\..*Do not call it again/s);
    expect(await answer.text()).toBe("It waits.");
  });

  verifies(["A4", "A7"], "a call that waits suspends the run where something does", async () => {
    await using served = serve([{ toolCalls: [{ name: "waits" }] }], items);
    expect(await failure(served.assistant.generate("Go.", { tools: ["waits"] }))).toMatchObject({ code: "PENDING" });
  });
});
