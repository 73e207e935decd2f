import { describe, expect } from "vitest";
import { defineTool, parsePrompt } from "../../src/index.ts";
import { failure, rejection } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { serve } from "./support.ts";

/** Pieces that count how many of them were taken. */
function counted(count: number) {
  const state = { taken: 0, isEnded: false };
  async function* pieces() {
    try {
      for (; state.taken < count; state.taken++) yield `${state.taken} `;
    } finally {
      state.isEnded = true;
    }
  }
  return { state, pieces: pieces() };
}
const settle = async () => {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
};

describe("a stream", () => {
  verifies("A5", "reads the model no further than it is read itself", async () => {
    const { state, pieces } = counted(200);
    await using served = serve([{ text: pieces }]);
    const stream = served.assistant.stream("Go.");
    let read = 0;
    for await (const { type } of stream) {
      if (type !== "textDelta") continue;
      read += 1;
      if (read % 20 === 0) await settle();
      expect(state.taken - read).toBeLessThan(6);
    }
    expect(read).toBe(200);
  });

  verifies("A5", "that is left early ends the run and the model's answer", async () => {
    const { state, pieces } = counted(1_000);
    await using served = serve([{ text: pieces }]);
    const stream = served.assistant.stream("Go.");
    for await (const { type } of stream) if (type === "textDelta") break;
    expect(state.taken).toBeLessThan(10);
    await expect.poll(() => state.isEnded).toBe(true);
    expect(await rejection(stream.result)).toMatchObject({ name: "AbortError" });
    expect(await stream[Symbol.asyncIterator]().next()).toEqual({ done: true, value: undefined });
  });

  verifies("A5", "has its result without being read", async () => {
    await using served = serve([{ text: counted(500).pieces }]);
    const answer = await served.assistant.stream("Go.").result;
    expect(await answer.text()).toMatch(/^0 1 .* 499 $/);
  });

  verifies("A5", "has its result beside being read, every event once", async () => {
    await using served = serve([{ text: ["a", "b", "c"] }]);
    const stream = served.assistant.stream("Go.");
    const { result } = stream;
    const deltas: string[] = [];
    for await (const event of stream) if (event.type === "textDelta") deltas.push(event.delta);
    expect(deltas).toEqual(["a", "b", "c"]);
    expect(await (await result).text()).toBe("abc");
  });

  verifies("A5", "tells an error to who reads and to who waits, after what came before", async () => {
    await using served = serve([{ text: ["a", "b"], error: new Error("broken") }]);
    const stream = served.assistant.stream("Go.");
    const seen: string[] = [];
    const read = async () => {
      for await (const { type } of stream) seen.push(type);
    };
    expect(await failure(read())).toMatchObject({ code: "MODEL_FAILED" });
    expect(await failure(stream.result)).toMatchObject({ code: "MODEL_FAILED" });
    expect(seen).toEqual(["textDelta", "textDelta"]);
  });

  verifies("A5", "may be asked for several events at once", async () => {
    await using served = serve([{ text: ["a", "b"] }]);
    const events = served.assistant.stream("Go.")[Symbol.asyncIterator]();
    const results = await Promise.all(Array.from({ length: 8 }, () => events.next()));
    expect(results.map(({ value }) => value?.type)).toEqual([
      "textDelta",
      "textDelta",
      "step",
      "usage",
      "finish",
      undefined,
      undefined,
      undefined,
    ]);
  });

  verifies(["A5", "C12"], "of events whose listener throws or rejects goes on, and it is logged", async () => {
    for (const onEvent of [
      () => {
        throw new Error("no");
      },
      () => Promise.reject(new Error("no")),
    ]) {
      const errors: string[] = [];
      const quiet = () => undefined;
      const logger = { debug: quiet, info: quiet, warn: quiet, error: (message: string) => errors.push(message) };
      await using served = serve(["hello"], [], { toolkit: { logger } });
      const answer = await served.assistant.generate("Go.", { onEvent, toolbox: served.toolkit });
      expect(await answer.text()).toBe("hello");
      expect(errors[0]).toMatch(/event listener of .* failed: no/);
    }
  });

  verifies("A5", "tells of sub-agents with their depth, and of each step once to the toolkit", async () => {
    const inner = parsePrompt("---\nname: inner\n---\nI am inner.");
    await using served = serve(
      ({ prompt }) =>
        JSON.stringify(prompt).includes("I am inner") || prompt.at(-1)?.role === "tool"
          ? "done"
          : { toolCalls: [{ name: "inner" }] },
      [inner],
    );
    const heard: string[] = [];
    served.toolkit.on("agentStep", ({ ref, step }) => heard.push(`${ref} ${step}`));
    const told: string[] = [];
    const options = { tools: ["inner"], toolbox: served.toolkit };
    for await (const event of served.assistant.stream("Go.", options)) {
      if (event.type === "step") told.push(`${event.ref} ${event.step} at ${event.depth}`);
    }
    expect(told).toEqual(["inline.generate 0 at 0", "builtin.inner 0 at 1", "inline.generate 1 at 0"]);
    await expect.poll(() => heard).toEqual(["inline.generate 0", "builtin.inner 0", "inline.generate 1"]);
  });

  verifies("A5", "without a reader asks the model for no stream", async () => {
    const tool = defineTool({ name: "look", run: () => "seen" });
    await using served = serve(["a", "b"], [tool]);
    await served.assistant.generate("Go.");
    await served.assistant.stream("Go.").result;
    expect(served.model.requests.map(({ stream }) => stream)).toEqual([false, true]);
  });
});
