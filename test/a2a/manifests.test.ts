import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { a2aExecutor } from "../../src/a2a/index.ts";
import { ConfiguredToolkit } from "../../src/config/configured-toolkit.ts";
import { readConfig } from "../../src/config/read-config.ts";
import { registerWith } from "../../src/manifest/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { closedAfterEach } from "../support/closed-after-each.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { startAgent } from "./fixture/agent.ts";

const open = closedAfterEach();

async function agent() {
  const started = await startAgent({ token: "token-of-a-manifest" });
  open.push(() => started.close());
  return started;
}

const manifest = (url: string, more: object = {}) => ({
  apiVersion: "promptkit.altairalabs.ai/v1alpha1",
  kind: "Tool",
  metadata: { name: "plan_journey" },
  spec: {
    description: "Plans a journey.",
    mode: "a2a",
    input_schema: { type: "object", properties: { query: { type: "string" }, nights: { type: "number" } } },
    a2a: { agent_url: url, skill_id: "plan", headers_from_env: ["Authorization=AGENT_AUTHORIZATION"], ...more },
  },
});
const env = { AGENT_AUTHORIZATION: "Bearer token-of-a-manifest", AGENT_TOKEN: "token-of-a-manifest" };

async function mounted(value: object): Promise<Toolkit> {
  const toolkit = new Toolkit();
  open.push(() => toolkit.close());
  const manifests = registerWith(toolkit, { load: () => [value], env, executors: { a2a: a2aExecutor } });
  open.push(async () => manifests[Symbol.asyncDispose]());
  await toolkit.start();
  return toolkit;
}

verifies(
  ["W1", "W4"],
  "a manifest of the mode a2a is a skill of an agent: the query is its text, the rest is data",
  async () => {
    const served = await agent();
    const toolkit = await mounted(manifest(served.origin));
    const result = await toolkit.call("manifest.plan_journey", { query: "echo Bern", nights: 3 });
    expect(await result.text()).toContain("Bern");
    const [message] = served.messages;
    expect(message?.parts.map(({ content }) => content?.value)).toEqual(["echo Bern", { nights: 3 }]);
    expect(served.requests.filter(({ url }) => url.endsWith("agent-card.json"))).toHaveLength(1);

    const other = await mounted(manifest(served.card, { headers_from_env: [], auth: { token_env: "AGENT_TOKEN" } }));
    expect(await (await other.call("manifest.plan_journey", { query: "echo Thun" })).text()).toContain("Thun");
  },
);

verifies(["W1", "W4"], "a question of the agent of a manifest goes to the caller", async () => {
  const { origin } = await agent();
  const toolkit = await mounted(manifest(origin));
  const session = { id: "1", elicit: async () => ({ action: "accept", content: { answer: "Thun" } }) as const };
  const result = await toolkit.call("manifest.plan_journey", { query: "ask" }, { session });
  expect(await result.text()).toContain("You said Thun");
});

verifies(["W1", "W4"], "an agent that is gone is UNAVAILABLE, and used again when it is back", async () => {
  const first = await startAgent();
  const toolkit = await mounted(manifest(first.origin));
  expect(await (await toolkit.call("manifest.plan_journey", { query: "echo Bern" })).text()).toContain("Bern");
  await first.close();
  expect((await failure(toolkit.call("manifest.plan_journey", { query: "echo Bern" }))).code).toBe("UNAVAILABLE");
  const second = await startAgent({ port: first.port });
  open.push(() => second.close());
  expect(await (await toolkit.call("manifest.plan_journey", { query: "echo Bern" })).text()).toContain("Bern");
});

verifies(["W1", "W4"], "a skill there is not, a variable and an agent that are missing are named", async () => {
  const { origin } = await agent();
  const wrong = await mounted(manifest(origin, { skill_id: "fly" }));
  expect((await failure(wrong.call("manifest.plan_journey", { query: "x" }))).message).toContain("no skill fly");
  const failed = async (more: object) => {
    const { failures } = await (await mounted(manifest(origin, more))).list({ kind: "tool" });
    return failures.map(({ error }) => error.message).join();
  };
  expect(await failed({ headers_from_env: ["X=NOT_SET_AT_ALL"] })).toContain("NOT_SET_AT_ALL");
  expect(await failed({ headers_from_env: ["=AGENT_TOKEN"] })).toContain('"" is no name of a header');
  expect(await failed({ agent_url: "somewhere" })).toContain("The agent_url is no URL");
  expect(await failed({ auth: { scheme: "Bearer" } })).toContain("It has no token");
});

verifies(["W1", "W4", "X1"], "a configuration with manifests knows the mode", async () => {
  const served = await agent();
  const folder = await mkdtemp(join(tmpdir(), "toolweave-a2a-"));
  open.push(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "plan.json"), JSON.stringify(manifest(served.card)));
  await writeFile(join(folder, "toolweave.yaml"), "manifests: [plan.json]\n");
  const configured = await ConfiguredToolkit.of(await readConfig(join(folder, "toolweave.yaml")), { env });
  open.push(() => configured.toolkit.close());
  await configured.toolkit.start();
  const result = await configured.toolkit.call("manifest.plan_journey", { query: "echo Bern" });
  expect(await result.text()).toContain("Bern");
});
