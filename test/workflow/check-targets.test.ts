import { afterEach, beforeEach, describe, expect } from "vitest";
import { z } from "zod";
import { defineTool, Toolkit } from "../../src/index.ts";
import { parsePrompt } from "../../src/prompt/parse-prompt.ts";
import { assertTargets, checkTargets } from "../../src/workflow/check-targets.ts";
import { parseWorkflow, readWorkflow } from "../../src/workflow/parse-workflow.ts";
import { verifies } from "../support/verifies.ts";

let toolkit: Toolkit;

beforeEach(() => {
  toolkit = new Toolkit();
  const files = z.object({ path: z.string() });
  const found = z.object({ count: z.int(), files: z.array(z.object({ path: z.string(), size: z.int() })) });
  toolkit.add(
    defineTool({ name: "scan", input: files, output: found, run: () => ({ count: 0, files: [] }) }),
    defineTool({
      name: "report",
      input: z.strictObject({
        title: z.string(),
        limit: z.int().max(10).default(5),
        rows: z.array(z.object({ size: z.number() })),
      }),
      run: () => "done",
    }),
    defineTool({ name: "free", run: () => "done" }),
    parsePrompt(
      "---\nname: sum_up\ndescription: Sums up.\ninput: { type: object, required: [text], properties: { text: { type: string } } }\n---\nSum up {{text}}.",
    ),
  );
});
afterEach(() => toolkit.close());

const input = { type: "object", properties: { root: { type: "string" }, deep: { type: "boolean" } } };

async function mistakes(steps: readonly object[], output?: unknown): Promise<readonly string[]> {
  const parsed = await readWorkflow({ name: "audit", description: "Audits.", input, steps, output });
  return (await checkTargets(parsed, toolkit)).map(({ path, message }) => `${path.join(".")}: ${message}`);
}

const scan = { id: "scan", tool: "scan", params: { path: "${input.root}" } };

describe("a workflow that is compared with a toolbox", () => {
  verifies("W3", "fits tools and prompts that are there", async () => {
    const steps = [
      scan,
      { id: "each", forEach: "${steps.scan.files}", tool: "builtin.scan", params: { path: "${item.path}" } },
      { id: "say", run: "sum_up", params: { text: "All: ${steps.scan.count}" } },
      {
        id: "ask",
        model: "default",
        prompt: "?",
        schema: { type: "object", properties: { title: { type: "string" } } },
      },
      {
        id: "report",
        tool: "report",
        params: { title: "${steps.ask.title}", rows: "${steps.each[*].files[]}", limit: 3 },
      },
      { id: "free", tool: "free", params: { anything: "${steps.report}" } },
    ];
    expect(await mistakes(steps, { n: "${steps.scan.files[0].size}" })).toEqual([]);
  });

  verifies("W3", "names tools and prompts that are not there, with those that may be meant", async () => {
    expect(await mistakes([{ id: "a", tool: "scna" }])).toEqual([
      expect.stringMatching(/^steps\.0\.tool: There is no tool "scna"\. Did you mean "builtin\.scan"/),
    ]);
    expect(await mistakes([{ id: "a", run: "scan" }])).toEqual([
      expect.stringMatching(/^steps\.0\.run: There is no prompt "scan"\./),
    ]);
    const deep = { id: "a", parallel: [{ id: "b", tool: "free", fallback: [{ id: "c", tool: "gone" }] }] };
    expect(await mistakes([deep])).toEqual([
      expect.stringMatching(/^steps\.0\.parallel\.0\.fallback\.0\.tool: There is no tool "gone"/),
    ]);
  });

  verifies("W3", "names params that are missing, unknown or refused", async () => {
    expect(await mistakes([{ id: "a", tool: "scan" }])).toEqual([
      "steps.0.params.path: path of the tool scan: is missing.",
    ]);
    expect(await mistakes([{ id: "a", tool: "scan", params: { path: 5 } }])).toEqual([
      expect.stringMatching(/^steps\.0\.params\.path: path of the tool scan: /),
    ]);
    const report = (params: object) => mistakes([scan, { id: "a", tool: "report", params }]);
    expect(await report({ title: "${input.root}", rows: [], limit: 11 })).toEqual([
      expect.stringMatching(/^steps\.1\.params\.limit: limit of the tool report: /),
    ]);
    expect(await report({ titel: "${input.root}", rows: [] })).toEqual([
      "steps.1.params.title: title of the tool report: is missing.",
      'steps.1.params.titel: The tool report takes no "titel". Did you mean "title"?',
    ]);
    expect(await report({ title: "a", rows: "${steps.scan.files}", titel: 1 })).toEqual([
      expect.stringMatching(/titel/),
    ]);
  });

  verifies("W3", "names references whose type cannot fit, where schemas tell", async () => {
    const report = (params: object) =>
      mistakes([scan, { id: "a", tool: "report", params: { title: "a", rows: [], ...params } }]);
    expect(await report({ title: "${steps.scan.count}" })).toEqual([
      "steps.1.params.title: Title of the tool report takes string, and this gives integer.",
    ]);
    expect(await report({ limit: "${input.deep}" })).toEqual([
      "steps.1.params.limit: Limit of the tool report takes integer, and this gives boolean.",
    ]);
    expect(await report({ limit: "n: ${input.root}" })).toEqual([
      "steps.1.params.limit: Limit of the tool report takes integer, and this gives string.",
    ]);
    expect(await report({ rows: "${steps.scan}" })).toEqual([
      "steps.1.params.rows: Rows of the tool report takes array, and this gives object.",
    ]);
    expect(await mistakes([scan, { id: "a", tool: "scan", params: "${steps.scan.files}" }])).toEqual([
      "steps.1.params: The input of the tool scan takes object, and this gives array.",
    ]);
    const each = { id: "each", forEach: "${steps.scan.files}", tool: "scan", params: { path: "${item.size}" } };
    expect(await mistakes([scan, each])).toEqual([
      "steps.1.params.path: Path of the tool scan takes string, and this gives integer.",
    ]);
    expect(await report({ title: "${to_string(steps.scan.count)}", limit: "${steps.scan.files[0].size}" })).toEqual([]);
  });

  verifies("W3", "names references to parts that the input and results do not have", async () => {
    expect(await mistakes([{ ...scan, params: { path: "${input.rot}" } }])).toEqual([
      'steps.0.params.path: ${input.rot} refers to "rot", which the input does not have. Did you mean "root"?',
    ]);
    expect(await mistakes([scan], "${steps.scan.cuont}")).toEqual([
      'output: ${steps.scan.cuont} refers to "cuont", which the result of scan does not have. Did you mean "count"?',
    ]);
    expect(
      await mistakes([
        scan,
        { id: "each", forEach: "${steps.scan.files}", tool: "free", params: { x: "${item.name}" } },
      ]),
    ).toEqual([
      expect.stringMatching(/refers to "name", which the result of scan does not have. There are path, size/),
    ]);
    const both = { id: "both", parallel: [scan, { id: "other", tool: "free" }] };
    expect(await mistakes([both], "${steps.both.scan.count} ${steps.both.other.x}")).toEqual([]);
    expect(await mistakes([both], "${steps.both.scan.cuont}")).toEqual([
      expect.stringMatching(/Did you mean "count"\?$/),
    ]);
    expect(await mistakes([both], "${steps.both.scann}")).toEqual([
      expect.stringMatching(/which the result of both does not have\. Did you mean "scan"\?$/),
    ]);
    // A fallback may give anything.
    expect(await mistakes([{ ...scan, fallback: { value: {} } }], "${steps.scan.cuont}")).toEqual([]);
  });

  verifies("W3", "is not refused where the fields of an input decide about each other, or are repaired", async () => {
    const either = { type: "object", anyOf: [{ required: ["a"] }, { required: ["b"] }] };
    const input = { type: "object", properties: { n: { type: "integer" } } };
    toolkit.add(
      defineTool({ name: "either", input: either, run: () => "done" }),
      defineTool({ name: "repairs", input, options: { coerce: true }, run: () => "done" }),
    );
    expect(await mistakes([{ id: "x", tool: "either", params: { a: "${input.root}" } }])).toEqual([]);
    expect(await mistakes([{ id: "x", tool: "either", params: { c: 1 } }])).not.toEqual([]);
    expect(await mistakes([{ id: "x", tool: "repairs", params: { n: "5" } }])).toEqual([]);
  });

  verifies("W3", "is refused with file, line and column of each mistake", async () => {
    const text =
      "name: audit\ndescription: Audits.\nsteps:\n  - id: a\n    tool: scna\n  - id: b\n    tool: scan\n    params: { path: 1 }\n";
    const parsed = await parseWorkflow({ text, file: "audit.yaml" });
    await expect(assertTargets(parsed, toolkit)).rejects.toMatchObject({
      code: "INVALID_WORKFLOW",
      details: { file: "audit.yaml", line: 5, column: 11 },
      message: expect.stringMatching(
        /^audit\.yaml:5:11: There is no tool "scna".*\naudit\.yaml:8:21: path of the tool scan: /,
      ),
    });
  });

  verifies("W3", "says nothing of a server that has not connected", async () => {
    const connector = { label: "far", connect: () => Promise.reject(new Error("not now")) };
    toolkit.addConnector(connector, { namespace: "far" });
    expect(await mistakes([{ id: "a", tool: "far.away" }])).toEqual([]);
  });
});
