import { describe, expect, test } from "vitest";
import { ToolkitError } from "../../src/core/error.ts";
import { promptArguments, readContent, renderedPrompt, toolContent } from "../../src/mcp/result-content.ts";
import { verifies } from "../support/verifies.ts";

const from = (result: unknown) => toolContent(result, { name: "tool", server: "far" });
const base64 = Buffer.from([137, 80, 78, 71]).toString("base64");

describe("the result of a tool", () => {
  verifies("C4", "of no block is nothing", async () => {
    for (const result of [{ content: [] }, {}]) {
      const content = from(result);
      expect([content.mediaType, content.size, content.meta]).toEqual(["text/plain", 0, { mcp: result }]);
    }
  });

  verifies("C4", "of one block is that block: image, audio, embedded text and bytes, link", async () => {
    const image = from({ content: [{ type: "image", data: base64, mimeType: "image/png" }] });
    expect([image.mediaType, await image.bytes()]).toEqual(["image/png", new Uint8Array([137, 80, 78, 71])]);
    const audio = from({ content: [{ type: "audio", data: base64, mimeType: "audio/wav" }] });
    expect(audio.mediaType).toBe("audio/wav");
    const text = from({
      content: [{ type: "resource", resource: { uri: "file:///a/b.md", mimeType: "text/markdown", text: "# B" } }],
    });
    expect([text.uri, text.name, text.mediaType, await text.text()]).toEqual([
      "file:///a/b.md",
      "b.md",
      "text/markdown",
      "# B",
    ]);
    const blob = from({ content: [{ type: "resource", resource: { uri: "file:///a.bin", blob: base64 } }] });
    expect([blob.mediaType, blob.size]).toEqual(["application/octet-stream", 4]);
    const link = from({ content: [{ type: "resource_link", uri: "file:///c.txt", name: "c", description: "C" }] });
    expect([link.mediaType, link.uri, link.name, link.description, await link.text()]).toEqual([
      "text/uri-list",
      "file:///c.txt",
      "c",
      "C",
      "file:///c.txt",
    ]);
  });

  verifies("C4", "of several blocks is multipart, each part with its own _meta", async () => {
    const result = {
      content: [
        { type: "text", text: "a", _meta: { n: 1 } },
        { type: "image", data: base64, mimeType: "image/png" },
        { type: "text", text: "b" },
      ],
    };
    const content = from(result);
    expect(content.mediaType).toBe("multipart/mixed");
    expect(content.parts?.map((part) => part.mediaType)).toEqual(["text/plain", "image/png", "text/plain"]);
    expect(content.parts?.[0]?.meta).toEqual({ n: 1 });
    expect(await content.text()).toBe("a\nb");
    expect(content.meta?.mcp).toBe(result);
  });

  verifies("C4", "with structured content is JSON, even null-like values, and the original is untouched", async () => {
    const result = {
      content: [{ type: "text", text: "x" }],
      structuredContent: { n: 0 },
      _meta: { a: 1 },
      extra: true,
    };
    const content = from(result);
    expect([content.mediaType, await content.json()]).toEqual(["application/json", { n: 0 }]);
    expect(content.meta?.mcp).toBe(result);
    expect(await from({ structuredContent: 0 }).json()).toBe(0);
    expect(await from({ toolResult: { old: true } }).json()).toEqual({ old: true });
  });

  verifies("C4", "of a block of an unknown kind passes it on as JSON", async () => {
    const block = { type: "hologram", data: 1 };
    expect(await from({ content: [block] }).json()).toEqual(block);
    expect(await from({ content: [{ type: "text", text: 7 }] }).json()).toEqual({ type: "text", text: 7 });
  });

  verifies("C4", "that is an error throws TOOL_FAILED with the text and the content", () => {
    const fail = (content: unknown) => {
      try {
        return from({ isError: true, content });
      } catch (error) {
        return error;
      }
    };
    const error = fail([
      { type: "text", text: "first" },
      { type: "text", text: "second" },
    ]);
    expect(ToolkitError.is(error, "TOOL_FAILED") && error.message).toBe("first\nsecond");
    expect((error as ToolkitError<"TOOL_FAILED">).details.content).toMatchObject({ mediaType: "multipart/mixed" });
    expect((fail([]) as Error).message).toBe("far says that its tool tool failed, without a reason.");
  });
});

test("the result of a read is its entry, or several as parts", async () => {
  const one = readContent({ contents: [{ uri: "a:b", text: "x" }] }, "a:b");
  expect([one.uri, one.mediaType, await one.text()]).toEqual(["a:b", "text/plain", "x"]);
  const two = readContent(
    {
      contents: [
        { uri: "dir:/a", text: "x" },
        { uri: "dir:/b", blob: base64 },
      ],
    },
    "dir:/",
  );
  expect([two.uri, two.mediaType, two.parts?.map((part) => part.uri)]).toEqual([
    "dir:/",
    "multipart/mixed",
    ["dir:/a", "dir:/b"],
  ]);
  expect(readContent({}, "a:b").size).toBe(0);
});

test("the arguments of a prompt are strings", () => {
  expect(promptArguments({ a: "x", n: 1, o: { b: [true] }, u: undefined, z: null })).toEqual({
    a: "x",
    n: "1",
    o: '{"b":[true]}',
  });
  expect(promptArguments("text")).toEqual({ input: "text" });
  expect(promptArguments([1])).toEqual({ input: "[1]" });
  expect(promptArguments(undefined)).toEqual({});
});

test("a rendered prompt keeps order, roles and blocks, also where a server sends lists of them", async () => {
  const image = { type: "image", data: base64, mimeType: "image/png" };
  const rendered = renderedPrompt(
    {
      messages: [
        { role: "assistant", content: { type: "text", text: "hi" } },
        { role: "user", content: [image, { type: "text", text: "what?" }] },
        "junk",
      ],
    },
    "p",
  );
  expect(rendered.messages.map(({ role, content }) => [role, content.map((part) => part.mediaType)])).toEqual([
    ["assistant", ["text/plain"]],
    ["user", ["image/png", "text/plain"]],
  ]);
  expect(rendered.messages[1]?.content[0]?.meta).toEqual({ mcp: image });
});
