import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import { defineTool, Toolkit } from "../../../src/index.ts";
import { checkTargets } from "../../../src/workflow/check-targets.ts";
import { parseWorkflow } from "../../../src/workflow/parse-workflow.ts";
import { workflows } from "../../../src/workflow/workflows.ts";
import type { HostileArea } from "./area.ts";

const yaml = [
  ..."a: b|\n|- a|[|]|{|}|, |: |? |&a |*a|'|\"|>\n|#|!!str |!a |<<: *a\n|\t|~|.nan|...\n|---\n|name: a\n|steps:\n|  - id: a\n|    tool: t\n".split(
    "|",
  ),
  "\u00a0",
  "\u0000",
  "${",
  "}",
];
const fitting = [
  ..."input|input.a|index|@|$|*|keys(@)|input.a[]|input.a[*].b|input.a[?b > `1`]|[input, steps]|{a: input}|steps.*|steps".split(
    "|",
  ),
  ..."sort_by(input.a, &b)|to_string(@)|map(&@, input.a)|input.a.b.c||'|input.a[::-1]|merge(@, @)|length(input.a)|input.a[-1]".split(
    "|",
  ),
];
const expressions = [
  ..."input|input.a|steps.s0|steps.s1.a|item|index|@|$|*|keys(@)|input.a[]|input.a[*].b|input.a[?b > `1`]|[input, steps]".split(
    "|",
  ),
  ..."{a: input}|sort_by(input.a, &b)|join(',', input.a)|to_string(@)|map(&@, input.a)|let $x = input in $x|upper(a)|a.b.c||'|`1|".split(
    "|",
  ),
  "input[::-1]",
  "merge(@, @)",
  "(".repeat(200),
  "!".repeat(900),
  "a.".repeat(400),
  "[".repeat(900),
  "x".repeat(2_000),
];
const names = [
  "tool",
  "run",
  "model",
  "branch",
  "parallel",
  "steps",
  "forEach",
  "fallback",
  "when",
  "output",
  "params",
  "schema",
  "onError",
  "as",
];

/** Workflow files, in every order of their parts: parsed, compared with a toolbox, and run where they can be. */
export const workflowFuzz: HostileArea = {
  name: "workflows",
  *cases(random) {
    const below = (end: number) => Math.floor(random() * end);
    const pick = <T>(list: readonly T[]) => list[below(list.length)] as T;
    const is = (chance: number) => random() < chance;
    const reference = () => (is(0.03) ? `\${${pick(expressions)}${pick(["}", ""])}` : `\${${pick(fitting)}}`);
    const text = () => `${pick(["", "", "a ", "$"])}${reference()}${pick(["", "", "b"])}`;
    const value = (depth: number): unknown =>
      depth === 0 || is(0.4)
        ? pick<unknown>([text(), text(), 1, null, true, "", "t", [], {}])
        : is(0.5)
          ? Array.from({ length: below(4) }, () => value(depth - 1))
          : Object.fromEntries(
              Array.from({ length: below(4) }, () => [
                pick(["a", "b", "__proto__", "constructor", ""]),
                value(depth - 1),
              ]),
            );
    let count = 0;
    const step = (depth: number): Record<string, unknown> => {
      const id = `s${count++}`;
      const inner = () => Array.from({ length: 1 + below(3) }, () => step(depth - 1));
      const made: Record<string, unknown> = { id, tool: is(0.02) ? "gone" : "t" };
      made.params = is(0.05) ? value(3) : { a: value(3) };
      if (depth > 0 && is(0.5)) {
        delete made.tool;
        delete made.params;
        Object.assign(
          made,
          pick<() => object>([
            () => ({ parallel: inner() }),
            () => ({ forEach: reference(), steps: inner(), concurrency: 1 + below(64) }),
            () => ({ branch: [{ when: reference(), steps: inner() }], otherwise: inner() }),
          ])(),
        );
      }
      if (is(0.2)) made.fallback = depth > 0 && is(0.5) ? inner() : { value: value(2) };
      if (is(0.2)) made.output = value(2);
      if (is(0.02)) made[pick(names)] = value(3);
      if (is(0.3)) made.onError = "continue";
      return made;
    };
    const makers: readonly (() => string)[] = [
      () => Array.from({ length: 2 ** below(14) }, () => pick(yaml)).join(""),
      () =>
        JSON.stringify({
          name: "a",
          description: "a",
          steps: Array.from({ length: 1 + below(5) }, () => step(3)),
          output: value(3),
        }),
      () => JSON.stringify({ name: "a", description: "a", input: value(4), steps: [step(1)] }),
      () =>
        JSON.stringify({ name: "a", description: "a", steps: Array.from({ length: 2 ** below(11) }, () => step(0)) }),
      () => `name: a\ndescription: a\nsteps: ${"[{ id: a, parallel: ".repeat(2 ** below(12))}`,
      () =>
        `name: a\ndescription: a\na0: &a0 [x]\n${Array.from({ length: below(31) }, (_, at) => `a${at + 1}: &a${at + 1} [*a${at}, *a${at}]\n`).join("")}`,
    ];
    for (;;) {
      count = 0;
      const text = pick(makers)();
      const input = { a: Array.from({ length: 2 ** below(8) }, (_, b) => ({ b })) };
      yield {
        describe: `a workflow of ${text.length} characters: ${text.slice(0, 200)}`,
        run: () => attack(text, input),
      };
    }
  },
};

async function attack(text: string, input: object): Promise<void> {
  const parsed = await parseWorkflow({ text, file: "a.yaml" });
  await nextTurn();
  await using toolkit = new Toolkit();
  toolkit.add(defineTool({ name: "t", input: z.looseObject({ a: z.unknown() }), run: (given) => given }));
  await checkTargets(parsed, toolkit);
  await nextTurn();
  toolkit.addSource("workflow", workflows([parsed.workflow]));
  await toolkit.call("workflow.a", input);
}
