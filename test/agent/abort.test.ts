import { afterEach, beforeEach, describe, expect } from "vitest";
import { defineTool, parsePrompt } from "../../src/index.ts";
import type { ScriptedStep } from "../../src/testing/index.ts";
import { rejection } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { type Served, type ServedOptions, serve } from "./support.ts";

const unhandled: unknown[] = [];
const note = (reason: unknown) => unhandled.push(reason);
beforeEach(() => process.on("unhandledRejection", note));
afterEach(async () => {
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", note);
  expect(unhandled.splice(0)).toEqual([]);
});

const reason = new Error("the user went away");
const never = new Promise<never>(() => undefined);
const text: ScriptedStep = { text: "It is sunny." };

/** Where a run is when it is aborted: `reached` is called there, and what goes on behind it says when it ends. */
interface Place {
  reached(): void;
  ended(): void;
}

/** Says something, and then nothing more. */
function halting(place: Place): AsyncIterable<string> {
  let isFirst = true;
  const next = (): Promise<IteratorResult<string>> => {
    if (isFirst) {
      isFirst = false;
      return Promise.resolve({ done: false, value: "It is " });
    }
    place.reached();
    return never;
  };
  const end = async () => {
    place.ended();
    return { done: true as const, value: undefined };
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: end }) };
}

/** So many turns of the event loop. */
async function turns(count: number): Promise<string> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
  return `still not ended after ${count} turns of the event loop`;
}

interface Row {
  readonly script: (place: Place) => Parameters<typeof serve>[0];
  readonly tool?: (signal: AbortSignal, place: Place) => unknown;
  readonly options?: (place: Place) => ServedOptions;
  readonly onEvent?: (place: Place) => (event: { readonly type: string }) => void | Promise<void>;
}

const onAbort = (signal: AbortSignal, place: Place) => {
  signal.addEventListener("abort", () => place.ended());
  place.reached();
  return never;
};
const call: ScriptedStep = { toolCalls: [{ name: "work" }] };
const reaching = (place: Place) => (): ScriptedStep => {
  place.reached();
  place.ended();
  return { text: "never", gate: never };
};
const rows: Readonly<Record<string, Row>> = {
  "while the model is asked": { script: reaching },
  "while the model is asked for a stream": { script: reaching, onEvent: () => () => undefined },
  "between the parts of a stream": { script: (place) => [{ text: halting(place) }], onEvent: () => () => undefined },
  "while a tool runs": { script: () => [call, text], tool: (signal, place) => onAbort(signal, place) },
  "while a tool runs that takes no notice": {
    script: () => [call, text],
    tool: (_signal, place) => {
      place.reached();
      place.ended();
      return never;
    },
  },
  "while a slow reader is waited for": {
    script: () => [text],
    onEvent: (place) => (event) => {
      if (event.type !== "textDelta") return;
      place.reached();
      place.ended();
      return never;
    },
  },
  "while an approval is asked for": {
    script: () => [{ toolCalls: [{ name: "guarded" }] }, text],
    options: (place) => ({
      toolkit: {
        delegate: {
          approve: (_request: unknown, { signal }: { signal: AbortSignal }) => onAbort(signal, place),
        } as never,
      },
    }),
  },
  "while a sub-agent is asked": {
    script: (place) => (request) =>
      JSON.stringify(request.prompt).includes("I am inner") ? reaching(place)() : { toolCalls: [{ name: "inner" }] },
  },
};

function serveRow({ script, tool, options }: Row, place: Place): Served {
  const work = defineTool({ name: "work", run: (_input, { signal }) => tool?.(signal, place) });
  const guarded = defineTool({ name: "guarded", options: { needsApproval: true }, run: () => "done" });
  const inner = parsePrompt("---\nname: inner\n---\nI am inner.");
  return serve(script(place), [work, guarded, inner], options?.(place));
}

describe("an abort", () => {
  for (const [what, row] of Object.entries(rows)) {
    verifies(["A2", "C6"], `${what} ends the run with its reason, and all it started`, async () => {
      const reached = Promise.withResolvers<void>();
      const ended = Promise.withResolvers<void>();
      const place = { reached: () => reached.resolve(), ended: () => ended.resolve() };
      await using served = serveRow(row, place);
      const controller = new AbortController();
      const { onEvent } = row;
      const run = served.assistant.generate("Go.", {
        toolbox: served.toolkit,
        tools: ["work", "guarded", "inner"],
        signal: controller.signal,
        ...(onEvent && { onEvent: onEvent(place) }),
      });
      const failed = rejection(run);
      await reached.promise;
      controller.abort(reason);
      // Nothing but what is under way in this process may come first: no timer and no patience.
      expect(await Promise.race([failed, turns(10)])).toBe(reason);
      await ended.promise;
    });
  }

  verifies(["A2", "C6"], "before it begins asks nothing", async () => {
    await using served = serve([]);
    expect(await rejection(served.assistant.generate("Go.", { signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(served.model.requests).toEqual([]);
  });

  verifies(["A5", "C6"], "of a stream whose reader has not taken an event ends the request of the model", async () => {
    const controller = new AbortController();
    const ended = Promise.withResolvers<void>();
    const next = async () => ({ done: false as const, value: "more" });
    const end = async () => {
      ended.resolve();
      return { done: true as const, value: undefined };
    };
    await using served = serve([{ text: { [Symbol.asyncIterator]: () => ({ next, return: end }) } }]);
    const events = served.assistant.stream("Go.", { signal: controller.signal })[Symbol.asyncIterator]();
    await events.next();
    await turns(10);
    controller.abort(reason);
    await ended.promise;
  });

  verifies(["A5", "C6"], "of a stream ends it with the reason, read or not", async () => {
    for (const isRead of [true, false]) {
      const controller = new AbortController();
      const ended = Promise.withResolvers<void>();
      const place = { reached: () => controller.abort(reason), ended: () => ended.resolve() };
      await using served = serve([{ text: halting(place) }]);
      const stream = served.assistant.stream("Go.", { signal: controller.signal });
      const read = async () => {
        for await (const _ of stream);
      };
      if (isRead) expect(await rejection(read())).toBe(reason);
      else expect(await rejection(stream.result)).toBe(reason);
      await ended.promise;
    }
  });
});
