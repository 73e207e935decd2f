// A document that others wrote: GitHub's, of 13 MB. Its package has 400 MB unpacked, so it is installed when it is needed, into an ignored folder.
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { installPeer } from "../../bench/peer.ts";
import { verifies } from "../../support/verifies.ts";
import { callEach, loadDocument, served, toolkitWith } from "./openapi-fixture.ts";

const peer = await installPeer("octokit-openapi", { "@octokit/openapi": "23.0.2" });
const file = join(dirname(peer.resolve("@octokit/openapi")), "generated", "api.github.com.json");

verifies(
  "W1",
  "every operation of GitHub is called once at a service that is made from its document",
  async () => {
    const document = JSON.parse(await readFile(file, "utf8"));
    const server = await served(document);
    const { tools, problems } = await loadDocument(document, { server: server.origin });
    expect(problems).toEqual([]);
    expect(tools).toHaveLength(1_223);
    const toolkit = await toolkitWith(tools);
    expect((await toolkit.list({ namespace: "api", limit: 1 })).failures).toEqual([]);
    const errors = await callEach(toolkit, tools);
    expect(server.refusals).toEqual([]);
    expect(errors).toEqual({});
    expect(new Set(server.requests.map(({ operation }) => operation)).size).toBe(tools.length);
  },
  600_000,
);
