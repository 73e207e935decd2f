import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Connector, ConnectorSession } from "../../src/core/connector.ts";
import { ToolkitError } from "../../src/core/error.ts";
import { type Content, isContent } from "../../src/core/resource.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { contextOf, never, RecordingHost } from "../mcp/fixture/host.ts";
import { verifies } from "../support/verifies.ts";

/** A way to reach the fixture server. */
export interface ConnectorSetup {
  readonly connector: Connector;
  /** Ends the far side without asking, as a crash does. */
  lose(session: ConnectorSession): Promise<void>;
  /** Ends what the setup started. */
  dispose(): Promise<void>;
}

/**
 * The promises of every connector, whatever carries its messages. Each test has a connection of its own to the server of
 * `test/mcp/fixture/server.ts`.
 */
export function connectorContract(
  name: string,
  transport: string,
  setup: () => Promise<ConnectorSetup>,
  protocolVersion = "2025-11-25",
): void {
  describe(`${name} keeps the connector contract`, () => {
    let side: ConnectorSetup;
    let host: RecordingHost;
    let session: ConnectorSession;

    const connect = () => side.connector.connect({ signal: never, host });
    const code = async (failing: Promise<unknown>) =>
      failing.then(
        () => "none",
        (error: unknown) => (ToolkitError.is(error) ? error.code : error),
      );

    beforeEach(async () => {
      side = await setup();
      host = new RecordingHost();
      session = await connect();
    });
    afterEach(async () => {
      await session[Symbol.asyncDispose]();
      await side.dispose();
    });

    verifies("M3", "says who the server is", () => {
      expect(session.transport).toBe(transport);
      expect(session.server).toMatchObject({
        name: "fixture",
        version: "1.2.3",
        title: "Fixture",
        instructions: "Use echo.",
      });
      expect(session.server.protocolVersion).toBe(protocolVersion);
      expect([...session.announces].sort()).toEqual(["prompt", "resource", "template", "tool"]);
    });

    verifies("L4", "lists every kind as plain data", async () => {
      const tools = await session.list.tool?.({ signal: never });
      expect(tools?.warnings).toEqual([]);
      expect(tools?.items.find((tool) => tool.name === "add")?.output).toMatchObject({
        properties: { sum: { type: "number" } },
      });
      const prompts = await session.list.prompt?.({});
      expect(prompts?.items.slice(0, 1)).toEqual([
        expect.objectContaining({
          name: "greet",
          description: "Greets",
          arguments: expect.arrayContaining([{ name: "name", required: true }]),
        }),
      ]);
      const resources = await session.list.resource?.({});
      expect(resources?.items[0]).toMatchObject({
        name: "memo",
        uri: "memo://one",
        mediaType: "text/markdown",
        description: "A memo",
      });
      const templates = await session.list.template?.({});
      expect(templates?.items).toEqual([expect.objectContaining({ uriTemplate: "memo://by-name/{name}" })]);
    });

    verifies("C4", "gives one block as that block, structured content as JSON, and keeps the original", async () => {
      const content = await session.call("echo", { message: "hi" }, contextOf());
      expect(isContent(content)).toBe(true);
      expect([content.mediaType, await content.text()]).toEqual(["text/plain", "Echo: hi"]);
      expect(content.meta?.mcp).toMatchObject({ content: [{ type: "text", text: "Echo: hi" }] });
      const sum = await session.call("add", { a: 1, b: 2 }, contextOf());
      expect([sum.mediaType, await sum.json()]).toEqual(["application/json", { sum: 3 }]);
      expect(sum.meta?.mcp).toMatchObject({
        content: [{ text: "see structuredContent" }],
        structuredContent: { sum: 3 },
      });
    });

    verifies("C4", "an error the tool reports is TOOL_FAILED in the server's words", async () => {
      const error = await session.call("fail", {}, contextOf()).catch((thrown: unknown) => thrown);
      expect(ToolkitError.is(error, "TOOL_FAILED") && error.message).toBe("the disk is full");
      const { content } = (error as ToolkitError<"TOOL_FAILED">).details;
      expect(await (content as Content).text()).toBe("the disk is full");
    });

    verifies("M10", "passes _meta both ways, beside the progress token", async () => {
      const content = await session.call(
        "echo",
        { message: "x" },
        contextOf({ meta: { traceparent: "00-1", tenant: 7 } }),
      );
      const result = content.meta?.mcp as { readonly _meta: Readonly<Record<string, unknown>> } | undefined;
      const meta = result?._meta["fixture/meta"];
      expect(meta).toMatchObject({ traceparent: "00-1", tenant: 7, progressToken: expect.any(String) });
    });

    verifies("M10", "reports all progress before the result", async () => {
      const context = contextOf();
      await session.call("progress", { steps: 5 }, context);
      expect(context.reports.map((report) => report.progress)).toEqual([1, 2, 3, 4, 5]);
      expect(context.reports[4]).toEqual({ progress: 5, total: 5, message: "step 5" });
    });

    verifies("M10", "hands on log messages, resource updates and list changes", async () => {
      await session.call("log", {}, contextOf());
      await host.until(() => host.entries.length > 0);
      expect(host.entries).toEqual([{ level: "warning", logger: "disk", data: { free: 3 } }]);
      // Where the server has subscriptions it says nothing without one.
      await session.subscribe?.("memo://one", {});
      await session.call("touch", {}, contextOf());
      await host.until(() => host.changes.some((change) => change.uri === "memo://one"));
      await session.call("grow", {}, contextOf());
      await host.until(() => host.changes.some((change) => change.kind === "tool"));
      const tools = await session.list.tool?.({});
      expect(tools?.items.map((tool) => tool.name)).toContain("grown");
    });

    verifies("C6", "an abort rejects at once with the signal's reason, and the far side hears of it once", async () => {
      const controller = new AbortController();
      const reason = new Error("changed my mind");
      const calls = ["hang", "hang"].map((tool) => session.call(tool, {}, contextOf({ signal: controller.signal })));
      const outcomes = Promise.allSettled(calls);
      await session.call("echo", { message: "both have arrived" }, contextOf());
      controller.abort(reason);
      const settled = await outcomes;
      expect(settled.map((outcome) => outcome.status === "rejected" && outcome.reason)).toEqual([reason, reason]);
      const seen = await session.call("cancelled", { count: 2 }, contextOf());
      expect(await seen.text()).toBe("2");
    });

    verifies("C6", "an aborted signal sends nothing, and no listener stays on a signal", async () => {
      const { signal } = new AbortController();
      for (let call = 0; call < 15; call++) await session.call("echo", { message: "x" }, contextOf({ signal }));
      expect(getEventListeners(signal, "abort")).toHaveLength(0);
      const reason = { any: "value" };
      await expect(session.call("echo", {}, contextOf({ signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
      await expect(session.list.tool?.({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      await expect(session.read?.("memo://one", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    });

    verifies("C14", "attachments are refused", async () => {
      const attachments = [resource.text("note", "hi")];
      expect(await code(session.call("echo", { message: "x" }, contextOf({ attachments })))).toBe("INVALID_INPUT");
    });

    test("reads resources, as text, as bytes and through a template", async () => {
      const memo = await session.read?.("memo://one", contextOf());
      expect([memo?.uri, memo?.mediaType, await memo?.text()]).toEqual(["memo://one", "text/markdown", "# Memo"]);
      const pixel = await session.read?.("memo://pixel", {});
      expect([pixel?.mediaType, await pixel?.bytes()]).toEqual(["image/png", new Uint8Array([1, 2, 3])]);
      const named = await session.read?.("memo://by-name/ada", {});
      expect(await named?.text()).toBe("memo of ada");
    });

    test("an unknown resource, prompt and argument are told apart", async () => {
      expect(await code(session.read?.("memo://none", {}) as Promise<unknown>)).toBe("NOT_FOUND");
      expect(await code(session.render?.("none", {}, contextOf()) as Promise<unknown>)).toBe("REMOTE_ERROR");
    });

    test("renders a prompt, with every argument as a string", async () => {
      const rendered = await session.render?.("greet", { name: "Ada", count: 3, none: undefined }, contextOf());
      expect(rendered?.messages.map((message) => message.role)).toEqual(["user", "assistant"]);
      expect(await rendered?.messages[0]?.content[0]?.text()).toBe("Greet Ada 3");
    });

    verifies("M9", "closing is idempotent and loses what is in flight", async () => {
      const hanging = code(session.call("hang", {}, contextOf()));
      const listing = code(session.call("echo", { message: "sent" }, contextOf()).then(() => "none"));
      await listing;
      await Promise.all([session[Symbol.asyncDispose](), session[Symbol.asyncDispose]()]);
      expect(await hanging).toBe("OUTCOME_UNKNOWN");
      expect(await session.closed).toBeUndefined();
      // A message that comes later was surely not sent.
      expect(await code(session.call("echo", { message: "x" }, contextOf()))).toBe("UNAVAILABLE");
      expect(await code(session.list.tool?.({}) as Promise<unknown>)).toBe("UNAVAILABLE");
    });

    verifies("M5", "a lost connection fails what is in flight and says why", async () => {
      const hanging = code(session.call("hang", {}, contextOf()));
      const reading = code(session.call("cancelled", { count: 99 }, contextOf()));
      await session.call("echo", { message: "both have arrived" }, contextOf());
      await side.lose(session);
      expect(await session.closed).toBeInstanceOf(Error);
      expect([await hanging, await reading]).toEqual(["OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN"]);
      expect(await code(session.call("echo", { message: "x" }, contextOf()))).toBe("UNAVAILABLE");
    });

    verifies("M5", "two generations of one connector know nothing of each other", async () => {
      const other = await connect();
      await other[Symbol.asyncDispose]();
      const content = await session.call("echo", { message: "still here" }, contextOf());
      expect(await content.text()).toBe("Echo: still here");
    });

    verifies("M9", "an attempt that is aborted rejects with the signal's reason", async () => {
      const controller = new AbortController();
      const reason = new Error("closing");
      const connecting = side.connector.connect({ signal: controller.signal, host });
      controller.abort(reason);
      await expect(connecting).rejects.toBe(reason);
      await expect(side.connector.connect({ signal: controller.signal, host })).rejects.toBe(reason);
    });
  });
}
