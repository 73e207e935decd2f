import { describe, expect, test } from "vitest";
import { ToolkitError } from "../../src/core/error.ts";
import type { Kind } from "../../src/core/item.ts";
import { readList } from "../../src/mcp/read-list.ts";
import { noRedactor } from "../../src/mcp/redact.ts";
import { RpcError } from "../../src/mcp/rpc/rpc-error.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

/** Reads a list whose pages are given by cursor; the first has none. */
function read(kind: Kind, pages: (cursor: string | undefined) => unknown, maxSize = 10_000) {
  const request = async (_method: string, params: object | undefined) =>
    pages((params as { cursor?: string } | undefined)?.cursor);
  return readList(kind, {
    request,
    server: "far",
    limits: { maxListSize: maxSize, maxNestingDepth: 256 },
    redactor: noRedactor,
  });
}

const tool = (name: string) => ({ name, inputSchema: { type: "object" } });

describe("a list", () => {
  verifies("L4", "is read to its last page", async () => {
    const list = await read("tool", (cursor) =>
      cursor === undefined ? { tools: [tool("a")], nextCursor: "2" } : { tools: [tool("b")] },
    );
    expect(list.items.map((item) => item.name)).toEqual(["a", "b"]);
    expect(list.warnings).toEqual([]);
  });

  verifies("L4", "whose cursors go in a circle ends with REMOTE_ERROR, naming server and method", async () => {
    const error = await read("prompt", (cursor) => ({ prompts: [], nextCursor: cursor === "a" ? "b" : "a" })).catch(
      (thrown: unknown) => thrown,
    );
    expect(ToolkitError.is(error, "REMOTE_ERROR") && error.details.server).toBe("far");
    expect((error as Error).message).toContain("prompts/list");
  });

  verifies("L4", "is cut at its limit, and says so", async () => {
    const list = await read("tool", (cursor) => {
      const page = Number(cursor ?? 0);
      return {
        tools: Array.from({ length: 1_000 }, (_, index) => tool(`t${page * 1_000 + index}`)),
        nextCursor: String(page + 1),
      };
    });
    expect(list.items).toHaveLength(10_000);
    expect(list.items.at(-1)?.name).toBe("t9999");
    expect(list.cutAt).toBe(10_000);
  });

  verifies("L4", "of exactly its limit is whole, one more is cut", async () => {
    const of = (count: number) =>
      read("tool", () => ({ tools: Array.from({ length: count }, (_, index) => tool(`t${index}`)) }));
    expect((await of(10_000)).cutAt).toBeUndefined();
    const cut = await of(10_001);
    expect([cut.items.length, cut.cutAt]).toEqual([10_000, 10_000]);
  });

  verifies("L4", "of endless empty pages ends", async () => {
    let page = 0;
    const error = await failure(read("tool", () => ({ tools: [], nextCursor: String(page++) }), 50));
    expect([error.code, error.message]).toEqual(["REMOTE_ERROR", expect.stringContaining("bring nothing new")]);
    expect(page).toBe(100);
  });

  verifies("N1", "keeps odd names and odd schemas, and leaves out what has no name", async () => {
    const list = await read("tool", () => ({
      tools: [
        { name: "a:b c/ü", inputSchema: { type: "object", properties: { x: { $ref: "#/missing" } }, "x-odd": 1 } },
        { inputSchema: {} },
        "text",
        { name: "no-schema" },
        { name: "bad-schema", inputSchema: [], outputSchema: "x" },
        { name: "no-schema", description: "again" },
      ],
    }));
    expect(list.items.map((item) => item.name)).toEqual(["a:b c/ü", "no-schema", "bad-schema"]);
    expect(list.items[0]).toMatchObject({ input: { properties: { x: { $ref: "#/missing" } }, "x-odd": 1 } });
    expect(list.warnings).toEqual([
      expect.stringContaining('without "name"'),
      expect.stringContaining('without "name"'),
      expect.stringContaining("input schema of bad-schema"),
      expect.stringContaining("output schema of bad-schema"),
      expect.stringContaining("second tool with the name no-schema"),
    ]);
  });

  test("carries titles, hints, _meta and what cannot be called", async () => {
    const list = await read("tool", () => ({
      tools: [
        {
          ...tool("a"),
          title: "A",
          annotations: { title: "other", readOnlyHint: true },
          _meta: { x: 1 },
          outputSchema: { type: "object" },
        },
        { ...tool("b"), annotations: { title: "B" }, execution: { taskSupport: "required" } },
      ],
    }));
    expect(list.items[0]).toEqual({
      name: "a",
      title: "A",
      meta: { x: 1 },
      input: { type: "object" },
      output: { type: "object" },
      annotations: { title: "other", readOnlyHint: true },
      extras: { title: "A", annotations: { title: "other", readOnlyHint: true } },
    });
    expect(list.items[1]).toMatchObject({ title: "B", uncallable: expect.stringContaining("task") });
  });

  test("of templates a server does not know is empty; of tools it is told", async () => {
    const unknown = () => {
      throw new RpcError({ code: -32601, message: "Method not found" });
    };
    expect(await read("template", unknown)).toEqual({ items: [], warnings: [] });
    expect((await read("tool", unknown)).warnings).toEqual([expect.stringContaining("tools/list")]);
  });

  test("that is none is a REMOTE_ERROR", async () => {
    await expect(read("resource", () => ({}))).rejects.toMatchObject({ code: "REMOTE_ERROR" });
    await expect(read("resource", () => null)).rejects.toMatchObject({ code: "REMOTE_ERROR" });
  });
});
