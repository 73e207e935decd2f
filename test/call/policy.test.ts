import { afterEach, describe, expect } from "vitest";
import type { Policy, PolicyRequest } from "../../src/core/policy.ts";
import { defineTool } from "../../src/core/tool.ts";
import { parsePrompt } from "../../src/prompt/parse-prompt.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

describe("the policy of a toolkit", () => {
  const ran: string[] = [];
  const made: Toolkit[] = [];
  const input = { type: "object", properties: { path: { type: "string" } }, required: ["path"] } as const;
  const remove = defineTool({ name: "delete_all", input, run: () => ran.push("delete_all") });
  const list = defineTool({ name: "list_files", run: () => ran.push("list_files") });
  const outer = defineTool({ name: "outer", run: (_input, { toolbox }) => toolbox.call("delete_all", { path: "/" }) });
  const brief = parsePrompt("---\nname: brief\n---\nIn brief.");
  const note = resource.text("note", "hi");

  const toolkitWith = (policy: Policy) => {
    const toolkit = new Toolkit({ items: [remove, list, outer, brief, note], policy });
    made.push(toolkit);
    return toolkit;
  };
  afterEach(async () => {
    ran.length = 0;
    await Promise.all(made.splice(0).map((toolkit) => toolkit.close()));
  });

  const refusals: readonly (readonly [why: string, policy: Policy, rule: string, message: RegExp])[] = [
    ["what a glob blocks", { block: ["builtin.delete*"] }, "block builtin.delete*", /"block builtin.delete\*" refuses/],
    ["what no glob allows", { allow: ["*.list_*", "x.*"] }, "allow *.list_*, x.*", /"allow \*\.list_\*, x\.\*"/],
    ["what is blocked and allowed", { allow: ["*"], block: ["*"] }, "block *", /refuses/],
    ["what somebody decides against", { decide: () => false }, "decide", /rule "decide"/],
    ["what somebody decides against later", { decide: async () => ({ deny: "not on Sundays" }) }, "decide", /Sundays/],
    ["what nobody could decide", { decide: () => Promise.reject(new Error("no answer")) }, "decide", /no answer/],
    ["what nobody decided", { decide: (() => undefined) as never }, "decide", /undefined, which is no verdict/],
    ["what is decided by halves", { decide: (() => ({ approve: true })) as never }, "decide", /no verdict/],
  ];
  for (const [why, policy, rule, message] of refusals) {
    verifies("T5", `refuses ${why}, and says nothing of its schema`, async () => {
      const error = await failure(toolkitWith(policy).call("delete_all", { path: 7 }));
      expect(error).toMatchObject({ code: "DENIED", phase: "policy", ref: "builtin.delete_all", details: { rule } });
      expect(error.message).toMatch(message);
      expect(ran).toEqual([]);
    });
  }

  verifies("T5", "what is thrown by whoever decides is the cause", async () => {
    const cause = new Error("no answer");
    const decide = () => {
      throw cause;
    };
    expect((await failure(toolkitWith({ decide }).call("list_files"))).cause).toBe(cause);
  });

  verifies("T5", "lets the rest through, decided at once or later", async () => {
    for (const decide of [() => true, async () => true]) {
      await toolkitWith({ block: ["builtin.delete*"], allow: ["builtin.*"], decide }).call("list_files");
    }
    expect(ran).toEqual(["list_files", "list_files"]);
  });

  verifies(["T5", "K3"], "holds for what is rendered and read too, and for what a tool calls itself", async () => {
    const toolkit = toolkitWith({ block: ["*.brief", "text:*", "*.delete_all"] });
    const denied = { code: "DENIED", phase: "policy" };
    expect(await failure(toolkit.render("brief"))).toMatchObject({ ...denied, ref: "builtin.brief" });
    expect(await failure(toolkit.read("text:note"))).toMatchObject({ ...denied, ref: "text:note#builtin" });
    expect(await failure(toolkit.subscribe("text:note"))).toMatchObject(denied);
    const outerError = await failure(toolkit.call("outer"));
    expect(outerError).toMatchObject({ code: "TOOL_FAILED", cause: denied });
  });

  verifies("T5", "whoever decides is told what is wanted, by whom, and how deep", async () => {
    const seen: unknown[] = [];
    const decide = ({ action, entry, input: given, session, depth }: PolicyRequest) =>
      seen.push([action, entry.ref, given, session.principal, depth]) > 0;
    const toolkit = toolkitWith({ decide });
    const options = { session: { id: "1", principal: "ada" } };
    await toolkit.call("outer", {}, options);
    await toolkit.render("brief", {}, options);
    await toolkit.read("text:note", options);
    expect(seen).toEqual([
      ["call", "builtin.outer", {}, "ada", 0],
      ["call", "builtin.delete_all", { path: "/" }, "ada", 1],
      ["render", "builtin.brief", {}, "ada", 0],
      ["read", "text:note#builtin", undefined, "ada", 0],
    ]);
  });

  verifies("T5", "to read or render what needs approval is refused: only calls can be approved", async () => {
    const toolkit = toolkitWith({ decide: async () => ({ approve: "it is secret" }) });
    for (const refused of [toolkit.read("text:note"), toolkit.render("brief")]) {
      const error = await failure(refused);
      expect([error.code, error.message]).toEqual(["DENIED", expect.stringContaining("it is secret")]);
    }
  });

  verifies("T5", "what is no policy is refused when the toolkit is made", () => {
    for (const policy of [{ block: "x" }, { allow: [1] }, { decide: true }, []])
      expect(() => new Toolkit({ policy: policy as never })).toThrow(/option policy/);
  });
});
