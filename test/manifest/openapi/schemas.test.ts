import { describe, expect } from "vitest";
import { verifies } from "../../support/verifies.ts";
import { named, toolsOf, writtenDocument } from "./openapi-fixture.ts";

/** The schema of the body of the one operation of a document, as it is sent and as it is answered. */
async function bodies(
  schema: object,
  { version = "3.0.3", schemas = {}, spec = {} }: { version?: string; schemas?: object; spec?: object } = {},
) {
  const content = { "application/json": { schema } };
  const operation = { operationId: "a", requestBody: { content }, responses: { 200: { description: "", content } } };
  const document = { openapi: version, info: {}, paths: { "/a": { post: operation } }, components: { schemas } };
  const tool = named(await toolsOf(document, spec), "a");
  const { properties, $defs } = tool.input as { properties: { body: object }; $defs?: object };
  return { sent: properties.body, sentDefs: $defs, answered: tool.output as Record<string, unknown> };
}

describe("the schemas of a document", () => {
  verifies("W1", "of 3.0 become JSON Schema 2020-12", async () => {
    const { answered } = await bodies(
      {
        type: "object",
        xml: { name: "a" },
        externalDocs: {},
        "x-own": 1,
        properties: {
          a: { type: "string", nullable: true },
          b: { type: "string", enum: ["x"], nullable: true },
          c: { type: "integer", minimum: 1, exclusiveMinimum: true, maximum: 5, exclusiveMaximum: false },
          d: { nullable: true, allOf: [{ $ref: "#/components/schemas/D" }], description: "D" },
          e: { type: "file", required: true, minLength: -1 },
          f: { $ref: "#/components/schemas/D", type: "string", description: "Beside" },
          g: { type: "string", pattern: "(?<!" },
        },
      },
      { schemas: { D: { type: "object", properties: { d: { $ref: "#/components/schemas/D" } } } } },
    );
    expect(answered).toEqual({
      type: "object",
      properties: {
        a: { type: ["string", "null"] },
        b: { type: ["string", "null"], enum: ["x", null] },
        c: { type: "integer", exclusiveMinimum: 1, maximum: 5 },
        d: { description: "D", anyOf: [{ allOf: [{ $ref: "#/$defs/D" }] }, { type: "null" }] },
        e: {},
        f: { $ref: "#/$defs/D", description: "Beside" },
        g: { type: "string", description: "Pattern: (?<!" },
      },
      $defs: { D: { type: "object", properties: { d: { $ref: "#/$defs/D" } } } },
    });
  });

  verifies("W1", "of 3.1 keep their words, and references to any place of the document", async () => {
    const tools = await toolsOf(await writtenDocument("station-3.1.json"));
    const { $defs, properties } = named(tools, "tree").input as { $defs: Record<string, object>; properties: object };
    const [name = ""] = Object.keys($defs).filter((each) => each.startsWith("schema."));
    expect(properties).toEqual({ body: { $ref: `#/$defs/${name}` } });
    expect($defs[name]).toMatchObject({ unevaluatedProperties: false, properties: { kind: { const: "tree" } } });
    expect($defs.Tree).not.toHaveProperty("$id");
    expect(Object.keys($defs)).toEqual([expect.stringMatching(/^Meta\./), "Tree", name]);
    expect(named(tools, "tuple").input).toMatchObject({
      properties: { body: { prefixItems: [{ exclusiveMinimum: 0 }, { minimum: 1, maximum: 500 }], items: false } },
    });
  });

  verifies(
    "W1",
    "leave out of what is sent the properties that are read only, and require of neither side the other's",
    async () => {
      const schema = {
        allOf: [
          { $ref: "#/components/schemas/Base" },
          { type: "object", required: ["id", "name", "pin"], properties: { name: { type: "string" } } },
        ],
      };
      const schemas = {
        Base: {
          type: "object",
          required: ["id", "pin"],
          properties: { id: { $ref: "#/components/schemas/Id" }, pin: { type: "string", writeOnly: true } },
        },
        Id: { type: "integer", readOnly: true },
      };
      const { sent, sentDefs, answered } = await bodies(schema, { schemas });
      expect(sentDefs).toEqual({
        Base: { type: "object", required: ["pin"], properties: { pin: { type: "string" } } },
      });
      expect(sent).toMatchObject({ allOf: [{ $ref: "#/$defs/Base" }, { required: ["name", "pin"] }] });
      expect(answered.$defs).toMatchObject({ Base: { required: ["id"] } });
      expect(answered).toMatchObject({ allOf: [{}, { required: ["id", "name"] }] });
    },
  );

  verifies("W1", "say in each branch by which value a discriminator chooses it", async () => {
    const { sent } = await bodies(
      {
        oneOf: [
          { $ref: "#/components/schemas/Cat" },
          { $ref: "#/components/schemas/Dog" },
          { $ref: "#/components/schemas/Own" },
        ],
        discriminator: { propertyName: "kind", mapping: { tom: "#/components/schemas/Cat", kitty: "Cat" } },
      },
      {
        schemas: {
          Cat: { type: "object", properties: { lives: { type: "integer" } } },
          Dog: { type: "object", properties: { good: { type: "boolean" } } },
          Own: { type: "object", properties: { kind: { type: "string", enum: ["o"] } } },
        },
      },
    );
    expect(sent).toEqual({
      oneOf: [
        { $ref: "#/$defs/Cat", properties: { kind: { enum: ["tom", "kitty"] } }, required: ["kind"] },
        { $ref: "#/$defs/Dog", properties: { kind: { enum: ["Dog"] } }, required: ["kind"] },
        { $ref: "#/$defs/Own" },
      ],
    });
  });

  verifies("W1", "hold under $defs what a tool needs, and nothing else", async () => {
    const schemas = Object.fromEntries(
      ["A", "B", "C", "D"].map((name, at, all) => [
        name,
        {
          type: "object",
          properties: { next: { $ref: `#/components/schemas/${all[at === 1 ? 0 : at + 1] ?? "D"}` } },
        },
      ]),
    );
    const { answered } = await bodies({ $ref: "#/components/schemas/A" }, { schemas });
    expect(answered).toMatchObject({ $ref: "#/$defs/A" });
    expect(Object.keys(answered.$defs as object)).toEqual(["A", "B"]);
  });

  verifies("W1", "of answers are left out where the manifest says so, and say nothing of what is masked", async () => {
    const schema = { type: "object", properties: { a: { type: "integer" }, token: { type: "integer" } } };
    expect((await bodies(schema, { spec: { output_schemas: false } })).answered).toBeUndefined();
    const { answered, sent } = await bodies(schema, { spec: { redact: ["tok*"] } });
    expect(answered).toMatchObject({ properties: { a: { type: "integer" }, token: {} } });
    expect(sent).toMatchObject({ properties: { token: { type: "integer" } } });
  });

  verifies("W1", "of several answers are one, and there is none where an answer is no JSON", async () => {
    const library = await toolsOf(await writtenDocument("library-3.0.yaml"));
    expect(named(library, "members_join").output).toMatchObject({
      anyOf: [{ $ref: "#/$defs/Member" }, { required: ["ticket"] }],
    });
    expect(named(library, "books_delete").output).toBeUndefined();
    expect(named(library, "styles").output).toBeUndefined();
  });
});
