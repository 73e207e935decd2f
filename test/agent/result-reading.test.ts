import { describe, expect } from "vitest";
import { defineTool, resource } from "../../src/index.ts";
import type { ModelRequest } from "../../src/testing/index.ts";
import { verifies } from "../support/verifies.ts";
import { resultsIn, serve, toldIn } from "./support.ts";

const notice = /\n\n\[(?:Truncated|Characters)[^\]]*?(?:"offset":|offset )(\d+)[^\]]*\]$/s;
const uriIn = (text: string) => /"uri":"([^"]+)"/.exec(text)?.[1] ?? "";

/** Reads a result to its end as a model does that follows the notices, and gives what it was shown of it in all. */
async function readThrough(result: unknown, maxResultBytes: number, length?: number) {
  const big = defineTool({ name: "big", run: () => result });
  const shown: string[] = [];
  let uri = "";
  await using served = serve(
    (request: ModelRequest) => {
      if (request.prompt.at(-1)?.role !== "tool") return { toolCalls: [{ name: "big" }] };
      const text = toldIn(request);
      const offset = notice.exec(text)?.[1];
      uri ||= uriIn(text);
      shown.push(text.replace(notice, ""));
      if (offset === undefined) return "read";
      return { toolCalls: [{ name: "result_read", input: { uri, offset: Number(offset), length } }] };
    },
    [big],
    { agent: { maxResultBytes, maxSteps: 500 } },
  );
  await served.assistant.generate("Read.", { tools: ["big"] });
  const sizes = served.model.requests.flatMap(resultsIn).map(({ output }) => Buffer.byteLength(JSON.stringify(output)));
  return { text: shown.join(""), shown, largest: Math.max(...sizes), uri };
}

const emoji = `${"a👩‍👩‍👧é漢".repeat(700)}z`;
const pretty = JSON.stringify({ rows: Array.from({ length: 200 }, (_, id) => ({ id, name: "漢字 👍" })) }, null, 2);

const prettyJson = await resource.data("rows", Buffer.from(pretty), { mediaType: "application/json" });

describe("a long result", () => {
  const rows: readonly (readonly [string, unknown, string, number, number?])[] = [
    ["a text", "x".repeat(10_000), "x".repeat(10_000), 1_000],
    ["a text of many bytes a character", emoji, emoji, 1_000],
    ["a text whose pages end within a character", emoji, emoji, 1_000, 333],
    ["a text in pages longer than may be shown", emoji, emoji, 700, 20_000],
    ["a text shown one character at a time", "👍漢".repeat(20), "👍漢".repeat(20), 1],
    ["JSON that is written over lines", resource.text("rows", pretty), pretty, 1_000],
    ["JSON of that type that is written over lines", prettyJson, pretty, 1_000],
    ["JSON", { text: emoji }, JSON.stringify({ text: emoji }), 1_000],
  ];
  for (const [what, result, whole, maxBytes, length] of rows) {
    verifies("A4", `is read to its end through result_read, no character lost: ${what}`, async () => {
      const { text, shown, largest } = await readThrough(result, maxBytes, length);
      expect(shown.length).toBeGreaterThan(1);
      expect(text === whole).toBe(true);
      expect(largest).toBeLessThan(3 * maxBytes + 500);
    });
  }

  verifies("A4", "in parts is cut as a whole, and read as one text", async () => {
    const parts = Array.from({ length: 30 }, (_, index) => resource.text(`part-${index}`, `${index} `.repeat(300)));
    const { text, largest } = await readThrough(parts, 1_000);
    expect(text).toBe((await Promise.all(parts.map((part) => part.text()))).join("\n\n"));
    expect(largest).toBeLessThan(1_500);
  });

  verifies("A4", "beside an image is cut, and the image is shown", async () => {
    const image = await resource.data("dot", Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]));
    const texts = [resource.text("y", "y".repeat(300)), resource.text("z", "z".repeat(900))];
    const mixed = defineTool({ name: "mixed", run: () => [...texts, image] });
    await using served = serve([{ toolCalls: [{ name: "mixed" }] }, "seen"], [mixed], {
      agent: { maxResultBytes: 1_000 },
    });
    await served.assistant.generate("Look.", { tools: ["mixed"] });
    const [result] = resultsIn(served.model.requests[1]);
    expect(result?.output).toMatchObject({
      type: "content",
      value: [{ type: "text", text: expect.stringMatching(/^y{300}\n\nz{198}\n\n\[Truncated:/) }, { type: "file" }],
    });
  });

  verifies("A4", "that is an error is cut too, and its rest can be read", async () => {
    const fails = defineTool({
      name: "fails",
      run: () => {
        throw new Error(`${"e".repeat(3_000)} because of the last word`);
      },
    });
    await using served = serve(
      ({ prompt }, index) => {
        if (index === 0) return { toolCalls: [{ name: "fails" }] };
        const last = JSON.stringify(prompt.at(-1));
        const uri = /result:[^\\"]+/.exec(last)?.[0];
        return index === 1 ? { toolCalls: [{ name: "result_read", input: { uri, offset: 2_500 } }] } : "done";
      },
      [fails],
      { agent: { maxResultBytes: 1_000 } },
    );
    await served.assistant.generate("Try.", { tools: ["fails"] });
    expect(toldIn(served.model.requests[1])).toMatch(/^Failed \(TOOL_FAILED\).*\[Truncated:/s);
    expect(toldIn(served.model.requests[2])).toMatch(/because of the last word$/);
  });

  verifies("A4", "of another run cannot be read, and what cannot be read is told with what can", async () => {
    const big = defineTool({ name: "big", run: () => "long".repeat(500) });
    const read = (uri: string) => ({ toolCalls: [{ name: "result_read", input: { uri } }] });
    await using served = serve(
      [{ toolCalls: [{ name: "big" }] }, read("result:other/1"), read("nonsense"), "done"],
      [big],
      { agent: { maxResultBytes: 1_000 } },
    );
    await served.assistant.generate("Read.", { tools: ["big"] });
    expect(toldIn(served.model.requests[2])).toMatch(/NOT_FOUND.*There are result:[0-9a-f-]+\/1\./s);
    expect(toldIn(served.model.requests[3])).toMatch(/NOT_FOUND.*there is no such result/s);
  });

  verifies(["A4", "A5"], "is where the event of the result says", async () => {
    const small = defineTool({ name: "small", run: () => "short" });
    const big = defineTool({ name: "big", run: () => "long".repeat(500) });
    const events: [string, string | undefined, string | undefined][] = [];
    const toolCalls = [{ name: "small" }, { name: "big" }];
    await using served = serve([{ toolCalls }, "done"], [small, big], { agent: { maxResultBytes: 1_000 } });
    const answer = await served.assistant.generate("Read.", {
      tools: ["*"],
      onEvent: async (event) => {
        if (event.type === "toolResult") events.push([event.name, event.uri, await event.content?.text()]);
      },
    });
    const uri = `result:${answer.meta?.run}/1`;
    expect(events).toEqual([
      ["small", undefined, "short"],
      ["big", uri, "long".repeat(500)],
    ]);
    expect(await (await served.assistant.readResult(uri)).text()).toBe("long".repeat(500));
  });

  verifies("A4", "is read by a tool of another name where a tool of the service is called result_read", async () => {
    const own = defineTool({ name: "result_read", run: () => "mine".repeat(500) });
    await using served = serve([{ toolCalls: [{ name: "result_read" }] }, "done"], [own], {
      agent: { maxResultBytes: 100 },
    });
    await served.assistant.generate("Read.", { tools: ["result_read"] });
    const names = served.model.requests.map(({ tools }) => tools?.map(({ name }) => name));
    expect(names).toEqual([
      ["result_read"],
      ["result_read", "tool_result_read", "tool_result_grep", "tool_result_select"],
    ]);
    expect(toldIn(served.model.requests[1])).toMatch(/^mine.*\[Truncated:.*tool_result_read\(/s);
  });
});
