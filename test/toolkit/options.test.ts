import { afterEach, describe, expect, test } from "vitest";
import { toAnthropic, toOpenAI } from "../../src/adapters/index.ts";
import { agent } from "../../src/agent/index.ts";
import { ToolkitError } from "../../src/core/error.ts";
import { defineTool } from "../../src/core/tool.ts";
import { clientCredentials, inMemoryConnector, mcpConnector, oauth } from "../../src/mcp/index.ts";
import { parsePrompt } from "../../src/prompt/parse-prompt.ts";
import { readPrompt, readPrompts } from "../../src/prompt/read-prompts.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { rejection } from "../support/failure.ts";
import { FakeConnector } from "../support/fake-connector.ts";
import { verifies } from "../support/verifies.ts";

const open: Toolkit[] = [];
afterEach(async () => {
  for (const toolkit of open.splice(0)) await toolkit.close();
});

/** A toolkit made with what the compiler would refuse. */
function make(options?: unknown): Toolkit {
  const toolkit = new Toolkit(options as object);
  open.push(toolkit);
  return toolkit;
}

const url = "http://127.0.0.1:9/mcp";
const client = { id: "me", issuer: "https://auth.example.com", secret: "s3cret" };
// As JavaScript and JSON have it: nobody checks a type.
const given = (options: unknown) => options as never;

const withTool = () => make({ items: [defineTool({ name: "hello", run: () => "hi" })] });
const stored = () => make({ store: memoryStore() });

type Use = (options: never) => unknown;

/** The error, thrown at once or later. */
async function problem(use: () => unknown): Promise<ToolkitError> {
  const error = await rejection((async () => use())());
  expect(error, String(error)).toSatisfy((thrown) => ToolkitError.is(thrown));
  return error as ToolkitError;
}

const slips: readonly (readonly [what: string, use: Use, options: unknown, path: string, meant: string])[] = [
  ["a toolkit", make, { timoutMs: 5 }, "timoutMs", "timeoutMs"],
  ["a toolkit's policy", make, { policy: { blok: ["*"] } }, "policy.blok", "block"],
  ["a toolkit's cache", make, { cache: { maxEntrys: 5 } }, "cache.maxEntrys", "maxEntries"],
  ["approvals", make, { approvals: { ttlMS: 5 } }, "approvals.ttlMS", "ttlMs"],
  ["settings", make, { settings: { "a.*": { timeoutMS: 5 } } }, 'settings["a.*"].timeoutMS', "timeoutMs"],
  ["a view", (options) => make().view(options), { inclde: ["a"] }, "inclde", "include"],
  ["a toolset", (options) => make().toolset(options), { inclde: ["a"] }, "inclde", "include"],
  [
    "a run's policy",
    (options) => make().toolset(options),
    { policy: { maxTotalToolCals: 1 } },
    "policy.maxTotalToolCals",
    "maxTotalToolCalls",
  ],
  ["a connector", (options) => make().addConnector(url, options), { namspace: "a" }, "namspace", "namespace"],
  [
    "a ready connector",
    (options) => make().addConnector(new FakeConnector({}), options),
    { maxAttempt: 1 },
    "maxAttempt",
    "maxAttempts",
  ],
  ["an HTTP target", (target) => make().addConnector(target), { url, header: {} }, "header", "headers"],
  ["a child process", (target) => make().addConnector(target), { command: "x", arg: [] }, "arg", "args"],
  ["no target", (target) => make().addConnector(target), { comand: "x" }, "comand", "command"],
  ["an MCP connector", (options) => mcpConnector(url, options), { heders: {} }, "heders", "headers"],
  ["one in memory", (options) => inMemoryConnector(() => undefined, options), { labl: "x" }, "labl", "label"],
  ["oauth", oauth, { redirctPort: 1 }, "redirctPort", "redirectPort"],
  ["its client", oauth, { client: { ...client, secrt: "s" } }, "client.secrt", "secret"],
  ["client credentials", clientCredentials, { client, scpe: "a" }, "scpe", "scope"],
  ["a call", (options) => withTool().call("hello", {}, options), { timoutMs: 5 }, "timoutMs", "timeoutMs"],
  ["a call of a view", (options) => withTool().view({}).call("hello", {}, options), { sesion: 1 }, "sesion", "session"],
  ["a read", (options) => make().read("memo:a", options), { signl: 1 }, "signl", "signal"],
  ["a render", (options) => make().render("a", {}, options), { coerc: true }, "coerc", "coerce"],
  ["a subscribe", (options) => make().subscribe("memo:a", options), { signl: 1 }, "signl", "signal"],
  ["a lookup", (options) => make().lookup("a", options), { kinds: "tool" }, "kinds", "kind"],
  ["a list", (options) => make().list(options), { limt: 1 }, "limt", "limit"],
  ["run", (options) => make().run(options), { signl: 1 }, "signl", "signal"],
  ["events", (options) => make().events(options), { limt: 1 }, "limt", "limit"],
  ["explain", (options) => make().explain("a", options), { tolset: 1 }, "tolset", "toolset"],
  ["ready", (options) => make().addConnector(url).ready(options), { signl: 1 }, "signl", "signal"],
  ["a list of approvals", (options) => make().approvals.list(options), { stats: "pending" }, "stats", "status"],
  ["a decision", (options) => make().approvals.resolve("a", options), { approved: true, reson: "" }, "reson", "reason"],
  ["wait", (options) => make().approvals.wait("a", options), { signl: 1 }, "signl", "signal"],
  ["user.get", (options) => stored().user.get("a", options), { versin: 1 }, "versin", "version"],
  ["user.putPrompt", (options) => stored().user.putPrompt("", options), { nme: "a" }, "nme", "name"],
  ["user.import", (options) => stored().user.import("/x", options), { prun: true }, "prun", "prune"],
  ["begin", async (options) => (await make().toolset()).begin(options), { dpth: 1 }, "dpth", "depth"],
  ["an adapter", async (options) => toAnthropic(await make().toolset(), options), { rn: 1 }, "rn", "run"],
  [
    "OpenAI's",
    async (options) => toOpenAI(await make().toolset(), options),
    { api: "chat", strct: 1 },
    "strct",
    "strict",
  ],
  ["resume", (options) => agent().resume("a", options), { wat: true }, "wat", "wait"],
  ["forget", (options) => agent().forget("a", options), { reson: "" }, "reson", "reason"],
  ["resource.text", (options) => resource.text("a", "b", options), { titel: "" }, "titel", "title"],
  ["resource.read", (options) => resource.read("/x", options), { mediatype: "" }, "mediatype", "mediaType"],
  ["parsePrompt", (options) => parsePrompt("", options), { partial: {} }, "partial", "partials"],
  ["readPrompt", (options) => readPrompt("/x", options), { limit: {} }, "limit", "limits"],
  ["memoryStore", memoryStore, { keepVersion: 1 }, "keepVersion", "keepVersions"],
  ["sqliteStore", sqliteStore, { file: ":memory:", keepVersion: 1 }, "keepVersion", "keepVersions"],
];

describe("a slip in the name of an option", () => {
  for (const [what, use, options, path, meant] of slips) {
    verifies("Z2", `of ${what} is refused, with the one that was meant`, async () => {
      const error = await problem(() => use(given(options)));
      expect([error.code, error.details]).toEqual(["INVALID_CONFIG", { path }]);
      expect(error.message).toContain(`Did you mean "${meant}"?`);
      expect(error.message).not.toContain("s3cret");
    });
  }

  test("names all there are where none is near", async () => {
    const error = await problem(() => make().view(given({ deny: ["a"], include: undefined })));
    expect(error.message).toBe('There is no option "deny" of a view. There are include, exclude, principal.');
  });

  test("is none in an object of a class, which may keep what it needs", async () => {
    class Audit {
      readonly asked: unknown[] = [];
      decide(request: unknown) {
        this.asked.push(request);
        return true;
      }
    }
    const policy = new Audit();
    const toolkit = make({ policy, items: [defineTool({ name: "hello", run: () => "hi" })] });
    await toolkit.call("hello");
    expect(policy.asked).toHaveLength(1);
  });

  test("is none where the value is undefined, and the entries other clients share may say more", async () => {
    const toolkit = make({ polcy: undefined });
    toolkit.view(given({ inclde: undefined }));
    await toolkit.toolset(given({ inclde: undefined }));
    toolkit.addConnector(given({ url, header: undefined }), given({ namspace: undefined, lazy: true }));
    const entry = { url: `${url}/2`, description: "more" };
    expect(toolkit.addConnectors({ mcpServers: { more: entry } }, { lazy: true })).toHaveLength(1);
  });
});

describe("a value of the wrong type", () => {
  const shown: readonly (readonly [use: () => unknown, message: string])[] = [
    [() => make({ timeoutMs: "5" }), 'timeoutMs must be a number above 0, and is "5".'],
    [() => make({ timeoutMs: Number.NaN }), "timeoutMs must be a number above 0, and is NaN."],
    [() => make({ use: "x" }), 'use must be a list of functions, and is "x".'],
    [
      () => make({ policy: { block: "a.*" } }),
      'policy.block must be a list of names, refs or globs, none of them empty, and is "a.*".',
    ],
    [() => make({ settings: { a: { timeoutMs: "5" } } }), 'and is "5".'],
    [
      () => make().addConnector(url, given({ pollMs: "5" })),
      'pollMs of a connector must be a number above 0, and is "5".',
    ],
    [() => make().addConnector(url, given({ maxListSize: "5" })), 'a whole number from 1, and is "5".'],
    [() => make().list({ limit: Number.NaN }), "and is NaN."],
    [() => make().toolset(given({ maxTokens: "5" })), 'and is "5".'],
    [() => make().toolset(given({ policy: { toolChoice: "None" } })), '"auto", "required" or "none", and is "None".'],
    [() => make().toolset(given({ policy: { maxTotalToolCalls: "1" } })), 'a whole number from 0, and is "1".'],
    [() => oauth(given({ redirectPort: "80" })), 'redirectPort must be a port, and is "80".'],
  ];
  for (const [use, message] of shown) {
    verifies("Z2", `is shown as it is: ${message}`, async () => {
      expect((await problem(use)).message).toContain(message);
    });
  }
});

describe("what is no options at all", () => {
  const uses: readonly (readonly [what: string, use: () => unknown, code: string])[] = [
    ["new Toolkit(null)", () => make(null), "INVALID_CONFIG"],
    ["view()", () => make().view(given(undefined)), "INVALID_CONFIG"],
    ["view({ include: text })", () => make().view(given({ include: "g" })), "INVALID_CONFIG"],
    ["view({ exclude: [number] })", () => make().view(given({ exclude: [1] })), "INVALID_CONFIG"],
    ["toolset({ include: text })", () => make().toolset(given({ include: "g" })), "INVALID_CONFIG"],
    ["toolset(null)", () => make().toolset(given(null)), "INVALID_CONFIG"],
    ["addConnector(url, null)", () => make().addConnector(url, given(null)), "INVALID_CONFIG"],
    ["oauth(null)", () => oauth(given(null)), "INVALID_CONFIG"],
    ["execute([null])", async () => (await make().toolset()).begin().execute(given([null])), "INVALID_INPUT"],
    ["execute(undefined)", async () => (await make().toolset()).begin().execute(given(undefined)), "INVALID_INPUT"],
    ["execute([{}])", async () => (await make().toolset()).begin().execute(given([{ id: "1" }])), "INVALID_INPUT"],
    ["readPrompts()", () => readPrompts(given(undefined)), "INVALID_INPUT"],
    ["readPrompt(5)", () => readPrompt(given(5)), "INVALID_INPUT"],
  ];
  for (const [what, use, code] of uses) {
    verifies("Z2", `${what} is ${code}`, async () => {
      expect((await problem(use)).code).toBe(code);
    });
  }

  for (const options of [null, { signal: 5 }]) {
    verifies("Z2", `run(${JSON.stringify(options)}) is INVALID_INPUT and closes nothing`, async () => {
      const toolkit = make({ items: [defineTool({ name: "hello", run: () => "hi" })] });
      expect((await problem(() => toolkit.run(given(options)))).code).toBe("INVALID_INPUT");
      expect(await (await toolkit.call("hello")).text()).toBe("hi");
    });
  }
});
