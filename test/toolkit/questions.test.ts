import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AddConnectorOptions } from "../../src/connection/connect-options.ts";
import type { Connector } from "../../src/core/connector.ts";
import type { Delegate, InteractionContext } from "../../src/core/delegate.ts";
import type { ElicitRequest, ElicitResult, SampleRequest, SampleResult } from "../../src/core/interaction.ts";
import type { Session } from "../../src/core/session.ts";
import type { ConnectorTarget } from "../../src/core/target.ts";
import { defineTool } from "../../src/core/tool.ts";
import { type FaultyServer, faultyServer } from "../../src/testing/faulty/server.ts";
import { testContext } from "../../src/testing/test-context.ts";
import { type VirtualClock, virtualClock } from "../../src/testing/virtual-clock.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure, rejection } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

const form = { type: "object", properties: { age: { type: "integer" } }, required: ["age"] };
const answerOf = (model: string): SampleResult => ({
  role: "assistant",
  content: { type: "text", text: "Hi" },
  model,
  stopReason: "endTurn",
});

/** Answers whatever it is asked, and remembers who asked what for whom. */
class Person {
  readonly asked: { readonly request: ElicitRequest | SampleRequest; readonly context?: InteractionContext }[] = [];
  age: unknown = 42;

  session(id: string): Session {
    return {
      id,
      elicit: async (request) => this.#answer(request),
      sample: async (request) => {
        this.asked.push({ request });
        return answerOf(id);
      },
    };
  }

  get delegate(): Delegate {
    return {
      elicit: async (request, context) => this.#answer(request, context),
      sample: async (request, context) => {
        this.asked.push({ request, context });
        return answerOf("delegate");
      },
    };
  }

  async #answer(request: ElicitRequest, context?: InteractionContext): Promise<ElicitResult> {
    this.asked.push(context === undefined ? { request } : { request, context });
    return { action: "accept", content: { age: this.age } };
  }
}

const ways = ["in-memory", "stdio", "http", "http with JSON answers"] as const;

describe.each(ways)("what a server asks over %s", (way) => {
  let server: FaultyServer;
  let person: Person;
  let toolkit: Toolkit | undefined;

  const target = async (): Promise<ConnectorTarget | Connector> => {
    if (way === "in-memory") return server.connector();
    if (way === "stdio") return server.stdio();
    return (await server.listen({ answers: way === "http" ? "sse" : "json" })).url;
  };
  const start = async (
    delegate?: Delegate | Delegate[],
    { clock, ...options }: AddConnectorOptions & { readonly clock?: VirtualClock } = {},
  ): Promise<Toolkit> => {
    toolkit = new Toolkit({ delegate, ...(clock === undefined ? {} : { clock }) });
    toolkit.addConnector(await target(), { namespace: "far", ...options });
    await toolkit.start();
    return toolkit;
  };
  beforeEach(() => {
    person = new Person();
    server = faultyServer({ name: "far" });
  });
  afterEach(async () => {
    await toolkit?.close();
    await server[Symbol.asyncDispose]();
  });

  verifies("M10", "goes to the person of the session that calls, and the answer to the server", async () => {
    const kit = await start(new Person().delegate);
    const content = await kit.call("far.ask", { message: "Age?" }, { session: person.session("one") });
    expect(JSON.parse(await content.text())).toEqual({ action: "accept", content: { age: 42 } });
    expect(person.asked).toEqual([{ request: { message: "Age?", schema: form, meta: undefined } }]);
  });

  verifies("M10", "goes to the delegate where the session cannot answer, and says who asks", async () => {
    const other: Delegate = { elicit: async () => undefined };
    const kit = await start([other, person.delegate]);
    const session = { id: "mute" };
    await kit.call("far.ask", {}, { session });
    expect(person.asked).toMatchObject([{ context: { requester: "far", session } }]);
    expect(JSON.parse(await (await kit.call("far.sample", { text: "Hello" })).text())).toEqual(answerOf("delegate"));
    expect(person.asked[1]?.request).toMatchObject({
      messages: [{ role: "user", content: { type: "text", text: "Hello" } }],
      maxTokens: 100,
    });
  });

  verifies("M10", "is declined where there is none to answer", async () => {
    const kit = await start();
    expect(JSON.parse(await (await kit.call("far.ask")).text())).toEqual({ action: "decline" });
    expect((await failure(kit.call("far.sample"))).message).toMatch(/declined/i);
  });

  verifies("M10", "is not asked where the connector says so", async () => {
    const kit = await start(person.delegate, { elicitation: false, sampling: false });
    expect((await failure(kit.call("far.ask"))).message).toMatch(/not found|elicitation/i);
    expect((await failure(kit.call("far.sample"))).message).toMatch(/not found|sampling/i);
    expect(person.asked).toEqual([]);
  });

  verifies("M10", "an answer that does not fit the form is not sent", async () => {
    person.age = "old";
    const kit = await start(person.delegate);
    expect((await failure(kit.call("far.ask"))).code).toBe("TOOL_FAILED");
  });

  verifies(
    ["M10", "O3"],
    "why an answer failed is for the operator, and for no other caller nor the server",
    async () => {
      const kit = await start();
      const logged: unknown[] = [];
      const log = (entry: unknown) => void logged.push(entry);
      const elicit = async () => Promise.reject(new Error("the vault said hunter2"));
      const error = await failure(kit.call("far.ask", {}, { session: { id: "one", elicit, log } }));
      // Messages sent before it have arrived when this is answered.
      await kit.call("far.echo", { message: "later" });
      expect(kit.connections[0]?.warnings).toEqual([expect.stringContaining("hunter2")]);
      expect(`${error.message} ${JSON.stringify(logged)}`).not.toContain("hunter2");
    },
  );

  verifies(["M10", "C6"], "is over for the person when the caller gives up", async () => {
    const kit = await start();
    const asked = Promise.withResolvers<AbortSignal>();
    const session: Session = {
      id: "slow",
      elicit: (_request, { signal }) => {
        asked.resolve(signal);
        return new Promise(() => undefined);
      },
    };
    const controller = new AbortController();
    const call = rejection(kit.call("far.ask", {}, { session, signal: controller.signal }));
    const signal = await asked.promise;
    controller.abort("enough");
    expect(await call).toBe("enough");
    expect(signal.aborted).toBe(true);
  });

  verifies(["M10", "C7"], "a person may take longer than a tool may be silent", async () => {
    const clock = virtualClock();
    const kit = await start(undefined, { timeoutMs: 300, clock });
    const session: Session = {
      id: "slow",
      elicit: async () => {
        await clock.advance(700);
        return { action: "cancel" };
      },
    };
    expect(JSON.parse(await (await kit.call("far.ask", {}, { session })).text())).toEqual({ action: "cancel" });
  });

  verifies(["M10", "C7"], "holds every call that may wait for the answer, and no other", async () => {
    const [asks, arrived, other] = [0, 1, 2].map(() => Promise.withResolvers<void>());
    server.change({
      tools: {
        late: {
          async run(_input, { request }) {
            await asks?.promise;
            return JSON.stringify(await request("elicitation/create", { message: "Age?", requestedSchema: form }));
          },
        },
        other: {
          async run() {
            arrived?.resolve();
            await other?.promise;
            return "done";
          },
        },
      },
    });
    const clock = virtualClock();
    const kit = await start(undefined, { timeoutMs: 1_000, clock });
    const session: Session = {
      id: "slow",
      elicit: async () => {
        await clock.advance(1_500);
        return { action: "cancel" };
      },
    };
    const late = kit.call("far.late", {}, { session });
    const silent = kit.call("far.other", {}, { session }).then(
      (content) => content.text(),
      (error) => error.code,
    );
    await arrived?.promise;
    asks?.resolve();
    expect(JSON.parse(await (await late).text())).toEqual({ action: "cancel" });
    other?.resolve();
    // Over HTTP it is known which of the two asks.
    expect(await silent).toBe(way === "http" ? "TIMEOUT" : "done");
  });

  verifies("M10", "belongs to the session whose call it answers, and to none where that is not known", async () => {
    const kit = await start(person.delegate);
    const sessions = [new Person(), new Person()] as const;
    const calls = sessions.map((each, at) => kit.call("far.ask", {}, { session: each.session(String(at)) }));
    await Promise.all(calls);
    if (way === "http") {
      expect(sessions.map(({ asked }) => asked.length)).toEqual([1, 1]);
      return;
    }
    // Over one pipe nothing says which of the two it belongs to: no session is asked that did not call alone.
    const toDelegate = person.asked.filter(({ context }) => context?.session === undefined).length;
    expect(toDelegate + sessions.flatMap(({ asked }) => asked).length).toBe(2);
    expect(toDelegate).toBeGreaterThan(0);
  });
});

describe("what a tool asks", () => {
  const greet = defineTool({
    name: "greet",
    run: async (_input, context) => {
      const answer = await context.elicit("Name?", {
        type: "object",
        properties: { name: { type: "string", default: "you" }, loud: { type: "boolean" } },
        required: ["name"],
      });
      if (answer.action !== "accept") return answer.action;
      const { content, model } = await context.sample({
        messages: [{ role: "user", content: { type: "text", text: String(answer.content?.name) } }],
        maxTokens: 10,
      });
      return { content, model, name: answer.content?.name };
    },
  });
  const accept = (content?: Record<string, unknown>): Delegate => ({
    elicit: async () => ({ action: "accept", content }),
    sample: async () => answerOf("delegate"),
  });

  verifies("M10", "goes the same way, and defaults fill what was left out", async () => {
    await using toolkit = new Toolkit({ items: [greet], delegate: accept() });
    expect(await (await toolkit.call("greet")).json()).toMatchObject({ model: "delegate", name: "you" });
    const person = new Person().session("mine");
    const session: Session = { ...person, elicit: async () => ({ action: "accept", content: { name: "Ada" } }) };
    expect(await (await toolkit.call("greet", {}, { session })).json()).toMatchObject({ model: "mine", name: "Ada" });
  });

  verifies("M10", "is asked for the one who called the tool that called it", async () => {
    const outer = defineTool({ name: "outer", run: (_input, { toolbox }) => toolbox.call("greet") });
    await using toolkit = new Toolkit({ items: [greet, outer] });
    const session: Session = { id: "s", elicit: async () => ({ action: "cancel" }) };
    expect(await (await toolkit.call("outer", {}, { session })).text()).toBe("cancel");
  });

  verifies("M10", "is declined where there is none to answer; a missing model is named", async () => {
    await using toolkit = new Toolkit({ items: [greet] });
    expect(await (await toolkit.call("greet")).text()).toBe("decline");
    const elicit = async () => ({ action: "accept", content: { name: "Ada" } }) as const;
    expect(await failure(toolkit.call("greet", {}, { session: { id: "s", elicit } }))).toMatchObject({
      code: "NO_DELEGATE",
      message: expect.stringContaining("delegate with sample"),
    });
  });

  const bad: readonly [string, unknown][] = [
    ["an action there is not", { action: "yes" }],
    ["a member of another type", { action: "accept", content: { name: 7 } }],
    ["no object", "accept"],
  ];
  for (const [what, answer] of bad) {
    verifies("M10", `is answered with INVALID_OUTPUT for ${what}`, async () => {
      await using toolkit = new Toolkit({ items: [greet], delegate: { elicit: async () => answer as never } });
      expect((await failure(toolkit.call("greet"))).code).toBe("INVALID_OUTPUT");
    });
  }

  verifies("M10", "an answer of a model that is none is INVALID_OUTPUT", async () => {
    for (const answer of [{ text: "hi" }, { model: "m", content: null }, { model: "m", content: "hi" }]) {
      const delegate = { ...accept(), sample: async () => answer as never };
      await using toolkit = new Toolkit({ items: [greet], delegate });
      expect((await failure(toolkit.call("greet"))).code).toBe("INVALID_OUTPUT");
    }
  });

  verifies(["M10", "I1"], "a schema that is none is refused where it is asked", async () => {
    const odd = defineTool({ name: "odd", run: (_input, context) => context.elicit("?", { type: "text" } as never) });
    await using toolkit = new Toolkit({ items: [odd] });
    expect((await failure(toolkit.call("odd"))).code).toBe("INVALID_SCHEMA");
  });

  test("a test context asks its session", async () => {
    const session: Session = { id: "s", elicit: async () => ({ action: "decline" }) };
    expect(await greet.run({}, testContext({ session }))).toBe("decline");
    expect(await greet.run({}, testContext())).toBe("decline");
  });
});
