import { describe, expect } from "vitest";
import type { Tool } from "../../../src/core/item.ts";
import { failure } from "../../support/failure.ts";
import { serve } from "../../support/serve.ts";
import { verifies } from "../../support/verifies.ts";
import { named, toolkitWith, toolsOf, writtenDocument } from "./openapi-fixture.ts";

const answers = { 200: { description: "It" } };

function documentOf(paths: object, more: object = {}): object {
  return { openapi: "3.0.3", info: { title: "A", version: "1" }, paths, ...more };
}

const namesOf = (tools: readonly Tool[]) => tools.map(({ name }) => name);

describe("the operations of a document", () => {
  verifies("W1", "have names that models take, which no other operation changes", async () => {
    const document = documentOf({
      "/a": { get: { operationId: "list", responses: answers }, put: { operationId: "a/b c", responses: answers } },
      "/b": { get: { operationId: "list", responses: answers }, put: { operationId: "a_b_c", responses: answers } },
      "/c/{id}/d.json": { delete: { parameters: [{ name: "id", in: "path", required: true }], responses: answers } },
      "/d": { get: { operationId: `long-${"x".repeat(100)}`, responses: answers } },
      "/e": {
        get: { operationId: "123", responses: answers },
        put: { operationId: "submit_output", responses: answers },
      },
      "/f": { get: { operationId: "größe", responses: answers } },
    });
    const all = namesOf(await toolsOf(document));
    expect(new Set(all).size).toBe(all.length);
    for (const name of all) expect(name).toMatch(/^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/);
    expect(all).toEqual(expect.arrayContaining(["a_b_c", "delete_c_id_d_json", "op_123", "gr_e"]));
    expect(all).not.toContain("list");
    expect(all).not.toContain("submit_output");
    for (const path of ["/a", "/b", "/d"]) {
      const some = namesOf(await toolsOf(document, { include: { paths: [path] } }));
      expect(all).toEqual(expect.arrayContaining(some));
    }
  });

  verifies("W1", "say why they refuse, without the key in the path of their server", async () => {
    const origin = await serve(({ url }, response) => {
      response.writeHead(404, { "content-type": "application/json" }).end(JSON.stringify({ path: url, said: "no a" }));
    });
    const document = documentOf({ "/a": { get: { operationId: "a", responses: answers } } });
    const tools = await toolsOf(document, { server: `${origin}/bot\${KEY}` }, { env: { KEY: "plain-key" } });
    const { message } = await failure((await toolkitWith(tools)).call("api.a", {}));
    expect(message).toBe(`GET ${origin} answered 404 Not Found. It said: {"path":"/bot***/a","said":"no a"}`);
  });

  verifies("W1", "are included and excluded by operationId, tag, path and method", async () => {
    const document = await writtenDocument("library-3.0.yaml");
    const chosen = async (choice: object) => namesOf(await toolsOf(document, choice));
    expect(await chosen({ include: { operations: ["members/*"] } })).toEqual(["members_join", "members_photo"]);
    expect(await chosen({ include: { tags: ["files"] } })).toEqual([
      "get_books_id_cover",
      "put_books_id_cover",
      "members_photo",
    ]);
    expect(await chosen({ include: { tags: ["books"], methods: ["get"] } })).toEqual(["books_list", "books_get"]);
    expect(
      await chosen({ include: { paths: ["/books/*"] }, exclude: { methods: ["put"], operations: ["*delete"] } }),
    ).toEqual(["books_get", expect.stringMatching(/^books_get_\w{8}$/), "get_books_id_cover"]);
    expect(
      await chosen({ exclude: { paths: ["*"], tags: ["none"] }, include: { paths: ["/notes"] } }).catch(
        (error) => error.message,
      ),
    ).toMatch(/^tool\.yaml:1:\d+: No operation of the document becomes a tool\. Look at spec\.include/);
  });

  verifies(
    "W1",
    "say what a caller must know: pages, forms of bodies and answers, that they are deprecated",
    async () => {
      const tools = await toolsOf(await writtenDocument("library-3.0.yaml"));
      const said = (name: string) => named(tools, name).description;
      expect(said("books_list")).toBe(
        "Lists books\n\nLists the books of the library, the newest first.\n\nAnswers in pages: go on with `page`, `per_page`.",
      );
      expect(said("books_replace")).toBe(
        "PUT /books/{id}\n\nDeprecated: use it only where nothing else does. Sends application/json (the service takes application/xml too).",
      );
      expect(said("get_books_id_cover")).toBe("GET /books/{id}/cover\n\nAnswers image/png.");
      expect(said("members_photo")).toContain("Sends multipart/form-data.");
      expect(named(tools, "books_list").title).toBe("Lists books");
    },
  );

  verifies("W1", "have the hints of their methods", async () => {
    const tools = await toolsOf(await writtenDocument("library-3.0.yaml"));
    const hints = (name: string) => named(tools, name).annotations;
    expect(hints("books_list")).toMatchObject({ readOnlyHint: true, idempotentHint: true });
    expect(hints("books_delete")).toEqual({ destructiveHint: true, idempotentHint: true, openWorldHint: true });
    expect(hints("books_create")).toEqual({ openWorldHint: true });
    expect(named(tools, "books_list").options).toMatchObject({ retry: { onlyUnsent: false } });
    expect(named(tools, "books_create").options).toMatchObject({ retry: { onlyUnsent: true } });
  });

  verifies(
    "W1",
    "have one input: parameters by name, and the body; of two with one name one has its place added",
    async () => {
      const library = await toolsOf(await writtenDocument("library-3.0.yaml"));
      expect(named(library, "books_get").input).toMatchObject({
        properties: {
          id: { type: "string" },
          id_query: { type: "integer", description: "A version of the book. Sent as the query parameter id." },
        },
        required: ["id"],
        additionalProperties: false,
      });
      const station = await toolsOf(await writtenDocument("station-3.1.json"));
      expect(named(station, "readings_add").input).toMatchObject({
        properties: {
          body: { $ref: "#/$defs/Reading" },
          body_query: { description: "Sent as the query parameter body." },
        },
        required: ["Idempotency-Key", "body"],
      });
      expect(named(station, "readings_query").input).toMatchObject({
        properties: { body: { type: "string" }, select: { description: "Sent as the query parameter $select." } },
      });
    },
  );

  verifies("W1", "carry the labels of the manifest", async () => {
    const document = documentOf({ "/a": { get: { responses: answers } } });
    const [tool] = await toolsOf(document, { labels: { team: "a" } });
    expect(tool?.options).toMatchObject({ labels: { team: "a" } });
  });
});
