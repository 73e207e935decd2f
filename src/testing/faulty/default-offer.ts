import { pause } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { FaultyOffer, FaultyTool } from "./faulty-offer.ts";

const id = { type: "string", description: "An id by which the server counts the runs of this call." };
const readOnly = { readOnlyHint: true };

/** The default tools, prompts and resources of a faulty server. */
export function defaultOffer(parts: {
  readonly clock: Clock;
  readonly runs: (id: string) => number;
}): Required<FaultyOffer> {
  return {
    tools: { ...plainTools(parts.runs), slow: slow(parts.clock), ...askingTools },
    prompts: {
      greet: { description: "Greets.", arguments: [{ name: "name", required: true }], text: "Greet {name}." },
    },
    resources: { "memo://one": { name: "memo", mimeType: "text/plain", text: "A memo." } },
  };
}

function plainTools(runs: (id: string) => number): Readonly<Record<string, FaultyTool>> {
  return {
    echo: {
      description: "Returns its message. Safe to repeat.",
      inputSchema: { type: "object", properties: { message: { type: "string" }, id } },
      annotations: readOnly,
      run: ({ message }) => `Echo: ${String(message)}`,
    },
    add: {
      description: "Adds two numbers. Safe to repeat.",
      inputSchema: {
        type: "object",
        properties: { a: { type: "number" }, b: { type: "number" }, id },
        required: ["a", "b"],
      },
      outputSchema: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
      annotations: readOnly,
      run: ({ a, b }) => ({ sum: Number(a) + Number(b) }),
    },
    record: {
      description: "Notes an id. Not safe to repeat.",
      inputSchema: { type: "object", properties: { id }, required: ["id"] },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
      run: (input) => `Recorded ${String(input.id)}`,
    },
    count: {
      description: "Counts the runs of calls with an id, over all connections.",
      inputSchema: { type: "object", properties: { of: { type: "string" } }, required: ["of"] },
      annotations: readOnly,
      run: (input) => String(runs(String(input.of))),
    },
  };
}

function slow(clock: Clock): FaultyTool {
  return {
    description: "Takes a while and reports progress ten times. Safe to repeat.",
    inputSchema: { type: "object", properties: { ms: { type: "number" }, id } },
    annotations: readOnly,
    async run({ ms = 100 }, { progress, signal }) {
      for (let step = 1; step <= 10; step++) {
        await pause(Number(ms) / 10, { clock, signal });
        progress(step, 10, `step ${step}`);
      }
      return "done";
    },
  };
}

const askingTools: Readonly<Record<string, FaultyTool>> = {
  ask: {
    description: "Asks the user (elicitation) and returns the answer.",
    inputSchema: { type: "object", properties: { message: { type: "string" } } },
    run: ({ message = "How old are you?" }, { request }) =>
      request("elicitation/create", {
        message,
        requestedSchema: { type: "object", properties: { age: { type: "integer" } }, required: ["age"] },
      }).then((answer) => JSON.stringify(answer)),
  },
  sample: {
    description: "Asks the client's model (sampling) and returns the answer.",
    inputSchema: { type: "object", properties: { text: { type: "string" } } },
    run: ({ text = "Hello" }, { request }) =>
      request("sampling/createMessage", {
        messages: [{ role: "user", content: { type: "text", text } }],
        maxTokens: 100,
      }).then((answer) => JSON.stringify(answer)),
  },
  log: {
    description: "Logs a message.",
    inputSchema: { type: "object", properties: { data: {} } },
    run({ data = "logged" }, { notify }) {
      notify("notifications/message", { level: "warning", logger: "faulty", data });
      return "logged";
    },
  },
};
