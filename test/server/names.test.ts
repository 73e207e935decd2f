import { describe, expect } from "vitest";
import { defineTool, resource, type Source, Toolkit } from "../../src/index.ts";
import { verifies } from "../support/verifies.ts";
import { serveOverHttp } from "./fixture/client.ts";
import { servedToolkit } from "./fixture/toolkit.ts";

const says = (name: string, text = name) => defineTool({ name, run: () => text });
const source = (text: string): Source => ({
  tool: () => [says("get", text), says(`only_${text}`)],
  resource: () => [resource.withUri(resource.text("shared", text), "note://shared")],
});

function twoNamespaces(): Toolkit {
  const toolkit = new Toolkit();
  toolkit.addSource("zoo", source("zoo"));
  toolkit.addSource("arc", source("arc"));
  return toolkit;
}

describe("the names of a served host", () => {
  verifies("V1", "are prefixed: each tool is there, and leads to its own", async () => {
    await using toolkit = twoNamespaces();
    await toolkit.start();
    await using endpoint = await serveOverHttp(toolkit);
    const { client } = await endpoint.connect();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["arc__get", "arc__only_arc", "zoo__get", "zoo__only_zoo"]);
    expect(await client.callTool({ name: "arc__get" })).toMatchObject({ content: [{ text: "arc" }] });
    expect(await client.callTool({ name: "zoo__get" })).toMatchObject({ content: [{ text: "zoo" }] });
  });

  verifies("V1", "are bare: of two with one name that is served which lookup finds, and the log says so", async () => {
    const warnings: string[] = [];
    const logger = {
      debug: () => {},
      info: () => {},
      warn: (text: string) => void warnings.push(text),
      error: () => {},
    };
    await using toolkit = twoNamespaces();
    await toolkit.start();
    await using endpoint = await serveOverHttp(toolkit, { names: "bare", logger });
    const { client } = await endpoint.connect();
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["get", "only_arc", "only_zoo"]);
    expect(await client.callTool({ name: "get" })).toMatchObject({ content: [{ text: "zoo" }] });
    expect(warnings).toEqual([expect.stringMatching(/Not served: arc\.get, because zoo\.get/)]);
  });

  verifies(
    "V1",
    "of resources are their URIs: the first keeps it, later ones have their namespace behind it",
    async () => {
      await using toolkit = twoNamespaces();
      await toolkit.start();
      await using endpoint = await serveOverHttp(toolkit);
      const { client } = await endpoint.connect();
      const { resources } = await client.listResources();
      expect(resources.map(({ uri }) => uri)).toEqual(["note://shared", "note://shared#arc"]);
      expect((await client.readResource({ uri: "note://shared" })).contents).toMatchObject([{ text: "zoo" }]);
      expect((await client.readResource({ uri: "note://shared#arc" })).contents).toMatchObject([{ text: "arc" }]);
    },
  );

  verifies("V2", "come in pages of a stable order, which what goes meanwhile does not move", async () => {
    await using toolkit = new Toolkit();
    for (let index = 0; index < 25; index += 1) toolkit.add(says(`tool_${String(index).padStart(2, "0")}`));
    await using endpoint = await serveOverHttp(toolkit, { pageSize: 10 });
    const { client } = await endpoint.connect();
    const first = await client.listTools();
    expect(first.tools).toHaveLength(10);
    toolkit.remove("tool_03");
    const second = await client.listTools({ cursor: first.nextCursor });
    const third = await client.listTools({ cursor: second.nextCursor });
    const names = [...second.tools, ...third.tools].map(({ name }) => name);
    expect(names[0]).toBe("tool_10");
    expect(names).toHaveLength(15);
    expect(third.nextCursor).toBeUndefined();
    await expect(client.listTools({ cursor: "nonsense" })).rejects.toMatchObject({ code: -32602 });
  });

  verifies("V1", "include those of prompts as tools, which run them", async () => {
    await using toolkit = servedToolkit({
      delegate: {
        runPrompt: async (_entry, input) => resource.text("answer", `Hello, ${(input as { name: string }).name}!`),
      },
    });
    await using endpoint = await serveOverHttp(toolkit, { promptsAsTools: true });
    const { client } = await endpoint.connect();
    const greet = (await client.listTools()).tools.find(({ name }) => name === "greet");
    expect(greet).toMatchObject({ description: "Greets.", inputSchema: { required: ["name"] } });
    const answer = await client.callTool({ name: "greet", arguments: { name: "Ada" } });
    expect(answer).toMatchObject({ content: [{ type: "text", text: "Hello, Ada!" }] });
    expect((await client.listPrompts()).prompts).toHaveLength(1);
  });
});
