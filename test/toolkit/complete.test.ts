import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { describe, expect } from "vitest";
import { z } from "zod";
import type { CompleterResult } from "../../src/core/argument-values.ts";
import type { Prompt } from "../../src/core/item.ts";
import type { PolicyRequest } from "../../src/core/policy.ts";
import { inMemoryConnector } from "../../src/mcp/index.ts";
import { parsePrompt } from "../../src/prompt/parse-prompt.ts";
import { defineTemplate } from "../../src/resource/define.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

const cities = ["Basel", "Berlin", "Bern", "Paris"];
const greet: Prompt = {
  kind: "prompt",
  name: "greet",
  input: {
    type: "object",
    properties: {
      city: { type: "string" },
      tone: { enum: ["Formal", "friendly", 3] },
      urgent: { type: "boolean" },
      either: { anyOf: [{ const: "a" }, { $ref: "#/$defs/b" }] },
    },
    $defs: { b: { enum: ["b", "c"] } },
  },
  complete: {
    city: (value, { arguments: { country }, context }) =>
      context.session.principal === "eve" ? [] : cities.filter((city) => city.startsWith(value) && country !== "FR"),
  },
  render: async () => ({ messages: [] }),
};
const many = Array.from({ length: 150 }, (_, at) => `v${at}`);
const tickets = defineTemplate({
  uriTemplate: "ticket:{project}/{id}",
  name: "tickets",
  complete: {
    project: () => many,
    id: async (value, { arguments: { project } }) => ({ values: [`${project}-${value}1`], total: 7 }),
  },
  read: () => "",
});

/** The server of an SDK, which completes arguments of a prompt and variables of a template. */
function server(): McpServer {
  const made = new McpServer({ name: "places", version: "1" });
  const argsSchema = {
    country: z.string(),
    city: completable(z.string(), (value, context) =>
      cities.filter((city) => city.startsWith(value) && (context?.arguments?.country === "CH") === (city !== "Paris")),
    ),
  };
  made.registerPrompt("trip", { argsSchema }, () => ({ messages: [] }));
  const complete = { name: (value: string) => many.filter((each) => each.startsWith(value)) };
  const template = new ResourceTemplate("place:///{name}", { list: undefined, complete });
  made.registerResource("place", template, {}, async (uri) => ({ contents: [{ uri: uri.href, text: "" }] }));
  return made;
}

const connector = (made = server()) => inMemoryConnector((transport) => made.connect(transport));

describe("complete", () => {
  verifies("K4", "an argument of a prompt: by its function, else by the choices of its schema", async () => {
    await using toolkit = new Toolkit({
      items: [greet, parsePrompt("---\nname: note\ninput: { type: string, enum: [one, two] }\n---\n{{this}}")],
    });
    const complete = (argument: string, value: string, more = {}) =>
      toolkit.complete({ ref: "greet", argument, value, ...more });
    expect(await complete("city", "Ber")).toEqual({ values: ["Berlin", "Bern"], total: 2, hasMore: false });
    expect(await complete("city", "", { arguments: { country: "FR" } })).toMatchObject({ values: [] });
    expect(await complete("tone", "f")).toMatchObject({ values: ["Formal", "friendly"] });
    expect(await complete("tone", "")).toMatchObject({ values: ["Formal", "friendly", "3"] });
    expect(await complete("urgent", "t")).toMatchObject({ values: ["true"] });
    expect(await complete("either", "")).toMatchObject({ values: ["a", "b", "c"] });
    expect(await toolkit.complete({ ref: "builtin.note", argument: "input" })).toMatchObject({
      values: ["one", "two"],
    });
    const entry = await toolkit.lookup("greet", { kind: "prompt" });
    expect(await toolkit.complete({ ref: entry, argument: "city", value: "P" })).toMatchObject({ values: ["Paris"] });
    const session = { id: "1", principal: "eve" };
    const none = await toolkit.complete({ ref: "greet", argument: "city", value: "P" }, { session });
    expect(none).toEqual({ values: [], total: 0, hasMore: false });
  });

  verifies("K4", "a variable of a template, at most 100 values", async () => {
    await using toolkit = new Toolkit({ items: [tickets] });
    const { values, ...rest } = await toolkit.complete({ ref: "ticket:{project}/{id}", argument: "project" });
    expect([values.length, values[99], rest]).toEqual([100, "v99", { total: 150, hasMore: true }]);
    const request = { ref: "ticket:{project}/{id}#builtin", argument: "id", value: "4", arguments: { project: "x" } };
    expect(await toolkit.complete(request)).toEqual({ values: ["x-41"], total: 7, hasMore: true });
  });

  verifies("K4", "through an MCP server, by its capability, with what was given before", async () => {
    await using toolkit = new Toolkit();
    toolkit.addConnector(connector(), { namespace: "places" });
    await toolkit.start();
    const trip = (value: string, country: string) =>
      toolkit.complete({ ref: "places.trip", argument: "city", value, arguments: { country } });
    expect(await trip("B", "CH")).toEqual({ values: ["Basel", "Berlin", "Bern"], total: 3, hasMore: false });
    expect(await trip("", "FR")).toMatchObject({ values: ["Paris"] });
    expect(await toolkit.complete({ ref: "places.trip", argument: "country" })).toMatchObject({ values: [] });
    const { values, ...rest } = await toolkit.complete({ ref: "place:///{name}", argument: "name", value: "v" });
    expect([values.length, rest]).toEqual([100, { total: 150, hasMore: true }]);
  });

  verifies("K4", "a server without the capability completes nothing", async () => {
    const plain = new McpServer({ name: "plain", version: "1" });
    plain.registerPrompt("say", { argsSchema: { text: z.string() } }, () => ({ messages: [] }));
    await using toolkit = new Toolkit();
    toolkit.addConnector(connector(plain), { namespace: "plain" });
    await toolkit.start();
    expect(await toolkit.complete({ ref: "plain.say", argument: "text" })).toEqual({
      values: [],
      total: 0,
      hasMore: false,
    });
  });
});

describe("what may not be completed", () => {
  verifies("K4", "rules and decisions hold as for rendering and reading", async () => {
    const asked: Pick<PolicyRequest, "action" | "input">[] = [];
    const decide = ({ action, input, session }: PolicyRequest) => {
      asked.push({ action, input });
      return session.principal !== "eve";
    };
    await using toolkit = new Toolkit({ items: [greet, tickets], policy: { block: ["builtin.hidden"], decide } });
    toolkit.add({ ...greet, name: "hidden" });
    await toolkit.complete({ ref: "greet", argument: "city", value: "P", arguments: { tone: "x" } });
    await toolkit.complete({ ref: "ticket:{project}/{id}", argument: "project" });
    expect(asked).toEqual([
      { action: "render", input: { tone: "x", city: "P" } },
      { action: "read", input: undefined },
    ]);
    const eve = { session: { id: "1", principal: "eve" } };
    for (const ref of ["greet", "ticket:{project}/{id}"]) {
      const argument = ref === "greet" ? "city" : "id";
      expect(await failure(toolkit.complete({ ref, argument }, eve))).toMatchObject({ code: "DENIED" });
    }
    expect(await failure(toolkit.complete({ ref: "hidden", argument: "city" }))).toMatchObject({ code: "DENIED" });
    const view = toolkit.view({ exclude: ["builtin.greet"] });
    expect(await failure(view.complete({ ref: "greet", argument: "city" }))).toMatchObject({ code: "NOT_FOUND" });
  });

  verifies("K4", "what is wrong is said, and a slow completer ends with its time", async () => {
    const odd = (give: () => unknown): Prompt => ({
      ...greet,
      complete: { city: () => give() as CompleterResult },
    });
    const slow = () => new Promise<never>(() => {});
    await using toolkit = new Toolkit({
      items: [{ ...odd(() => 3), name: "odd" }, { ...odd(slow), name: "slow" }, greet, tickets],
      timeoutMs: 50,
    });
    const cases: readonly (readonly [request: object, code: string, message: string])[] = [
      [
        { ref: "greet", argument: "citty" },
        "INVALID_INPUT",
        'builtin.greet has no argument "citty". Did you mean "city"?',
      ],
      [{ ref: "ticket:{project}/{id}", argument: "x" }, "INVALID_INPUT", "There are project, id."],
      [{ ref: "nothing", argument: "x" }, "NOT_FOUND", "nothing"],
      [{ ref: "greet" }, "INVALID_INPUT", "The field argument of complete must be the name of an argument."],
      [{ ref: "greet", argument: "city", value: 3 }, "INVALID_INPUT", "The field value of complete must be text"],
      [
        { ref: "greet", argument: "city", arguments: { a: 1 } },
        "INVALID_INPUT",
        "The field arguments of complete must be texts",
      ],
      [{ ref: "greet", argument: "city", valeu: "" }, "INVALID_CONFIG", "valeu"],
      [
        { ref: "odd", argument: "city" },
        "INVALID_OUTPUT",
        "The completer of city of builtin.odd must give a list of texts",
      ],
      [{ ref: "slow", argument: "city" }, "TIMEOUT", "builtin.slow"],
    ];
    for (const [request, code, message] of cases) {
      const error = await failure(toolkit.complete(request as never));
      expect([error.code, error.message]).toEqual([code, expect.stringContaining(message)]);
    }
  });
});
