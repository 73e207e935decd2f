import { afterEach, describe, expect } from "vitest";
import { agent } from "../../src/agent/index.ts";
import type { OuterCall } from "../../src/core/outer-call.ts";
import type { PolicyRequest } from "../../src/core/policy.ts";
import type { Store } from "../../src/core/store.ts";
import {
  type CallOptions,
  type Delegate,
  defineTool,
  type Item,
  type Middleware,
  memoryStore,
  parsePrompt,
  resource,
  type Toolbox,
  Toolkit,
  type ToolkitError,
  type ToolkitOptions,
} from "../../src/index.ts";
import {
  type FaultyServer,
  faultyServer,
  type ModelRequest,
  type Script,
  scriptedModel,
} from "../../src/testing/index.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

const ada = { id: "s1", principal: "ada" };
const stored = (name: string, tools: string) => `---\nname: ${name}\ntools: ${tools}\n---\nI am ${name}.`;
const diary = { kind: "prompt", ref: "user.diary", owner: "ada" } as const;

const look = defineTool({ name: "look", run: () => "seen" });
const wipe = defineTool({ name: "wipe", run: () => "wiped" });
const pay = defineTool({ name: "pay", options: { needsApproval: true }, run: () => "paid" });
/** Calls `wipe` itself. */
const tidy = defineTool({ name: "tidy", run: async (_input, { toolbox }) => (await toolbox.call("wipe")).text() });
const items: readonly Item[] = [look, wipe, pay, tidy];

/** The name of the prompt whose run asks, and whether it has a result. */
function asking({ prompt }: ModelRequest): { readonly name: string; readonly isDone: boolean } {
  const [, name = ""] = /I am (\w+)/.exec(JSON.stringify(prompt)) ?? [];
  return { name, isDone: prompt.at(-1)?.role === "tool" };
}

/** Each prompt calls these, once, whether they were offered or not. */
function calling(byPrompt: Readonly<Record<string, readonly string[]>>): Script {
  return (request) => {
    const { name, isDone } = asking(request);
    return isDone ? "done" : { toolCalls: (byPrompt[name] ?? []).map((each) => ({ name: each })) };
  };
}

interface Way {
  readonly ref: string;
  readonly via: readonly OuterCall[];
}

/** A toolkit that notes how each call came to its policy. */
function serve(script: Script, options: ToolkitOptions = {}) {
  const ways: Way[] = [];
  const model = scriptedModel(script);
  const assistant = agent({ defaultModel: model });
  const decide = ({ entry, via }: PolicyRequest) => ways.push({ ref: entry.ref, via }) > 0;
  const store = options.store ?? memoryStore();
  const toolkit = new Toolkit({ items, delegate: assistant, store, policy: { decide }, ...options });
  const wayTo = (ref: string) => ways.find((way) => way.ref === ref)?.via;
  return { toolkit, assistant, model, ways, wayTo, [Symbol.asyncDispose]: () => toolkit.close() };
}

async function pendingId(run: Promise<unknown>): Promise<string> {
  const error = await failure(run);
  expect(error.code).toBe("PENDING");
  return (error.details as { id: string }).id;
}

describe("how a call came", () => {
  verifies(
    "H8",
    "is told a policy: nothing from outside, and every call around it, whose prompt it was included",
    async () => {
      await using served = serve(calling({ diary: ["tidy"] }), { user: { tools: ["tidy"] } });
      const { toolkit, wayTo } = served;
      await toolkit.user.putPrompt(stored("diary", "[tidy]"), { session: ada });
      await toolkit.call("diary", {}, { session: ada });
      expect(wayTo("user.diary")).toEqual([]);
      expect(wayTo("builtin.tidy")).toEqual([diary]);
      expect(wayTo("builtin.wipe")).toEqual([diary, { kind: "tool", ref: "builtin.tidy" }]);
    },
  );

  verifies("H8", "is told the policy of an agent too, and names a sub-agent and the prompt it is of", async () => {
    const asked: (readonly [string, readonly OuterCall[]])[] = [];
    const decide = ({ entry, via }: PolicyRequest) => asked.push([entry.ref, via]) > 0;
    const model = scriptedModel(calling({ outer: ["user__diary"], diary: ["look"] }));
    const outer = parsePrompt("---\nname: outer\ntools: [diary]\n---\nI am outer.");
    const delegate = agent({ defaultModel: model, policy: { decide } });
    await using toolkit = new Toolkit({
      items: [...items, outer],
      delegate,
      store: memoryStore(),
      user: { tools: ["look"] },
    });
    await toolkit.user.putPrompt(stored("diary", "[look]"), { session: ada });
    await toolkit.call("outer", {}, { session: ada });
    const outside = { kind: "prompt", ref: "builtin.outer" };
    expect(asked).toEqual([
      ["user.diary", [outside]],
      ["builtin.look", [outside, diary]],
    ]);
  });

  verifies(["H8", "A2"], "forces no tool on a stored prompt that it may not call", async () => {
    await using served = serve(calling({ diary: ["wipe"] }), { user: { tools: ["look"] } });
    const { toolkit, model } = served;
    await toolkit.user.putPrompt(stored("diary", "[look]"), { session: ada });
    const error = await failure(toolkit.call("diary", {}, { session: ada, forced: ["wipe"] }));
    expect([error.code, error.message]).toEqual([
      "INVALID_INPUT",
      expect.stringMatching(/wipe is forced.*user\.tools/),
    ]);
    expect(model.requests).toEqual([]);
    await toolkit.call("diary", {}, { session: ada, forced: ["look"] });
    expect(model.requests[0]?.toolChoice).toEqual({ type: "tool", toolName: "look" });
  });

  verifies("H8", "is not lost while a call waits for approval, also in another process with the store", async () => {
    for (const isElsewhere of [false, true]) {
      const store = memoryStore();
      const options = { store, user: { tools: ["pay"] } };
      await using served = serve(calling({ diary: ["pay"] }), options);
      await using other = serve(calling({}), options);
      await served.toolkit.user.putPrompt(stored("diary", "[pay]"), { session: ada });
      await pendingId(served.toolkit.call("diary", {}, { session: ada }));
      served.ways.length = 0;
      const { toolkit, wayTo } = isElsewhere ? other : served;
      const [waiting] = await toolkit.approvals.list({ status: "pending" });
      const { status } = await toolkit.approvals.resolve(waiting?.id ?? "", { approved: true });
      expect(status).toBe("succeeded");
      expect(wayTo("builtin.pay")).toEqual([diary]);
    }
  });

  verifies("H8", "is that of the prompt it began with once a run goes on, here or in another process", async () => {
    for (const isElsewhere of [false, true]) {
      const store = memoryStore();
      const script: Script = (request) => {
        const results = request.prompt.filter(({ role }) => role === "tool").length;
        return results === 0
          ? { toolCalls: [{ name: "pay" }] }
          : results === 1
            ? { toolCalls: [{ name: "look" }] }
            : "done";
      };
      const options = { store, user: { tools: ["pay", "look"] } };
      await using served = serve(script, options);
      await using other = serve(script, options);
      await served.toolkit.user.putPrompt(stored("diary", "[pay, look]"), { session: ada });
      const id = await pendingId(served.toolkit.call("diary", {}, { session: ada }));
      const { toolkit, assistant, wayTo } = isElsewhere ? other : served;
      const [waiting] = await toolkit.approvals.list({ status: "pending" });
      await toolkit.approvals.resolve(waiting?.id ?? "", { approved: true });
      expect(await (await assistant.resume(id)).text()).toBe("done");
      expect(wayTo("builtin.look")).toEqual([diary]);
    }
  });

  /** The record that waits in a store, as a version wrote it that did not know how a call came. */
  async function forgetWay(store: Store, collection: "approval" | "run", id: string): Promise<void> {
    const record = await store.get({ collection, owner: "", key: id });
    if (record === undefined) throw new Error(`no record ${id}`);
    const { via, ...value } = record.value as { readonly via?: unknown };
    expect(via).toBeInstanceOf(Array);
    await store.put({ collection, owner: "", key: id, value });
  }

  verifies(
    "H8",
    "is that of an unknown prompt of its principal where an early version stored the call or the run",
    async () => {
      const script: Script = ({ prompt }) => {
        const results = prompt.filter(({ role }) => role === "tool").length;
        const next = ["pay", "look"][results];
        return next === undefined ? "done" : { toolCalls: [{ name: next }] };
      };
      const unknown = { kind: "prompt", ref: "unknown", owner: "ada" };
      for (const tools of [["pay", "look"], []]) {
        const store = memoryStore();
        await using first = serve(script, { store, user: { tools: ["pay", "look"] } });
        await first.toolkit.user.putPrompt(stored("diary", "[pay, look]"), { session: ada });
        const run = await pendingId(first.toolkit.call("diary", {}, { session: ada }));
        const direct = await pendingId(first.toolkit.call("pay", {}, { session: ada }));
        const [waiting] = (await first.toolkit.approvals.list({ status: "pending" })).filter(({ id }) => id !== direct);
        const made = waiting?.id ?? "";
        await forgetWay(store, "run", run);
        for (const id of [direct, made]) await forgetWay(store, "approval", id);
        await using second = serve(script, { store, user: { tools } });
        const { toolkit, assistant, ways, wayTo } = second;
        const settled = [];
        for (const id of [direct, made]) settled.push((await toolkit.approvals.resolve(id, { approved: true })).status);
        expect(settled).toEqual(tools.length > 0 ? ["succeeded", "succeeded"] : ["failed", "failed"]);
        expect(ways).toEqual(
          settled.flatMap((status) => (status === "failed" ? [] : [{ ref: "builtin.pay", via: [unknown] }])),
        );
        await assistant.resume(run);
        expect(wayTo("builtin.look")).toEqual(tools.length > 0 ? [unknown, diary] : undefined);
      }
    },
  );

  verifies("H8", "is that of the sub-agent for the calls of one that goes on with the run around it", async () => {
    for (const isElsewhere of [false, true]) {
      const store = memoryStore();
      const script: Script = (request) => {
        const { name } = asking(request);
        const results = request.prompt.filter(({ role }) => role === "tool").length;
        const calls = name === "outer" ? ["user__diary"] : ["pay", "look"];
        const next = calls[results];
        return next === undefined ? "done" : { toolCalls: [{ name: next }] };
      };
      const outer = parsePrompt(stored("outer", "[user.diary]"));
      const options = { store, user: { tools: ["pay", "look"] }, items: [...items, outer] };
      await using served = serve(script, options);
      await using other = serve(script, options);
      await served.toolkit.user.putPrompt(stored("diary", "[pay, look]"), { session: ada });
      const id = await pendingId(served.toolkit.call("outer", {}, { session: ada }));
      const { toolkit, assistant, wayTo } = isElsewhere ? other : served;
      const [waiting] = await toolkit.approvals.list({ status: "pending" });
      await toolkit.approvals.resolve(waiting?.id ?? "", { approved: true });
      expect(await (await assistant.resume(id)).text()).toBe("done");
      expect(wayTo("builtin.look")).toEqual([{ kind: "prompt", ref: "builtin.outer" }, diary]);
    }
  });

  verifies(
    "H8",
    "is for functions alone: a list, or settings, that name a prompt say nothing of the calls it makes",
    async () => {
      const user = { tools: ["*"] };
      await using allowed = serve(calling({ diary: ["wipe"] }), { user, policy: { allow: ["user.diary"] } });
      await using lenient = serve(calling({ diary: ["pay"] }), {
        user,
        settings: { "user.diary": { needsApproval: false }, ada: { needsApproval: false } },
      });
      const text = stored("diary", "[wipe, pay]");
      for (const { toolkit } of [allowed, lenient]) await toolkit.user.putPrompt(text, { session: ada });
      await allowed.toolkit.call("diary", {}, { session: ada });
      expect(JSON.stringify(allowed.model.requests[1]?.prompt.at(-1))).toMatch(
        /builtin\.wipe is refused.*allow user\.diary/,
      );
      await pendingId(lenient.toolkit.call("diary", {}, { session: ada }));
    },
  );
});

describe("the tools of a stored prompt", () => {
  verifies("H8", "of a principal are none by default: its model is offered none, and calls are refused", async () => {
    await using served = serve(calling({ diary: ["wipe"] }));
    const { toolkit, model } = served;
    await toolkit.user.putPrompt(stored("diary", '["*"]'), { session: ada });
    await toolkit.call("diary", {}, { session: ada });
    expect(model.requests[0]?.tools ?? []).toEqual([]);
    expect(served.ways.map(({ ref }) => ref)).toEqual(["user.diary"]);
  });

  verifies(
    "H8",
    "are those that the operator names, by ref, glob or name; a tool that it may call calls what it needs",
    async () => {
      for (const tools of [["builtin.tidy"], ["builtin.t*"], ["tidy"]]) {
        await using served = serve(calling({ diary: ["tidy", "wipe"] }), { user: { tools } });
        const { toolkit, model, ways } = served;
        await toolkit.user.putPrompt(stored("diary", "[tidy, wipe]"), { session: ada });
        await toolkit.call("diary", {}, { session: ada });
        expect(model.requests[0]?.tools?.map(({ name }) => name)).toContain("tidy");
        expect(model.requests[0]?.tools?.map(({ name }) => name)).not.toContain("wipe");
        expect(ways.map(({ ref }) => ref)).toEqual(["user.diary", "builtin.tidy", "builtin.wipe"]);
      }
    },
  );

  verifies("H8", "are refused at the call, whatever executes the prompt, and however that was called", async () => {
    const refused: ToolkitError[] = [];
    const runPrompt: Delegate["runPrompt"] = async (_entry, _input, { toolbox }) => {
      refused.push(await failure(toolbox.call("wipe")), await failure(toolbox.call(wipe)));
      return resource.text("answer", "done");
    };
    await using toolkit = new Toolkit({
      items,
      delegate: { runPrompt },
      store: memoryStore(),
      user: { tools: ["look"] },
    });
    await toolkit.user.putPrompt(stored("diary", "[wipe]"), { session: ada });
    const { item } = await toolkit.lookup("user.diary", { kind: "prompt", session: ada });
    toolkit.add(defineTool({ name: "nested", run: (_input, context) => context.toolbox.call("user.diary") }));
    await toolkit.call("user.diary", {}, { session: ada });
    await toolkit.call(item, {}, { session: ada });
    await toolkit.call("nested", {}, { session: ada });
    await toolkit.view({ principal: "ada" }).call("user.diary");
    expect(refused).toHaveLength(8);
    for (const error of refused) {
      expect(error).toMatchObject({ code: "DENIED", ref: "builtin.wipe", details: { rule: "user.tools" } });
      expect(error.message).toContain('new Toolkit({ user: { tools: ["builtin.wipe"] } })');
    }
  });

  verifies("H8", "are refused, and say how they came, where middleware gave the run another toolbox", async () => {
    const redirected = (toolkit: Toolkit): Toolbox => ({
      lookup: toolkit.lookup.bind(toolkit),
      list: toolkit.list.bind(toolkit),
      // The called tool counts, not the offered one.
      call: (_target: unknown, input?: unknown, options?: CallOptions) => toolkit.call("wipe", input, { ...options }),
      read: toolkit.read.bind(toolkit),
      render: toolkit.render.bind(toolkit),
    });
    const toolboxes: readonly ((toolkit: Toolkit) => Toolbox)[] = [
      (toolkit) => toolkit,
      (toolkit) => toolkit.view({}),
      redirected,
    ];
    for (const toolboxOf of toolboxes) {
      const ways: Way[] = [];
      const swap: Middleware = (call, next) =>
        call.verb === "call" && call.entry.kind === "prompt"
          ? next(call.with({ context: call.context.derive({ toolbox: toolboxOf(toolkit) }) }))
          : next(call);
      const model = scriptedModel(calling({ diary: ["look", "tidy"] }));
      await using toolkit: Toolkit = new Toolkit({
        items,
        delegate: agent({ defaultModel: model }),
        store: memoryStore(),
        user: { tools: ["look", "tidy"] },
        use: [swap],
        // Its run may be that of several calls.
        settings: { "builtin.tidy": { cache: { ttlMs: 1_000 } } },
        policy: { decide: ({ entry, via }) => ways.push({ ref: entry.ref, via }) > 0 },
      });
      await toolkit.user.putPrompt(stored("diary", "[look, tidy]"), { session: ada });
      await toolkit.call("diary", {}, { session: ada });
      const made = ways.filter(({ ref }) => ref !== "user.diary").sort((one, other) => (one.ref < other.ref ? -1 : 1));
      if (toolboxOf === redirected) {
        expect(made).toEqual([]);
        expect(JSON.stringify(model.requests[1]?.prompt.at(-1))).toMatch(/builtin\.wipe is refused.*user\.tools/);
      } else {
        expect(made).toEqual([
          { ref: "builtin.look", via: [diary] },
          { ref: "builtin.tidy", via: [diary] },
          { ref: "builtin.wipe", via: [diary, { kind: "tool", ref: "builtin.tidy" }] },
        ]);
      }
    }
  });

  verifies("H8", "may be all where the prompt is of no principal, or is one of the toolkit", async () => {
    await using served = serve(calling({ shared: ["wipe"], own: ["wipe"] }));
    const { toolkit, ways } = served;
    await toolkit.user.putPrompt(stored("shared", "[wipe]"));
    toolkit.add(parsePrompt(stored("own", "[wipe]")));
    await toolkit.call("shared");
    await toolkit.call("own", {}, { session: ada });
    expect(ways.map(({ ref }) => ref)).toEqual(["user.shared", "builtin.wipe", "builtin.own", "builtin.wipe"]);
  });

  verifies(
    "H8",
    "are capped by the rules of the process that runs an approved call, and that goes on with a run",
    async () => {
      const store = memoryStore();
      await using served = serve(calling({ diary: ["pay"] }), { store, user: { tools: ["pay"] } });
      await using strict = serve(calling({ diary: ["wipe"] }), { store });
      await served.toolkit.user.putPrompt(stored("diary", "[pay, wipe]"), { session: ada });
      const id = await pendingId(served.toolkit.call("diary", {}, { session: ada }));
      const [waiting] = await strict.toolkit.approvals.list({ status: "pending" });
      const { status, error } = await strict.toolkit.approvals.resolve(waiting?.id ?? "", { approved: true });
      expect([status, error?.details]).toEqual(["failed", { rule: "user.tools" }]);
      await strict.assistant.resume(id);
      expect(strict.model.requests.flatMap(({ tools = [] }) => tools.map(({ name }) => name))).not.toContain("wipe");
      expect(strict.ways.map(({ ref }) => ref)).not.toContain("builtin.wipe");
    },
  );

  verifies("H8", "cannot be loosened by a prompt, and a rule that is none is refused", async () => {
    for (const tools of ["wipe", [""], [1], {}]) {
      const options = { user: { tools } } as unknown as ToolkitOptions;
      expect(() => new Toolkit(options)).toThrow(/user\.tools/);
    }
    await using served = serve(calling({ wipe: ["user__look", "look"] }), { user: { tools: ["look"] } });
    const { toolkit, ways } = served;
    // A prompt named like an allowed tool is not allowed for it.
    await toolkit.user.putPrompt(stored("look", "[wipe]"), { session: ada });
    await toolkit.user.putPrompt(stored("wipe", "[user.look, user.wipe]"), { session: ada });
    await toolkit.call("user.wipe", {}, { session: ada });
    expect(ways.map(({ ref }) => ref)).toEqual(["user.wipe"]);
  });
});

describe.each(["in-memory", "stdio", "http"] as const)("rules on a connector that was removed, over %s", (way) => {
  const servers: FaultyServer[] = [];
  let toolkit: Toolkit;

  afterEach(async () => {
    await toolkit.close();
    await Promise.all(servers.splice(0).map((server) => server[Symbol.asyncDispose]()));
  });

  async function connect(namespace: string, ...names: readonly string[]): Promise<void> {
    const server = faultyServer({ tools: Object.fromEntries(names.map((name) => [name, { run: () => namespace }])) });
    servers.push(server);
    const target =
      way === "in-memory" ? server.connector() : way === "stdio" ? await server.stdio() : (await server.listen()).url;
    await toolkit.addConnector(target, { namespace }).ready();
  }

  /** `b` is gone, and `c` has a tool that is named like one of it. */
  async function without(options: ToolkitOptions): Promise<Toolkit> {
    toolkit = new Toolkit(options);
    await connect("b", "secret");
    await connect("c", "b.secret", "own");
    expect(await (await toolkit.call("b.secret")).text()).toBe("b");
    await toolkit.removeConnector("b");
    return toolkit;
  }

  verifies("H8", "refuse, and ask for approval, as before", async () => {
    let isAsked = false;
    const decided: boolean[] = [];
    for (const key of ["b.*", "b.secret"]) {
      toolkit = new Toolkit({ policy: { block: [key] } });
      await connect("c", "b.secret", "own");
      expect((await failure(toolkit.call("c.b.secret"))).code).toBe("DENIED");
      await toolkit.close();
      isAsked = false;
      const approve = async () => {
        isAsked = true;
        return { approved: true };
      };
      await without({ settings: { [key]: { needsApproval: true } }, delegate: { approve } });
      isAsked = false;
      await toolkit.call("c.b.secret");
      decided.push(isAsked);
      const toolset = await toolkit.toolset({ exclude: [key] });
      expect(toolset.tools.map(({ entry }) => entry.ref)).toEqual(["c.own"]);
      await toolkit.close();
    }
    expect(decided).toEqual([true, true]);
  });

  verifies("H8", "allow and offer nothing else, whatever that is named", async () => {
    for (const key of ["b.*", "b.secret"]) {
      await without({ policy: { allow: [key] } });
      for (const called of ["c.b.secret", "c.own"]) expect((await failure(toolkit.call(called))).code).toBe("DENIED");
      expect((await failure(toolkit.call("b.secret"))).code).toBe("NOT_FOUND");
      expect((await toolkit.view({ include: [key] }).list()).entries).toEqual([]);
      const toolset = toolkit.toolset({ include: [key] });
      if (key === "b.secret") expect((await failure(toolset)).code).toBe("NOT_FOUND");
      else expect((await toolset).tools).toEqual([]);
      await connect("b", "secret");
      expect(await (await toolkit.call("b.secret")).text()).toBe("b");
      await toolkit.close();
    }
  });

  verifies("H8", "lift nothing from another tool that is named like theirs", async () => {
    const lifting = { needsApproval: false, rateLimit: false, maxConcurrent: false } as const;
    for (const settings of [
      { "*": { needsApproval: true }, "b.*": lifting },
      { "*": { needsApproval: true }, "b.secret": lifting },
      { "*": { needsApproval: () => true }, "b.*": { needsApproval: () => false } },
    ]) {
      await without({ settings });
      expect((await failure(toolkit.call("c.b.secret"))).code).toBe("PENDING");
      await toolkit.close();
    }
    const rateLimit = { calls: 1, perMs: 600_000, per: "all" } as const;
    await without({ settings: { "c.*": { rateLimit }, "b.*": lifting } });
    await toolkit.call("c.b.secret");
    expect((await failure(toolkit.call("c.b.secret"))).code).toBe("RATE_LIMITED");
  });

  verifies("H8", "are no rules for stored prompts either", async () => {
    const delegate: Delegate = {
      runPrompt: async (_entry, _input, { toolbox }) =>
        resource.text("answer", (await failure(toolbox.call("c.b.secret"))).code),
    };
    for (const key of ["b.*", "b.secret"]) {
      await without({ delegate, store: memoryStore(), user: { tools: [key] } });
      await toolkit.user.putPrompt(stored("diary", "[c.b.secret]"), { session: ada });
      expect(await (await toolkit.call("diary", {}, { session: ada })).text()).toBe("DENIED");
      await toolkit.close();
    }
  });
});
