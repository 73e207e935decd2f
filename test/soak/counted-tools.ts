import { setTimeout as sleep } from "node:timers/promises";
import type { FaultyTool } from "../../src/testing/index.ts";
import type { Ledger } from "./ledger.ts";

type Input = Parameters<FaultyTool["run"]>[0];

const call = { type: "string", description: "By which the soak counts how often it ran." };
const inputSchema = { type: "object", properties: { call }, required: ["call"] };
const slowSchema = { type: "object", properties: { call, ms: { type: "number" } }, required: ["call"] };
const form = { type: "object", properties: { said: { type: "string" } }, required: ["said"] };
const safe = { readOnlyHint: true };
const unsafe = { readOnlyHint: false, destructiveHint: true, idempotentHint: false };

/**
 * Tools that note each run in a ledger, and answer with the id they were called with.
 *
 * @param isStateless - of a server that runs a tool again once its question is answered: only the run that has the answer counts
 */
export function countedTools(ledger: Ledger, isStateless: boolean): Readonly<Record<string, FaultyTool>> {
  const said = (id: unknown) => `ran ${String(id)}`;
  const counted =
    (run: FaultyTool["run"]): FaultyTool["run"] =>
    (input, context) => {
      ledger.ran(input.call);
      return run(input, context);
    };
  const asking =
    (
      question: (input: Input) => readonly [string, object],
      answerOf: (answer: unknown) => unknown,
    ): FaultyTool["run"] =>
    async (input, { request }) => {
      if (!isStateless) ledger.ran(input.call);
      const answer = await request(...question(input));
      if (isStateless) ledger.ran(input.call);
      return said(answerOf(answer));
    };
  const slowly = counted(async (input, { signal, progress }) => {
    const ms = Number(input.ms ?? 100);
    for (let step = 1; step <= 5; step++) {
      await sleep(ms / 5, undefined, { signal });
      progress(step, 5);
    }
    return said(input.call);
  });
  return {
    echo: { inputSchema, annotations: safe, run: counted((input) => said(input.call)) },
    add: {
      inputSchema,
      outputSchema: { type: "object", properties: { call }, required: ["call"] },
      annotations: safe,
      run: counted((input) => ({ call: input.call })),
    },
    record: { inputSchema, annotations: unsafe, run: counted((input) => said(input.call)) },
    slow: { inputSchema: slowSchema, annotations: safe, run: slowly },
    slow_record: { inputSchema: slowSchema, annotations: unsafe, run: slowly },
    ask: {
      inputSchema,
      annotations: unsafe,
      run: asking(
        ({ call: message }) => ["elicitation/create", { message, requestedSchema: form }],
        (answer) => (answer as { readonly content?: { readonly said?: unknown } }).content?.said,
      ),
    },
    sample: {
      inputSchema,
      annotations: unsafe,
      run: asking(
        ({ call: text }) => {
          const messages = [{ role: "user", content: { type: "text", text } }];
          return ["sampling/createMessage", { messages, maxTokens: 100 }];
        },
        (answer) => (answer as { readonly content?: { readonly text?: unknown } }).content?.text,
      ),
    },
    fail: {
      inputSchema,
      annotations: unsafe,
      run: counted((input) => {
        throw new Error(said(input.call));
      }),
    },
  };
}
