import { expect } from "vitest";
import type { ElicitRequest, SampleRequest } from "../../src/core/interaction.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";
import { everything, freePort, ListeningChild } from "./support.ts";

for (const transport of ["stdio", "streamableHttp", "sse"] as const) {
  verifies("M10", `server-everything over ${transport} asks a person and a model, and tells of changes`, async () => {
    const asked: (ElicitRequest | SampleRequest)[] = [];
    await using toolkit = new Toolkit({
      delegate: {
        elicit: async (request) => {
          asked.push(request);
          return { action: "accept", content: { name: "Ada" } };
        },
        sample: async (request) => {
          asked.push(request);
          return { role: "assistant", content: { type: "text", text: "Very well." }, model: "scripted" };
        },
      },
    });
    const port = await freePort();
    const child = transport === "stdio" ? undefined : await ListeningChild.everything(transport, port);
    const path = transport === "sse" ? "sse" : "mcp";
    const target =
      child === undefined
        ? { command: process.execPath, args: [everything, "stdio"] }
        : { url: `http://127.0.0.1:${port}/${path}` };
    try {
      toolkit.addConnector(target, { namespace: "everything" });
      await toolkit.start();
      // Its tools depend on the capabilities of the client, and it says so after the handshake.
      await until(async () => (await toolkit.list({ name: "everything.trigger-elicitation-request" })).count === 1);
      const elicited = await toolkit.call("everything.trigger-elicitation-request");
      expect(await elicited.text()).toContain("Ada");
      const sampled = await toolkit.call("everything.trigger-sampling-request", {
        prompt: "How are you?",
        maxTokens: 9,
      });
      expect(await sampled.text()).toContain("Very well.");
      expect(asked).toMatchObject([{ schema: { type: "object" } }, { maxTokens: 9 }]);

      const [memo] = (await toolkit.list({ kind: "resource", namespace: "everything" })).entries;
      if (memo === undefined) throw new Error("It has no resource.");
      const updated = new Promise<string>((resolve) => void toolkit.on("resourceUpdated", ({ uri }) => resolve(uri)));
      const end = await toolkit.subscribe(memo);
      await toolkit.call("everything.toggle-subscriber-updates");
      expect(await updated).toBe(memo.item.uri);
      await toolkit.call("everything.toggle-subscriber-updates");
      await end();
    } finally {
      await toolkit.close();
      await child?.kill();
    }
  });
}
