import { describe, expect } from "vitest";
import type { JsonSchema } from "../../../src/core/schema/types.ts";
import { verifies } from "../../support/verifies.ts";
import {
  callEach,
  generatedDocument,
  named,
  served,
  toolkitWith,
  toolsOf,
  writtenDocument,
} from "./openapi-fixture.ts";

describe("the tools of a document, at a service that is made from it", () => {
  verifies("W1", "each fit it in path, query, headers and body, and its answers fit them: OpenAPI 3.0", async () => {
    const document = await writtenDocument("library-3.0.yaml");
    const server = await served(document, "/v1");
    const auth = { session: "s-1", key: "k&1", token: "t-1" };
    const tools = await toolsOf(document, { server: `${server.origin}/v1/`, auth });
    const errors = await callEach(await toolkitWith(tools), tools);
    expect(server.refusals).toEqual([]);
    expect(errors).toEqual({});
    expect(new Set(server.requests.map(({ operation }) => operation)).size).toBe(tools.length);
  });

  verifies("W1", "each fit it in path, query, headers and body, and its answers fit them: OpenAPI 3.1", async () => {
    const document = await writtenDocument("station-3.1.json");
    const server = await served(document);
    const tools = await toolsOf(document, { server: server.origin });
    const errors = await callEach(await toolkitWith(tools), tools);
    expect(server.refusals).toEqual([]);
    expect(errors).toEqual({});
    expect(new Set(server.requests.map(({ operation }) => operation)).size).toBe(tools.length);
  });

  verifies("W1", "are a thousand, and share their schemas", async () => {
    const document = generatedDocument(1_000);
    const server = await served(document);
    const tools = await toolsOf(document, { server: server.origin });
    expect(tools).toHaveLength(1_000);
    const toolkit = await toolkitWith(tools);
    expect((await toolkit.list({ namespace: "api" })).count).toBe(1_000);
    const errors = await callEach(toolkit, tools.slice(0, 20));
    expect(server.refusals).toEqual([]);
    expect(errors).toEqual({});
    const sharedBy = (name: string) => {
      const { $defs } = named(tools, name).output as JsonSchema;
      return ($defs as JsonSchema).Thing0;
    };
    expect(sharedBy("things_get-0")).toBe(sharedBy("things_put-100"));
  });
});
