import { describe, expect, test } from "vitest";
import type { ToolkitEvent } from "../../src/core/event.ts";
import type { Session } from "../../src/core/session.ts";
import type { Store } from "../../src/core/store.ts";
import { defineTool } from "../../src/core/tool.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure } from "../support/failure.ts";
import { sharing } from "../support/sharing.ts";
import { verifies } from "../support/verifies.ts";

const ada: Session = { id: "a", principal: "ada" };
const bob: Session = { id: "b", principal: "bob" };
const secret = "---\nname: secret\n---\nOf ada.";

/** A toolkit in which ada has a prompt and a resource, and nobody else has anything. */
async function withAda(store: Store): Promise<Toolkit> {
  const delegate = { runPrompt: async () => resource.text("ran", "ran") };
  const toolkit = new Toolkit({ store, delegate });
  await toolkit.user.putPrompt(secret, { session: ada });
  await toolkit.user.putResource(resource.text("note", "Of ada."), { session: ada });
  return toolkit;
}

/** Each way to come to an item, as another principal. */
const ways: Readonly<Record<string, (toolkit: Toolkit, session: Session | undefined) => Promise<unknown>>> = {
  lookup: (toolkit, session) => toolkit.lookup("secret", { session }),
  "lookup by ref": (toolkit, session) => toolkit.lookup("user.secret", { session }),
  "lookup by URI": (toolkit, session) => toolkit.lookup("text:note#user", { session }),
  call: (toolkit, session) => toolkit.call("user.secret", {}, { session }),
  render: (toolkit, session) => toolkit.render("secret", {}, { session }),
  read: (toolkit, session) => toolkit.read("text:note", { session }),
  subscribe: (toolkit, session) => toolkit.subscribe("text:note", { session }),
  "user.get": (toolkit, session) => toolkit.user.get("secret", { session }),
  "user.get of a version": (toolkit, session) => toolkit.user.get("text:note", { session, version: 1 }),
  "user.history": (toolkit, session) => toolkit.user.history("secret", { session }),
  "user.restore": (toolkit, session) => toolkit.user.restore("secret", 1, { session }),
  "user.remove": (toolkit, session) => toolkit.user.remove("secret", { session }),
  "call of her entry": async (toolkit, session) =>
    toolkit.call(await toolkit.lookup("user.secret", { kind: "prompt", session: ada }), {}, { session }),
  "call of her item": async (toolkit, session) =>
    toolkit.call((await toolkit.lookup("user.secret", { kind: "prompt", session: ada })).item, {}, { session }),
  "read of her entry": async (toolkit, session) =>
    toolkit.read(await toolkit.lookup("text:note", { kind: "resource", session: ada }), { session }),
};

/**
 * The promises to many principals over every store that a toolkit is made with.
 *
 * @param makeStore - gives an empty one, which the toolkit closes
 */
export function tenancyContract(name: string, makeStore: () => Store): void {
  describe(`${name}: what is another's is not there`, () => {
    for (const [way, go] of Object.entries(ways)) {
      verifies("S3", `${way}: for its owner it is, for another and for nobody it is NOT_FOUND`, async () => {
        await using toolkit = await withAda(makeStore());
        for (const session of [bob, undefined, { id: "x" }, { id: "x", principal: "" }]) {
          const error = await failure(go(toolkit, session));
          expect(error.code).toBe("NOT_FOUND");
          // Not even as a hint.
          expect(error.details).toMatchObject({ suggestions: [] });
          expect(error.message).not.toMatch(/Did you mean|Of ada/);
        }
        await expect(go(toolkit, ada)).resolves.not.toThrow();
      });
    }

    verifies("S3", "lists, toolsets and explanations have one's own alone", async () => {
      await using toolkit = await withAda(makeStore());
      const refs = async (session: Session | undefined) =>
        (await toolkit.list({ session })).entries.map(({ ref }) => ref);
      expect(await refs(ada)).toEqual(["user.secret", "text:note#user"]);
      for (const session of [bob, undefined]) {
        expect(await refs(session)).toEqual([]);
        expect((await toolkit.toolset({ include: ["user.*"], session })).tools).toEqual([]);
        const { winner, candidates } = await toolkit.explain("secret", { session });
        expect([winner, candidates]).toEqual([undefined, []]);
      }
      expect((await toolkit.explain("secret", { session: ada })).winner).toMatchObject({ ref: "user.secret" });
    });

    verifies("S3", "principals may have items of one name, each its own", async () => {
      await using toolkit = await withAda(makeStore());
      await toolkit.user.putPrompt("---\nname: secret\n---\nOf bob.", { session: bob });
      const text = async (session: Session) =>
        (await toolkit.render("secret", {}, { session })).messages[0]?.content[0]?.text();
      expect([await text(ada), await text(bob), await text(ada)]).toEqual(["Of ada.", "Of bob.", "Of ada."]);
      await toolkit.user.remove("secret", { session: bob });
      expect(await text(ada)).toBe("Of ada.");
    });

    verifies("S3", "a partial of another is none", async () => {
      await using toolkit = new Toolkit({ store: makeStore() });
      await toolkit.user.putPrompt("Be kind.", { name: "_tone", session: ada });
      const put = toolkit.user.putPrompt("---\nname: greet\n---\n{{> tone}}", { session: bob });
      await expect(put).rejects.toMatchObject({ code: "INVALID_PROMPT" });
    });

    verifies("S3", "a tool that a prompt's caller runs looks up what is the caller's", async () => {
      const look = defineTool({
        name: "look",
        run: async (_, { toolbox }) => (await toolbox.list({ namespace: "user" })).entries.map(({ ref }) => ref),
      });
      await using toolkit = await withAda(makeStore());
      toolkit.add(look);
      expect(await (await toolkit.call(look, {}, { session: ada })).json()).toEqual(["user.secret", "text:note#user"]);
      expect(await (await toolkit.call(look, {}, { session: bob })).json()).toEqual([]);
    });

    verifies("S3", "what is kept of an answer, and what was approved, is of one principal", async () => {
      let runs = 0;
      const count = defineTool({ name: "count", options: { cache: { ttlMs: 60_000 } }, run: () => ++runs });
      const risky = defineTool({ name: "risky", options: { needsApproval: true }, run: () => "done" });
      await using toolkit = new Toolkit({ store: makeStore(), items: [count, risky] });
      const numbers = await Promise.all([ada, bob, ada, bob].map((session) => toolkit.call(count, {}, { session })));
      expect(await Promise.all(numbers.map((number) => number.json()))).toEqual([1, 2, 1, 2]);
      for (const principal of ["ada", "bob"]) {
        const view = toolkit.view({ principal });
        expect(await (await view.call("count")).json()).toBe(principal === "ada" ? 3 : 4);
      }
      await failure(toolkit.call(risky, {}, { session: ada }));
      expect(await toolkit.approvals.list({ principal: "bob" })).toEqual([]);
      expect(await toolkit.approvals.list({ principal: "ada" })).toHaveLength(1);
    });

    verifies("S3", "an approved prompt is found again as that of who called it", async () => {
      await using toolkit = new Toolkit({
        store: makeStore(),
        delegate: { runPrompt: async () => resource.text("ran", "ran") },
        settings: { "user.*": { needsApproval: true } },
      });
      await toolkit.user.putPrompt(secret, { session: ada });
      const pending = await failure(toolkit.call("secret", {}, { session: ada }));
      expect(pending.code).toBe("PENDING");
      const { id } = pending.details as { id: string };
      expect(await toolkit.approvals.resolve(id, { approved: true })).toMatchObject({ status: "succeeded" });
    });
  });

  describe(`${name}: a view of a principal`, () => {
    verifies("S3", "is made as that principal, and refuses the session of another", async () => {
      await using toolkit = await withAda(makeStore());
      const view = toolkit.view({ principal: "ada" });
      expect((await view.list()).entries.map(({ ref }) => ref)).toEqual(["user.secret", "text:note#user"]);
      expect((await view.lookup("secret", { session: { id: "anonymous" } })).ref).toBe("user.secret");
      expect(await (await view.read("text:note")).text()).toBe("Of ada.");
      for (const refused of [
        view.lookup("secret", { session: bob }),
        view.list({ session: bob }),
        view.call("secret", {}, { session: bob }),
        view.render("secret", {}, { session: bob }),
        view.read("text:note", { session: bob }),
        view.subscribe("text:note", { session: bob }),
      ])
        await expect(refused).rejects.toMatchObject({ code: "DENIED", details: { rule: "principal" } });
      await expect(toolkit.view({ principal: "bob" }).lookup("secret")).rejects.toMatchObject({ code: "NOT_FOUND" });
      expect(() => toolkit.view({ principal: "" })).toThrow(/principal/);
    });

    verifies("S3", "a tool called through it is called as the principal, and comes to nobody else's", async () => {
      const who = defineTool({
        name: "who",
        run: async (_, { session, toolbox }) => [
          session.principal,
          (await toolbox.list({ namespace: "user" })).count,
          await toolbox.list({ session: bob }).then(
            () => "seen",
            ({ code }) => code,
          ),
        ],
      });
      await using toolkit = await withAda(makeStore());
      toolkit.add(who);
      expect(await (await toolkit.view({ principal: "ada" }).call("who")).json()).toEqual(["ada", 2, "DENIED"]);
    });

    verifies("S3", "hears of its own items and calls alone, beside what concerns everybody", async () => {
      const ping = defineTool({ name: "ping", run: () => "pong" });
      await using toolkit = new Toolkit({ store: makeStore(), items: [ping] });
      const events: ToolkitEvent[] = [];
      toolkit.view({ principal: "bob" }).on("*", (event) => events.push(event));
      await toolkit.user.putPrompt(secret, { session: ada });
      await toolkit.user.putResource(resource.text("note", "1"), { session: ada });
      await toolkit.user.putResource(resource.text("note", "2"), { session: ada });
      await toolkit.user.putPrompt("---\nname: shared\n---\nNobody's.");
      await toolkit.call("ping", {}, { session: ada });
      await toolkit.call("ping");
      await toolkit.call("ping", {}, { session: bob });
      await toolkit.user.putPrompt("---\nname: own\n---\nOf bob.", { session: bob });
      toolkit.add(defineTool({ name: "late", run: () => "late" }));
      await toolkit.close();
      expect(events.map(({ type, ...event }) => [type, "principal" in event ? event.principal : undefined])).toEqual([
        ["callStarted", "bob"],
        ["callFinished", "bob"],
        ["promptListChanged", "bob"],
        ["toolListChanged", undefined],
      ]);
    });
  });

  describe(`${name}: memory`, () => {
    verifies("S3", "only so many principals are in memory, and what they have is there all the same", async () => {
      const store = makeStore();
      await using toolkit = new Toolkit({ store: sharing(store), user: { maxPrincipals: 2 } });
      const sessions = Array.from({ length: 20 }, (_, at) => ({ id: "x", principal: `p${at}` }));
      for (const session of sessions)
        await toolkit.user.putPrompt(`---\nname: mine\n---\n${session.principal}`, { session });
      for (const session of [...sessions, ...sessions]) {
        const { messages } = await toolkit.render("mine", {}, { session });
        expect(await messages[0]?.content[0]?.text()).toBe(session.principal);
      }
    });

    test("a principal no store can keep has nothing, and is told so when it puts", async () => {
      await using toolkit = new Toolkit({ store: makeStore() });
      for (const principal of ["\ud800", "p".repeat(600)]) {
        const session = { id: "x", principal };
        expect(await toolkit.list({ session })).toMatchObject({ count: 0, failures: [{ namespace: "user" }] });
        await expect(toolkit.user.putPrompt(secret, { session })).rejects.toMatchObject({ code: "INVALID_INPUT" });
      }
    });
  });
}
