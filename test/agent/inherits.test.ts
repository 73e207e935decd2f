import { trace } from "@opentelemetry/api";
import { describe, expect } from "vitest";
import type { PolicyRequest } from "../../src/core/policy.ts";
import { defineTool, parsePrompt } from "../../src/index.ts";
import { type Script, virtualClock } from "../../src/testing/index.ts";
import { rejection } from "../support/failure.ts";
import { recordSpans, registerContext, unregister } from "../support/telemetry.ts";
import { verifies } from "../support/verifies.ts";
import { serve, toldIn } from "./support.ts";

const inner = parsePrompt("---\nname: inner\ntools: [spy]\n---\nI am inner.");
const quiet = defineTool({ name: "spy", run: () => "seen" });

/** The outer run calls the sub-agent, and that calls the tool. */
const script: Script = ({ prompt }) => {
  if (prompt.at(-1)?.role === "tool") return "done";
  return { toolCalls: [{ name: JSON.stringify(prompt).includes("I am inner") ? "spy" : "inner" }] };
};

describe("a sub-agent inherits", () => {
  for (const whose of ["toolkit", "agent"] as const) {
    verifies(["A2", "C13"], `what the policy of the ${whose} blocks`, async () => {
      await using served = serve(script, [quiet, inner], { [whose]: { policy: { block: ["builtin.spy"] } } });
      await served.assistant.generate("Go.", { tools: ["inner"] });
      expect(toldIn(served.model.requests[2])).toMatch(/^Not done, because it is not allowed: .*block/);
    });

    verifies(
      ["A2", "C13"],
      `what the policy of the ${whose} decides, which knows the session and the depth`,
      async () => {
        const asked: PolicyRequest[] = [];
        const decide = (request: PolicyRequest) => {
          asked.push(request);
          return true;
        };
        await using served = serve(script, [quiet, inner], { [whose]: { policy: { decide } } });
        await served.assistant.generate("Go.", { tools: ["inner"], session: { id: "s1", principal: "ann" } });
        const seen = asked.map(({ entry, session, depth }) => [entry.ref, session.principal, depth]);
        expect(seen.filter(([ref]) => ref !== "inline.generate")).toEqual([
          ["builtin.inner", "ann", 1],
          ["builtin.spy", "ann", 2],
        ]);
      },
    );
  }

  verifies(["A2", "C6"], "the signal: an abort of the outer run reaches its tool with the reason", async () => {
    const reason = new Error("the user went away");
    const controller = new AbortController();
    const heard = Promise.withResolvers<unknown>();
    const spy = defineTool({
      name: "spy",
      run: (_input, { signal }) => {
        signal.addEventListener("abort", () => heard.resolve(signal.reason));
        controller.abort(reason);
        return new Promise(() => undefined);
      },
    });
    await using served = serve(script, [spy, inner]);
    const run = served.assistant.generate("Go.", { tools: ["inner"], signal: controller.signal });
    expect(await rejection(run)).toBe(reason);
    expect(await heard.promise).toBe(reason);
    expect(served.model.requests).toHaveLength(2);
  });

  verifies(["A2", "C6"], "the time a run may take: its tool hears that it is over", async () => {
    const clock = virtualClock();
    const begun = Promise.withResolvers<void>();
    const heard = Promise.withResolvers<unknown>();
    const spy = defineTool({
      name: "spy",
      run: (_input, { signal }) => {
        signal.addEventListener("abort", () => heard.resolve(signal.reason));
        begun.resolve();
        return new Promise(() => undefined);
      },
    });
    await using served = serve(script, [spy, inner], { agent: { clock, timeoutMs: 5_000 } });
    const run = rejection(served.assistant.generate("Go.", { tools: ["inner"] }));
    await begun.promise;
    await clock.advance(5_001);
    expect(await heard.promise).toMatchObject({ code: "TIMEOUT" });
    expect(await run).toMatchObject({ code: "TIMEOUT", details: { limitMs: 5_000 } });
  });

  verifies(
    ["A2", "O1"],
    "the trace: each call and each answer of a model is inside that which asked for it",
    async () => {
      const spans = recordSpans();
      trace.setGlobalTracerProvider(spans.provider);
      registerContext();
      try {
        const outer = parsePrompt("---\nname: outer\ntools: [inner]\n---\nI am outer.");
        await using served = serve(script, [quiet, inner, outer]);
        await served.toolkit.call("outer");
      } finally {
        unregister();
      }
      const parentOf = (name: string) => spans.span(name).parentSpanContext?.spanId;
      const idOf = (name: string) => spans.span(name).spanContext().spanId;
      expect(parentOf("execute_tool spy")).toBe(idOf("invoke_agent inner"));
      expect(parentOf("invoke_agent inner")).toBe(idOf("invoke_agent outer"));
      const asked = spans.spans.filter(({ name }) => name.startsWith("chat"));
      const parents = asked.map(({ parentSpanContext }) => parentSpanContext?.spanId);
      const [outside, inside] = [idOf("invoke_agent outer"), idOf("invoke_agent inner")];
      expect(parents).toEqual([outside, inside, inside, outside]);
      expect(new Set(asked.map((span) => span.spanContext().traceId)).size).toBe(1);
    },
  );
});
