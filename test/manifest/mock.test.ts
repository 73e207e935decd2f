import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Toolkit } from "../../src/index.ts";
import { record } from "../../src/tape/index.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { folderWith, loadManifest, toolkitOf } from "./manifest-fixture.ts";

/** A manifest of the tool `order` with further fields of its spec, indented by two blanks. */
const order = (fields: string) => `kind: Tool
metadata: { name: order }
spec:
  description: An order.
${fields.replaceAll(/^(?=.)/gm, "  ")}
`;

async function answer(fields: string, input: object, files: Readonly<Record<string, string | Uint8Array>> = {}) {
  const toolkit = await toolkitOf(order(fields), { folder: await folderWith(files) });
  return await toolkit.call("manifest.order", input);
}

const json = async (...given: Parameters<typeof answer>) => (await answer(...given)).json();

describe("the mode mock", () => {
  verifies("W1", "gives a result that is written, or that a file beside it has", async () => {
    expect(await json("mode: mock\nmock_result: { id: 7 }", {})).toEqual({ id: 7 });
    expect(await json("mock_result_file: data/order.json", {}, { "data/order.json": '{"id": 8}' })).toEqual({ id: 8 });
    expect(await json("mode: mock", {})).toEqual({ result: "mock response" });
  });

  verifies("W1", "makes a result of the arguments by a template, of Handlebars or of Go", async () => {
    expect(await json('mock_template: \'{"id": "{{.id}}"}\'', { id: "A-1" })).toEqual({ id: "A-1" });
    expect(await json("mock_template: '{\"all\": {{json ids}}}'", { ids: [1, 2] })).toEqual({ all: [1, 2] });
    expect(await json("mock_template: '{\"n\": {{.n}}}'", { n: 5 })).toEqual({ n: 5 });
    const branches = '{{ if eq .id "X" }}{"state": "sent"}{{ else }}{"state": "unknown"}{{ end }}';
    expect(await json(`mock_template: '${branches}'`, { id: "X" })).toEqual({ state: "sent" });
    expect(await json("mock_template_file: t.tmpl", { id: "Y" }, { "t.tmpl": branches })).toEqual({ state: "unknown" });
    expect(await json("mock_template: 'Order {{.id}}'", { id: 3 })).toEqual({ result: "Order 3" });
  });

  verifies("W1", "gives texts and media as parts", async () => {
    const parts = `mock_result: { id: 7 }
mock_parts:
  - { type: text, text: A picture. }
  - { type: image, media: { file_path: a.png, mime_type: image/png, caption: The order } }
  - { type: image, media: { data: AAEC, mime_type: image/png } }`;
    const content = await answer(parts, {}, { "a.png": new Uint8Array([1, 2, 3]) });
    expect(content.parts?.map(({ mediaType }) => mediaType)).toEqual([
      "application/json",
      "text/plain",
      "image/png",
      "image/png",
    ]);
    expect(await content.parts?.[2]?.bytes()).toEqual(new Uint8Array([1, 2, 3]));
  });

  verifies("W1", "answers as it was recorded, from a folder or a tape", async () => {
    const files = {
      "answers/a.json": '{"arguments": {"id": 1}, "result": {"state": "sent"}}',
      "answers/b.json": '[{"call_args": {"id": 2}, "error": {"type": "x", "message": "No such order."}}]',
    };
    const recordings = "mock_recordings: answers";
    expect(await json(recordings, { id: 1, more: true }, files)).toEqual({ state: "sent" });
    expect(await failure(answer(recordings, { id: 2 }, files))).toMatchObject({
      code: "TOOL_FAILED",
      message: "No such order.",
    });
    expect(await failure(answer(recordings, { id: 3 }, files))).toMatchObject({
      code: "TOOL_FAILED",
      message: "No answer of order is recorded for these arguments. There are 2 for others.",
    });

    const recorded = new Toolkit();
    const lines: string[] = [];
    const recording = record(recorded, { to: (line) => void lines.push(JSON.stringify(line)) });
    recorded.add({ kind: "tool", name: "order", run: ({ id }: { readonly id: number }) => ({ id, state: "packed" }) });
    await recorded.call("order", { id: 4 });
    await recording.close();
    await recorded.close();
    const folder = await folderWith({});
    await writeFile(join(folder, "shop.jsonl"), lines.join("\n"));
    const replaying = await toolkitOf(order("mock_recordings: { from: shop.jsonl, tool: builtin.order }"), { folder });
    expect(await (await replaying.call("manifest.order", { id: 4 })).json()).toEqual({ id: 4, state: "packed" });
  });

  test("is refused with the place of what is wrong", async () => {
    const folder = await folderWith({ "bad.json": "{" });
    const wrong = async (fields: string) => (await failure(loadManifest(order(fields), { folder }))).message;
    expect(await wrong("mock_result: 1\nmock_result_file: x")).toContain("tool.yaml:6:");
    expect(await wrong("mock_result_file: bad.json")).toContain("tool.yaml:5:21: The file is no JSON");
    expect(await wrong("mock_result_file: ../x.json")).toContain("is not in the folder of the manifest");
    expect(await wrong("mock_result_file: none.json")).toContain('The file "none.json" cannot be read');
    expect(await wrong("mock_template: '{{#if a}}'")).toContain("The template cannot be used");
    expect(await wrong("mock_template: '{{> a}}'")).toContain("there are none here");
  });
});
