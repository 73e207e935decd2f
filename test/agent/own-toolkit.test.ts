import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Meter, metrics } from "@opentelemetry/api";
import { afterEach, expect } from "vitest";
import { agent } from "../../src/agent/index.ts";
import { defineTool } from "../../src/core/tool.ts";
import { parsePrompt } from "../../src/prompt/parse-prompt.ts";
import { scriptedModel, virtualClock } from "../../src/testing/index.ts";
import { settle } from "../../src/testing/virtual-clock.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { recordMetrics, unregister } from "../support/telemetry.ts";
import { verifies } from "../support/verifies.ts";

afterEach(unregister);

const look = defineTool({ name: "look", run: () => "nothing" });

verifies("A8", "a process that only generates, without a toolkit, ends by itself", async () => {
  const url = (path: string) => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
  const script = `
    import { agent } from ${url("agent/index.ts")};
    import { scriptedModel } from ${url("testing/index.ts")};
    const look = { kind: "tool", name: "look", run: () => "nothing" };
    const model = scriptedModel([{ toolCalls: [{ name: "look" }] }, "Done."]);
    const answer = await agent({ defaultModel: model }).generate("Look.", { tools: [look] });
    process.stdout.write(await answer.text());
  `;
  const args = ["--unhandled-rejections=strict", "--input-type=module", "-e", script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 20_000, killSignal: "SIGKILL" });
  expect(stdout).toBe("Done.");
});

verifies("A8", "many runs without a toolkit leave no timer behind", async () => {
  const clock = virtualClock();
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === "tool" ? "Done." : { toolCalls: [{ name: "look" }] },
  );
  const assistant = agent({ defaultModel: model, clock });
  for (let run = 0; run < 200; run += 1) await assistant.generate("Look.", { tools: [look] });
  await settle();
  expect([clock.keptAlive, clock.timers]).toEqual([0, 0]);
});

verifies("O2", "an agent that is dropped leaves nothing that metrics are collected from", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const recorded = recordMetrics();
  const observers = new Set<unknown>();
  metrics.setGlobalMeterProvider({
    getMeter(name, version): Meter {
      const meter = recorded.provider.getMeter(name, version);
      return Object.assign(Object.create(meter) as Meter, {
        addBatchObservableCallback(...given: Parameters<Meter["addBatchObservableCallback"]>) {
          observers.add(given[0]);
          meter.addBatchObservableCallback(...given);
        },
        removeBatchObservableCallback(...given: Parameters<Meter["removeBatchObservableCallback"]>) {
          observers.delete(given[0]);
          meter.removeBatchObservableCallback(...given);
        },
      });
    },
  });
  const generate = async () => {
    const assistant = agent({ defaultModel: scriptedModel(["Done."]) });
    await assistant.generate("Look.");
    return new WeakRef(assistant);
  };
  const dropped = await generate();
  expect(observers.size).toBe(1);
  await settle();
  collectGarbage();
  expect(dropped.deref()).toBeUndefined();
  await recorded.read();
  await settle();
  expect(observers.size).toBe(0);
});

verifies("A1", "an agent that is the delegate of two toolkits runs the prompts of each in its own", async () => {
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === "tool" ? JSON.stringify(prompt.at(-1)) : { toolCalls: [{ name: "where" }] },
  );
  const delegate = agent({ defaultModel: model });
  const ask = parsePrompt("---\nname: ask\ntools: [where]\n---\nWhere?");
  const toolkits = ["first", "second"].map((place) => {
    const where = defineTool({ name: "where", run: () => `in the ${place}` });
    return new Toolkit({ items: [where, ask], delegate });
  });
  for (const run of [
    (toolbox: Toolkit) => toolbox.call("ask"),
    (toolbox: Toolkit) => delegate.generate("Where?", { toolbox, tools: ["where"] }),
  ]) {
    const answers = await Promise.all(toolkits.map(async (toolkit) => (await run(toolkit)).text()));
    expect(answers.map((answer) => /in the \w+/.exec(answer)?.[0])).toEqual(["in the first", "in the second"]);
  }
  // It does not guess, and makes no third one.
  await expect(delegate.generate("Where?", { tools: [look] })).rejects.toMatchObject({
    code: "INVALID_INPUT",
    details: { issues: [{ pointer: "/toolbox" }] },
  });
  await Promise.all(toolkits.map((toolkit) => toolkit.close()));
});
