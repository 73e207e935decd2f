import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { parse } from "yaml";
import type { Tool } from "../../../src/core/item.ts";
import type { ToolkitOptions } from "../../../src/core/toolkit-options.ts";
import { Toolkit, ToolkitError } from "../../../src/index.ts";
import type { LoadedManifest } from "../../../src/manifest/manifest-loader.ts";
import { folderWith, loadManifest } from "../manifest-fixture.ts";
import { type DocumentServer, serveDocument } from "./document-server.ts";
import { madeValue, variants } from "./made-value.ts";

/** A document as it is parsed. */
export type WrittenDocument = Record<string, unknown>;

const folder = join(import.meta.dirname, "..", "..", "fixtures", "openapi");

/** The folder of the documents that are written here. */
export const documentFolder = folder;

/** A document that is written here: of 3.0 and YAML, or of 3.1 and JSON. */
export async function writtenDocument(name: "library-3.0.yaml" | "station-3.1.json"): Promise<WrittenDocument> {
  return parse(await readFile(join(folder, name), "utf8"));
}

/** A document of many operations, which share their schemas. */
export function generatedDocument(count: number): WrittenDocument {
  const schemas = Object.fromEntries(
    Array.from({ length: 100 }, (_, at) => [
      `Thing${at}`,
      {
        type: "object",
        required: ["id", "name"],
        properties: {
          id: { type: "integer", readOnly: true },
          name: { type: "string", description: `The name of thing ${at}.`, minLength: 1 },
          parent: { $ref: `#/components/schemas/Thing${at - (at % 10)}` },
          others: { type: "array", items: { $ref: `#/components/schemas/Thing${at - (at % 10) + ((at + 1) % 10)}` } },
        },
      },
    ]),
  );
  const paths = Object.fromEntries(
    Array.from({ length: count / 2 }, (_, at) => {
      const schema = { $ref: `#/components/schemas/Thing${at % 100}` };
      const answer = { 200: { description: "It", content: { "application/json": { schema } } } };
      const id = { name: "id", in: "path", required: true, schema: { type: "integer" } };
      const body = { required: true, content: { "application/json": { schema } } };
      return [
        `/things/${at}/{id}`,
        {
          parameters: [id],
          get: { operationId: `things/get-${at}`, tags: [`group${at % 10}`], responses: answer },
          put: { operationId: `things/put-${at}`, tags: [`group${at % 10}`], requestBody: body, responses: answer },
        },
      ];
    }),
  );
  return {
    openapi: "3.0.3",
    info: { title: "Things", version: "1" },
    servers: [{ url: "/" }],
    paths,
    components: { schemas },
  };
}

/** A document that is a file beside its manifest, loaded. */
export async function loadDocument(
  document: unknown,
  spec: object = {},
  parts: Parameters<typeof loadManifest>[1] = {},
): Promise<LoadedManifest> {
  const folder = await folderWith({ "a.json": JSON.stringify(document) });
  const all = { document: "a.json", server: "http://service.invalid", ...spec };
  return loadManifest(JSON.stringify({ kind: "OpenAPI", spec: all }), { folder, ...parts });
}

/** Its tools. */
export async function toolsOf(...given: Parameters<typeof loadDocument>): Promise<readonly Tool[]> {
  return (await loadDocument(...given)).tools;
}

/** The tool of a name. */
export function named(tools: readonly Tool[], name: string): Tool {
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) throw new Error(`There is no ${name} among ${tools.map((each) => each.name).join(", ")}.`);
  return tool;
}

/** A toolkit with tools in the namespace `api`, until the test is over. */
export async function toolkitWith(tools: readonly Tool[], options?: ToolkitOptions): Promise<Toolkit> {
  const toolkit = new Toolkit(options);
  onTestFinished(() => toolkit.close());
  toolkit.addSource("api", { immutable: true, tool: () => tools });
  await toolkit.start();
  return toolkit;
}

/** A service that is made from a document, until the test is over. */
export async function served(document: WrittenDocument, base?: string): Promise<DocumentServer> {
  const server = await serveDocument(document, base);
  onTestFinished(() => server.close());
  return server;
}

/** Calls every tool once, with an input that is made from its schema. @returns the errors, by tool */
export async function callEach(toolkit: Toolkit, tools: readonly Tool[]): Promise<Readonly<Record<string, string>>> {
  const errors: Record<string, string> = {};
  for (const tool of tools) {
    const error = await callWithMade(toolkit, tool);
    if (error !== undefined) errors[tool.name] = error.message;
  }
  return errors;
}

async function callWithMade(toolkit: Toolkit, { name, input }: Tool, variant = 0): Promise<Error | undefined> {
  try {
    await toolkit.call(`api.${name}`, madeValue(input, input, variant));
    return undefined;
  } catch (error) {
    // That one does not fit is a mistake of the maker of values.
    const isOther = !ToolkitError.is(error, "INVALID_INPUT") || variant === variants;
    return isOther ? (error as Error) : callWithMade(toolkit, { name, input } as Tool, variant + 1);
  }
}
