import { describe, expect } from "vitest";
import { type A2aOptions, a2a } from "../../src/a2a/index.ts";
import type { Delegate } from "../../src/core/delegate.ts";
import type { ElicitRequest } from "../../src/core/interaction.ts";
import type { Content } from "../../src/core/resource.ts";
import type { Progress } from "../../src/core/session.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure, rejection } from "../support/failure.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";
import type { AgentOptions } from "./fixture/agent.ts";
import { agents } from "./support.ts";

const { agent, open } = agents();

async function connected(target: string, options: A2aOptions = {}, delegate: Delegate = {}): Promise<Toolkit> {
  const toolkit = new Toolkit({ delegate });
  open.push(() => toolkit.close());
  toolkit.addConnector(a2a(target, options), { namespace: "travel" });
  await toolkit.start();
  return toolkit;
}

/** The ids and the state of the task of a result. */
function aboutOf({ meta = {} }: Content) {
  return meta.a2a as { state: string; taskId: string; contextId: string; artifacts: readonly string[] };
}

const forms: readonly (readonly [string, AgentOptions])[] = [
  ["1.0 over JSON-RPC", { bindings: ["JSONRPC"] }],
  ["1.0 over HTTP+JSON", { bindings: ["HTTP+JSON"] }],
  ["0.3 over JSON-RPC", { bindings: ["JSONRPC"], isLegacy: true }],
  ["0.3 over HTTP+JSON", { bindings: ["HTTP+JSON"], isLegacy: true }],
  ["1.0 without streams", { streaming: false }],
  ["0.3 without streams", { streaming: false, isLegacy: true }],
];

describe.each(forms)("an agent of %s", (_form, options) => {
  verifies("W4", "a skill is a tool, and its artifact the result", async () => {
    const { card, messages } = await agent(options);
    const toolkit = await connected(card);
    const { entries } = await toolkit.list({ kind: "tool", namespace: "travel" });
    expect(entries.map(({ ref }) => ref)).toEqual(["travel.plan"]);
    expect(entries[0]?.item.description).toContain("Does what plan says.");

    const result = await toolkit.call("travel.plan", { message: "echo Bern" });
    expect(await result.parts?.[0]?.text()).toBe("Bern");
    expect(result.meta?.a2a).toMatchObject({ state: "completed", taskId: expect.any(String) });
    expect(messages[0]?.metadata).toEqual({ skillId: "plan" });
  });

  verifies("W4", "data goes there and back, and an artifact is read again by its URI", async () => {
    const { card } = await agent(options);
    const toolkit = await connected(card);
    const result = await toolkit.call("travel.plan", { message: "data", data: { nights: 3, cities: ["Bern"] } });
    expect(await result.json()).toEqual({ nights: 3, cities: ["Bern"] });

    const read = await toolkit.read(aboutOf(result).artifacts[0] ?? "");
    expect(read.parts?.map(({ mediaType }) => mediaType)).toEqual(["text/plain", "application/json"]);
    expect((await failure(toolkit.read("a2a://task/none/artifact/answer"))).code).toBe("NOT_FOUND");
  });

  verifies("W4", "a question of the agent is asked of the person, and its answer ends the task", async () => {
    const { card } = await agent(options);
    const asked: ElicitRequest[] = [];
    const elicit = async (request: ElicitRequest) => {
      asked.push(request);
      return { action: "accept", content: { answer: "Bern" } } as const;
    };
    const toolkit = await connected(card, {}, { elicit });
    const result = await toolkit.call("travel.plan", { message: "ask" });
    expect(asked.map(({ message }) => message)).toEqual([expect.stringContaining("Which city?")]);
    expect(await result.parts?.[0]?.text()).toBe("You said Bern");
  });

  verifies("W4", "without a person the question is the result, and the next call answers it", async () => {
    const { card } = await agent(options);
    const toolkit = await connected(card);
    const question = await toolkit.call("travel.plan", { message: "ask" });
    const { state, taskId, contextId } = aboutOf(question);
    expect(state).toBe("input-required");
    expect(await question.text()).toContain("Which city?");
    expect(await question.text()).toContain(taskId);

    const result = await toolkit.call("travel.plan", { message: "Thun", taskId, contextId });
    expect(await result.parts?.[0]?.text()).toBe("You said Thun");
    expect(result.meta?.a2a).toMatchObject({ state: "completed", taskId });
  });

  verifies("W4", "a page to log in is shown to the person, and the task goes on by itself after it", async () => {
    const served = await agent(options);
    const asked: (string | undefined)[] = [];
    const elicit = async ({ url }: ElicitRequest) => {
      asked.push(url);
      served.release();
      return { action: "accept" } as const;
    };
    const toolkit = await connected(served.card, {}, { elicit });
    const result = await toolkit.call("travel.plan", { message: "login" });
    expect(asked).toEqual(["https://login.example/authorize?state=1"]);
    expect(await result.parts?.[0]?.text()).toBe("logged in");
  });

  verifies("W4", "an authorization that is needed is said in words, and no other data of the agent is", async () => {
    const served = await agent(options);
    const needed =
      "The agent needs an authorization: scheme oauth2, for calendar, scopes calendar.read calendar.write, code WDJB-MJHT, at https://login.example/device";
    const said: (string | undefined)[] = [];
    const toolkit = await connected(served.card);
    const onProgress = ({ message }: { readonly message?: string | undefined }) => said.push(message);
    const result = await toolkit.call("travel.plan", { message: "authorize" }, { onProgress });
    expect(result.meta?.a2a).toMatchObject({ state: "auth-required" });
    const texts = await Promise.all((result.parts ?? []).map((part) => part.text()));
    expect(texts).toEqual([
      needed,
      "code as an image",
      expect.stringMatching(/^\[The agent waits for an authorization\./),
    ]);
    expect(said.at(-1)).toBe(needed);
    const elicit = async ({ message, url }: ElicitRequest) => {
      said.push(message, url);
      return { action: "decline" } as const;
    };
    const asking = await connected(served.card, {}, { elicit });
    await asking.call("travel.plan", { message: "authorize" });
    expect(said.slice(-2)).toEqual([needed, "https://login.example/device"]);
    expect(JSON.stringify([said, texts])).not.toContain("secret-of");
  });

  verifies("W4", "a task whose call is canceled is canceled at its agent", async () => {
    const served = await agent(options);
    const toolkit = await connected(served.card);
    const caller = new AbortController();
    const begun = Promise.withResolvers<void>();
    const call = rejection(
      toolkit.call("travel.plan", { message: "wait" }, { signal: caller.signal, onProgress: () => begun.resolve() }),
    );
    await begun.promise;
    caller.abort();
    await call;
    await until(() => served.canceled.size === 1);
  });

  verifies("W4", "a task that fails is TOOL_FAILED, with the words of its agent", async () => {
    const { card } = await agent(options);
    const toolkit = await connected(card);
    const error = await failure(toolkit.call("travel.plan", { message: "fail" }));
    expect(error.code).toBe("TOOL_FAILED");
    expect(error.message).toContain("There is no train to Atlantis.");
  });
});

verifies("W4", "streaming is progress, and the chunks of an artifact are one text", async () => {
  const { card } = await agent();
  const toolkit = await connected(card);
  const reports: Progress[] = [];
  const result = await toolkit.call(
    "travel.plan",
    { message: "steps" },
    { onProgress: (progress) => void reports.push(progress) },
  );
  expect(await result.parts?.[0]?.text()).toBe("Three days in Bern");
  const said = reports.map(({ message }) => message);
  expect(said).toEqual(expect.arrayContaining(["reading", "thinking", "writing", "artifact plan"]));
});

verifies("W4", "attachments of a call are sent as files", async () => {
  const { card } = await agent();
  const toolkit = await connected(card);
  const attachments = [await resource.data("map.bin", new Uint8Array([1, 2, 3]), { mediaType: "application/x-map" })];
  const result = await toolkit.call("travel.plan", { message: "data" }, { attachments });
  const file = result.parts?.find(({ mediaType }) => mediaType === "application/x-map");
  expect(file?.name).toBe("map");
  expect(await file?.bytes()).toEqual(new Uint8Array([1, 2, 3]));
});

verifies("W4", "an answer without a task, a file and a link are contents of their kinds", async () => {
  const { card } = await agent();
  const toolkit = await connected(card);
  const reply = await toolkit.call("travel.plan", { message: "reply Good morning" });
  expect(await reply.parts?.[0]?.text()).toBe("Good morning");

  const files = await toolkit.call("travel.plan", { message: "files" });
  const [picture, link] = files.parts ?? [];
  expect(picture).toMatchObject({ mediaType: "image/png", name: "map.png" });
  expect(link).toMatchObject({ mediaType: "text/uri-list" });
  expect(await link?.text()).toBe("https://files.example/route.pdf");
});
