import { describe, expect, test } from "vitest";
import type { ElicitRequest, ElicitResult } from "../../src/core/interaction.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { loadManifest, toolkitOf } from "./manifest-fixture.ts";

const location = `kind: Tool
metadata: { name: get_location }
spec:
  description: The place of the caller.
  mode: client
  output_schema: { type: object, properties: { latitude: { type: number } }, required: [latitude] }
`;
const consent = `  client: { consent: { required: true, message: May we know where you are? } }
`;

function sessionThat(answer: ElicitResult) {
  const asked: ElicitRequest[] = [];
  const elicit = async (request: ElicitRequest) => {
    asked.push(request);
    return answer;
  };
  return { asked, session: { id: "s", elicit } };
}

describe("the mode client", () => {
  verifies("W1", "asks the caller for the result, where their client shows forms", async () => {
    const toolkit = await toolkitOf(location + consent);
    const { asked, session } = sessionThat({ action: "accept", content: { latitude: 47 } });
    expect(await (await toolkit.call("manifest.get_location", {}, { session })).json()).toEqual({ latitude: 47 });
    expect(asked[0]).toMatchObject({ message: "May we know where you are?", schema: { required: ["latitude"] } });
    const { session: unwilling } = sessionThat({ action: "decline" });
    const refused = toolkit.call("manifest.get_location", {}, { session: unwilling });
    expect(await failure(refused)).toMatchObject({ code: "DENIED", details: { rule: "client.consent" } });
  });

  verifies("W1", "is done by a handler of the program, after consent", async () => {
    const clients = { get_location: () => ({ latitude: 46 }) };
    const toolkit = await toolkitOf(location + consent, { clients });
    const { asked, session } = sessionThat({ action: "accept" });
    expect(await (await toolkit.call("manifest.get_location", {}, { session })).json()).toEqual({ latitude: 46 });
    expect(asked).toHaveLength(1);
    expect(await failure(toolkit.call("manifest.get_location", {}))).toMatchObject({ code: "DENIED" });
  });

  verifies("W1", "gives its mocked result, or waits to be completed, where no form can be shown", async () => {
    const mocked = await toolkitOf(`${location}  mock_result: { latitude: 1 }\n`);
    expect(await (await mocked.call("manifest.get_location", {})).json()).toEqual({ latitude: 1 });
    const toolkit = await toolkitOf(location);
    const pending = await failure(toolkit.call("manifest.get_location", {}));
    expect(pending).toMatchObject({ code: "PENDING", details: { reason: "client" } });
    const { id } = pending.details as { readonly id: string };
    const waiting = toolkit.approvals.wait(id);
    await toolkit.approvals.complete(id, { result: { latitude: 2 } });
    expect(await (await waiting).json()).toEqual({ latitude: 2 });
  });

  test("goes on without a result where the manifest says so", async () => {
    const skipping = consent.replace("you are? }", "you are?, decline_strategy: skip }").replace("are?,", "are,");
    const toolkit = await toolkitOf(location.replace(", required: [latitude]", "") + skipping);
    const { session } = sessionThat({ action: "decline" });
    const answered = await toolkit.call("manifest.get_location", {}, { session });
    expect(await answered.json()).toEqual({ declined: true });
  });
});

describe("the mode mcp", () => {
  const read = `kind: Tool
metadata: { name: read_notes }
spec:
  description: Reads the notes.
  mode: mcp
  mcp: { tool: files.read, defaults: { lines: 10 }, fixed: { path: notes.md } }
`;

  verifies("W1", "calls a tool under another name, with arguments that are given or fixed", async () => {
    const toolkit = await toolkitOf(read);
    const tool = { kind: "tool", name: "read", run: (input: object) => input } as const;
    toolkit.addSource("files", { tool: () => [tool] });
    await toolkit.start();
    const answered = await toolkit.call("manifest.read_notes", { path: "/etc/passwd", from: 3 });
    expect(await answered.json()).toEqual({ lines: 10, from: 3, path: "notes.md" });
  });

  test("knows the names of PromptKit, and needs one", async () => {
    const toolkit = await toolkitOf(read.replace(/ {2}mcp: .*\n/, "").replace("read_notes", "mcp__files__read"));
    toolkit.addSource("files", { tool: () => [{ kind: "tool", name: "read", run: () => "text" }] });
    await toolkit.start();
    expect(await (await toolkit.call("manifest.mcp__files__read", {})).text()).toBe("text");
    expect(await failure(loadManifest(read.replace(/ {2}mcp: .*\n/, "")))).toMatchObject({ code: "INVALID_MANIFEST" });
  });
});

test("a mode that nothing executes says which there are", async () => {
  const agent = 'kind: Tool\nmetadata: { name: a }\nspec: { mode: a2a, a2a: { agent_url: "https://a.example" } }\n';
  expect(await failure(loadManifest(agent))).toMatchObject({ code: "INVALID_MANIFEST" });
  const executors = { a2a: () => ({ run: () => "done" }) };
  expect(await (await (await toolkitOf(agent, { executors })).call("manifest.a", {})).text()).toBe("done");
});
