import { afterEach, describe, expect, test } from "vitest";
import { ToolkitError } from "../../src/core/error.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";

describe("servers that are added to a toolkit", () => {
  const toolkit = new Toolkit();
  afterEach(async () => {
    for (const { namespace } of toolkit.connections) await toolkit.removeConnector(namespace);
  });
  const refused = (add: () => unknown): ToolkitError => {
    try {
      add();
    } catch (error) {
      if (ToolkitError.is(error)) return error;
      throw error;
    }
    throw new Error("It was taken.");
  };

  test("from a configuration in which two become one namespace are refused with both names", () => {
    const mcpServers = {
      other: { url: "http://c" },
      "my server": { url: "http://a" },
      "my/server": { url: "http://b" },
    };
    const error = refused(() => toolkit.addConnectors({ mcpServers }));
    expect(error.code).toBe("CONFLICT");
    expect(error.message).toBe(
      'The servers "my server" and "my/server" both get the namespace "my-server": rename one of them in the configuration.',
    );
    expect(toolkit.connections).toEqual([]);
  });

  test("by URLs that differ in query or user info only are one, and the error says so", () => {
    toolkit.addConnector("http://host/mcp?tenant=a");
    const error = refused(() => toolkit.addConnector("http://me:pw@host/mcp?tenant=b"));
    expect(error.code).toBe("CONFLICT");
    expect(error.message).toBe(
      'http://host/mcp is connected already, as "host". The query and the user info of a URL do not count. Give both connectors explicit, different namespaces.',
    );
  });
});
