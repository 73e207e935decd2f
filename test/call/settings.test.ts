import { describe, expect } from "vitest";
import { defineTool } from "../../src/core/tool.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { Bench } from "../connection/support.ts";
import { failure } from "../support/failure.ts";
import { FakeConnector, tools } from "../support/fake-connector.ts";
import { verifies } from "../support/verifies.ts";

const hang = (name: string, timeoutMs?: number) =>
  defineTool({ name, options: { timeoutMs }, run: () => new Promise(() => undefined) });

describe("the settings of calls", () => {
  verifies(
    ["C2", "C7"],
    "are the tool's, unless the toolkit says otherwise for its ref; the later glob has the last word",
    async () => {
      const bench = new Bench({
        items: [hang("plain"), hang("own", 300), hang("ruled", 300)],
        timeoutMs: 100,
        settings: { "builtin.r*": { timeoutMs: 9_999 }, "*.ruled": { timeoutMs: 500 }, "*": { timeoutMs: undefined } },
      });
      const limitOf = async (name: string) => {
        const call = failure(bench.toolkit.call(name));
        await bench.clock.advance(10_000);
        return (await call).details;
      };
      expect(await limitOf("plain")).toMatchObject({ limitMs: 100 });
      expect(await limitOf("own")).toMatchObject({ limitMs: 300 });
      expect(await limitOf("ruled")).toMatchObject({ limitMs: 500 });
      await bench.toolkit.close();
    },
  );

  verifies("C2", "reach the tools of a connector too", async () => {
    const bench = new Bench({ settings: { "far.*": { timeoutMs: 70 } } });
    const far = new FakeConnector({ lists: { tool: tools("wait") } });
    far.answer = () => new Promise(() => undefined);
    await bench.start({ far });
    const call = failure(bench.toolkit.call("far.wait"));
    await bench.clock.advance(100);
    expect((await call).details).toMatchObject({ limitMs: 70 });
    await bench.toolkit.close();
  });

  const wrong: readonly [settings: unknown, path: string, says: string][] = [
    [{ "a.*": { timeoutMs: -1 } }, 'settings["a.*"].timeoutMs', "above 0"],
    [{ "a.*": { timeOutMs: 1 } }, 'settings["a.*"].timeOutMs', "There are timeoutMs"],
    [{ "a.*": 7 }, 'settings["a.*"]', "must be an object"],
    [[], "settings", "must be an object"],
  ];
  for (const [settings, path, says] of wrong) {
    verifies("C2", `that are none are refused with their path: ${path}`, async () => {
      const error = await failure((async () => new Toolkit({ settings: settings as Record<string, object> }))());
      expect(error).toMatchObject({ code: "INVALID_CONFIG", details: { path } });
      expect(error.message).toContain(says);
    });
  }
});
