import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished } from "vitest";
import { Toolkit } from "../../../src/index.ts";
import { registerWith } from "../../../src/manifest/mount-manifests.ts";
import { failure } from "../../support/failure.ts";
import { serve } from "../../support/serve.ts";
import { verifies } from "../../support/verifies.ts";
import { folderWith, loadManifest } from "../manifest-fixture.ts";
import { documentFolder, served, toolkitWith, toolsOf, writtenDocument } from "./openapi-fixture.ts";

const operation = { responses: { 200: { description: "" } } };

function documentOf(paths: object, more: object = {}): Record<string, unknown> {
  return { openapi: "3.0.3", info: {}, paths, ...more };
}

/** The error of a manifest with files beside it, or the first that it reports. */
async function mistakeOf(files: Record<string, string>, spec: object): Promise<Error & { readonly details?: unknown }> {
  const folder = await folderWith(files);
  const loading = loadManifest(JSON.stringify({ kind: "OpenAPI", spec }), { folder });
  const [problem] = await loading.then(
    ({ problems }) => problems,
    () => [],
  );
  return problem ?? failure(loading);
}

describe("the document of a manifest", () => {
  verifies("W1", "is a file beside it, in YAML or JSON, or stands in it", async () => {
    const files = {
      "library.yaml": await readFile(join(documentFolder, "library-3.0.yaml"), "utf8"),
      "station.json": await readFile(join(documentFolder, "station-3.1.json"), "utf8"),
    };
    const folder = await folderWith(files);
    const load = (document: unknown, server = "http://a.invalid") =>
      loadManifest(JSON.stringify({ kind: "OpenAPI", spec: { document, server } }), { folder });
    const [library, station] = [await load("library.yaml"), await load("station.json")];
    expect(library.tools).toHaveLength((await toolsOf(await writtenDocument("library-3.0.yaml"))).length);
    expect(station.tools).toHaveLength((await toolsOf(await writtenDocument("station-3.1.json"))).length);
    expect([...library.files]).toEqual([join(folder, "library.yaml")]);
    expect((await load(documentOf({ "/a": { get: operation } }))).tools.map(({ name }) => name)).toEqual(["get_a"]);
  });

  verifies("W1", "is fetched from a URL, whose origin is the service where its servers are relative", async () => {
    const document = documentOf(
      { "/a": { get: { ...operation, responses: { 200: { description: "", content: { "text/plain": {} } } } } } },
      { servers: [{ url: "/base/" }] },
    );
    const asked: unknown[] = [];
    const origin = await serve((request, response) => {
      asked.push(request.url);
      const isDocument = request.url === "/openapi.json";
      response.writeHead(200, { "content-type": isDocument ? "application/json" : "text/plain" });
      response.end(isDocument ? JSON.stringify(document) : "answered");
    });
    const text = JSON.stringify({ kind: "OpenAPI", spec: { document: "${ORIGIN}/openapi.json" } });
    const { tools } = await loadManifest(text, { env: { ORIGIN: origin } });
    const toolkit = await toolkitWith(tools);
    expect(await (await toolkit.call("api.get_a")).text()).toBe("answered");
    expect(asked).toEqual(["/openapi.json", "/base/a"]);
  });

  verifies("W1", "says where its mistakes are: file, line and column, and the pointer", async () => {
    const json = JSON.stringify(
      documentOf({ "/a": { get: operation }, "/b": { parameters: 3, get: operation } }),
      null,
      1,
    );
    const server = "http://a.invalid";
    const lines = json.split("\n");
    const line = lines.findIndex((each) => each.includes('"parameters": 3')) + 1;
    const inJson = await mistakeOf({ "a.json": json }, { document: "a.json", server });
    expect(inJson.message).toBe(`a.json:${line}:4: parameters must be a list (at /paths/~1b/parameters).`);
    expect(inJson.details).toMatchObject({ file: "a.json", line, column: 4 });
    const yaml = "openapi: 3.0.0\ninfo: {}\npaths:\n  /a/{id}:\n    get: { responses: {} }\n";
    expect((await mistakeOf({ "a.yaml": yaml }, { document: "a.yaml", server })).message).toMatch(
      /^a\.yaml:5:5: The path "\/a\/\{id\}" has \{id\}, and there is no parameter of that name in the path \(at \/paths\/~1a~1\{id\}\/get\)\.$/,
    );
    const inline = await mistakeOf(
      {},
      { document: documentOf({ "/a": { get: { ...operation, requestBody: { $ref: "b.json#/x" } } } }), server },
    );
    expect(inline.message).toMatch(
      /^tool\.yaml:1:\d+: The reference "b\.json#\/x" leads out of the document, and nothing is fetched/,
    );
    expect(
      (await mistakeOf({ "a.json": '{"openapi":"3.0.0",\n"paths":{,}}' }, { document: "a.json" })).message,
    ).toMatch(/^a\.json:2:/);
  });

  verifies("W1", "is refused with the reason where it is no OpenAPI 3.0 or 3.1", async () => {
    const reason = async (document: object) =>
      (await toolsOf(document).catch((error: Error) => error.message)) as string;
    expect(await reason({ swagger: "2.0", paths: {} })).toContain("Swagger 2.0: convert it to OpenAPI 3 first");
    expect(await reason({ openapi: "4.0.0", paths: {} })).toContain(
      'is of version "4.0.0": OpenAPI 3.0 and 3.1 are read',
    );
    expect(await reason({ a: 1 })).toContain("has no field openapi");
    expect(await reason({ openapi: "3.0.0" })).toContain("has no paths");
    expect(await reason({ openapi: "3.1.0", paths: [] })).toContain("paths must be an object");
  });

  verifies("W1", "loses by a mistake in one operation that one alone, and the mistake is reported", async () => {
    const broken = { ...operation, parameters: [{ in: "query" }] };
    const more = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`/more${at}`, { get: broken }]));
    const document = documentOf({ "/a": { get: operation }, "/b": { $ref: "b.yaml" }, ...more });
    const folder = await folderWith({ "a.json": JSON.stringify(document) });
    await writeFile(
      join(folder, "api.yaml"),
      "kind: OpenAPI\nmetadata: { namespace: api }\nspec: { document: a.json, server: 'http://a.invalid' }\n",
    );
    const toolkit = new Toolkit();
    onTestFinished(() => toolkit.close());
    const manifests = registerWith(toolkit, { paths: [folder] });
    onTestFinished(() => manifests[Symbol.asyncDispose]());
    await toolkit.start();
    const { entries, failures } = await toolkit.list({ kind: "tool" });
    expect(entries.map(({ ref }) => ref)).toEqual(["api.get_a"]);
    const messages = failures.map(({ error }) => error.message);
    expect(messages).toHaveLength(11);
    expect(messages[0]).toMatch(/a\.json:1:\d+: The reference "b\.yaml" leads out of the document/);
    expect(messages[1]).toMatch(/A parameter needs a name \(at \/paths\/~1more0\/get\/parameters\/0\/name\)\.$/);
    expect(messages[10]).toContain("11 more operations of the document have mistakes.");
  });

  verifies(
    "W1",
    "has its server from the manifest, the operation, the path or the document, with variables",
    async () => {
      const asked: unknown[] = [];
      const origin = await serve((request, response) => {
        asked.push(request.url);
        response.end();
      });
      const region = { default: "eu", enum: ["eu", "us"] };
      const document = documentOf(
        {
          "/a": { get: { ...operation, servers: [{ url: `${origin}/operation` }] } },
          "/b": { servers: [{ url: `${origin}/path/` }], get: operation },
          "/c": { get: operation },
        },
        { servers: [{ url: `${origin}/{region}/{v}`, variables: { region, v: { default: "1" } } }] },
      );
      const where = async (spec: object) => {
        asked.length = 0;
        const tools = await toolsOf(document, { server: undefined, ...spec });
        const toolkit = await toolkitWith(tools);
        for (const { name } of tools) await toolkit.call(`api.${name}`, {});
        return asked;
      };
      expect(await where({})).toEqual(["/operation/a", "/path/b", "/eu/1/c"]);
      expect(await where({ server_variables: { region: "us" } })).toEqual(["/operation/a", "/path/b", "/us/1/c"]);
      expect(await where({ server: `${origin}/own/` })).toEqual(["/own/a", "/own/b", "/own/c"]);
      const wrong = { server: undefined, server_variables: { region: "mars" }, include: { paths: ["/c"] } };
      expect((await failure(toolsOf(document, wrong))).message).toMatch(
        /region of the server must be one of eu, us, and is "mars"/,
      );
    },
  );
});

describe("the credentials of a manifest", () => {
  verifies(
    "W1",
    "are sent as the schemes of the document say, for operations that need them, and no model gives them",
    async () => {
      const document = await writtenDocument("library-3.0.yaml");
      const server = await served(document, "/v1");
      const spec = {
        server: `${server.origin}/v1`,
        headers: { "X-Own": "${OWN}" },
        include: { operations: ["books/list", "notes/add", "members/join"] },
      };
      const call = async (auth: object) => {
        server.requests.length = 0;
        const tools = await toolsOf(document, { ...spec, auth }, { env: { OWN: "own", TOKEN: "t-1" } });
        const toolkit = await toolkitWith(tools);
        await toolkit.call("api.books_list", {});
        await toolkit.call("api.notes_add", { body: "text" });
        await toolkit.call("api.members_join", { body: { name: "A" } });
        return server.requests.map(({ headers, query }) => [
          headers.authorization,
          headers.cookie,
          query.get("api_key"),
          headers["x-own"],
        ]);
      };
      expect(await call({ token: "${TOKEN}" })).toEqual([
        ["Bearer t-1", undefined, null, "own"],
        ["Bearer t-1", undefined, null, "own"],
        [undefined, undefined, null, "own"],
      ]);
      expect(await call({ session: "s", key: "k &" })).toEqual([
        [undefined, "session=s", "k &", "own"],
        [undefined, undefined, null, "own"],
        [undefined, undefined, null, "own"],
      ]);
      expect(server.refusals).toEqual([]);
    },
  );

  verifies(
    "W1",
    "are refused where the document has no such scheme, and a variable that is not set is named",
    async () => {
      const document = documentOf(
        { "/a": { get: operation } },
        {
          components: {
            securitySchemes: {
              token: { type: "http", scheme: "bearer" },
              login: { type: "http", scheme: "basic" },
              digest: { type: "http", scheme: "digest" },
            },
          },
        },
      );
      const reason = (auth: object) => toolsOf(document, { auth }).catch((error: Error) => error.message);
      expect(await reason({ tokn: "a" })).toContain(
        'no security scheme "tokn", for which spec.auth has a credential. Did you mean "token"?',
      );
      expect(await reason({ login: "a" })).toContain("spec.auth.login must be { username, password }");
      expect(await reason({ digest: "a" })).toContain("is none that is supported");
      expect(await reason({ token: "${NOT_SET}" })).toMatch(
        /^tool\.yaml:1:\d+: auth\.token needs the environment variable NOT_SET, which is not set/,
      );
    },
  );

  verifies("W1", "are sent to each operation where the document says of none which it needs", async () => {
    const document = documentOf(
      {
        "/a": {
          get: {
            ...operation,
            parameters: [{ name: "X-Key", in: "header", required: true, schema: { type: "string" } }],
          },
        },
      },
      { components: { securitySchemes: { key: { type: "apiKey", in: "header", name: "x-key" } } } },
    );
    const server = await served(document);
    const tools = await toolsOf(document, { server: server.origin, auth: { key: "k" } });
    expect(tools[0]?.input).toMatchObject({ properties: {} });
    await (await toolkitWith(tools)).call("api.get_a", {});
    expect(server.requests[0]?.headers["x-key"]).toBe("k");
  });
});
