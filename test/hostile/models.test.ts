import { expect } from "vitest";
import { agent } from "../../src/agent/index.ts";
import { Toolkit } from "../../src/index.ts";
import { scriptedModel } from "../../src/testing/index.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

verifies("A3", "an answer of a hundred thousand fences is searched for JSON in linear time", async () => {
  const output = { type: "object", required: ["answer"] };
  for (const text of ["```json\n".repeat(100_000), `${"```\n".repeat(100_000)}{}${"\n```".repeat(100_000)}`]) {
    const assistant = agent({ defaultModel: scriptedModel([{ text }]), maxRepairs: 0 });
    await using _toolkit = new Toolkit({ delegate: assistant });
    const before = process.cpuUsage();
    const error = await failure(assistant.generate("Which?", { output }));
    const { user } = process.cpuUsage(before);
    expect(error).toMatchObject({ code: "INVALID_OUTPUT", details: { issues: [{ pointer: "" }] } });
    expect(user / 1_000).toBeLessThan(1_000);
  }
});
