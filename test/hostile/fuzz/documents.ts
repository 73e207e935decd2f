import { setImmediate as nextTurn } from "node:timers/promises";
import { readDefinition } from "../../../src/core/definition.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import type { ManifestContext } from "../../../src/manifest/manifest-port.ts";
import { toolsOfDocument } from "../../../src/manifest/openapi/openapi-manifest.ts";
import { parseManifest } from "../../../src/manifest/parse-manifest.ts";
import type { Random } from "../../support/random.ts";

type Value = unknown;

const keys =
  "openapi paths components schemas parameters responses requestBody requestBodies content schema $ref properties items allOf anyOf oneOf discriminator mapping propertyName required type nullable enum example examples readOnly writeOnly additionalProperties servers url variables default security securitySchemes operationId tags get put post delete head options name in style explode encoding description summary deprecated 200 201 2XX default application/json multipart/form-data application/x-www-form-urlencoded text/plain /a /a/{id} /../b //c A B C pattern exclusiveMinimum minimum __proto__ constructor $id $defs $anchor".split(
    " ",
  );
const texts =
  "#/components/schemas/A #/components/schemas/B #/components/schemas/C #/paths/~1a/get #/components/responses/A #/components/parameters/A # #a a.json#/x object array string integer null path query header cookie form deepObject matrix simple (a+)+$ \u200b \ud800 3.0.0 3.1.0 {id} http://127.0.0.1 //x a true".split(
    " ",
  );

/** OpenAPI documents of up to 256 KiB: whole ones, some of whose parts are others, and some that are written short. */
export const documentFuzz = {
  name: "documents",
  *cases(random: Random): Iterable<{ readonly describe: string; readonly run: () => Promise<unknown> }> {
    const below = (end: number) => Math.floor(random() * end);
    const pick = <T>(list: readonly T[]) => list[below(list.length)] as T;
    const odd = (depth: number): Value => {
      const kind = below(depth > 0 ? 8 : 5);
      if (kind < 2) return pick(texts);
      if (kind < 5) return pick<Value>([null, 1, -1, true, "", 1e308, [], {}, "x".repeat(2 ** below(14))]);
      if (kind === 5) return Array.from({ length: below(5) }, () => odd(depth - 1));
      return Object.fromEntries(Array.from({ length: below(6) }, () => [pick(keys), odd(depth - 1)]));
    };
    const reference = () => ({ $ref: `#/components/schemas/${pick(["A", "B", "C", "D"])}` });
    const schema = (depth: number): Value =>
      pick<() => Value>([
        reference,
        () => ({ type: pick(["string", "integer", "number"]), nullable: true, minimum: 1, exclusiveMinimum: true }),
        () => ({
          [pick(["allOf", "anyOf", "oneOf"])]: Array.from({ length: 1 + below(20) }, () =>
            depth > 0 ? schema(depth - 1) : reference(),
          ),
        }),
        () => ({
          type: "object",
          properties: Object.fromEntries(
            Array.from({ length: 2 ** below(depth > 0 ? 5 : 9) }, (_, at) => [
              `p${at}`,
              depth > 0 ? schema(depth - 1) : reference(),
            ]),
          ),
        }),
        () => ({
          oneOf: [reference(), reference()],
          discriminator: { propertyName: "a", mapping: { b: "#/components/schemas/A" } },
        }),
        () => odd(3),
      ])();
    const operation = (): Value => ({
      operationId: pick(["a", "b/c", "x".repeat(below(200)), undefined]),
      parameters: Array.from({ length: below(6) }, (_, at) => ({
        name: pick(["id", `q${at}`, pick(texts)]),
        in: pick(["path", "query", "header", "cookie"]),
        style: pick([undefined, "form", "deepObject", "matrix"]),
        schema: schema(1),
      })),
      requestBody: pick<Value>([
        undefined,
        { content: { [pick(keys)]: { schema: schema(2) } } },
        { $ref: "#/components/requestBodies/A" },
      ]),
      responses: { [pick(["200", "2XX", "default"])]: { content: { "application/json": { schema: schema(2) } } } },
      servers: pick<Value>([undefined, [{ url: pick(texts) }]]),
    });
    const document = (): Record<string, Value> => ({
      openapi: pick(["3.0.3", "3.1.0"]),
      paths: Object.fromEntries(
        Array.from({ length: 2 ** below(7) }, (_, at) => [
          pick([`/p${at}`, `/p${at}/{id}`, pick(texts)]),
          { [pick(["get", "post", "put"])]: operation() },
        ]),
      ),
      components: {
        schemas: { A: schema(3), B: schema(2), C: schema(3), D: schema(1) },
        requestBodies: { A: { content: { "application/json": { schema: schema(2) } } } },
        securitySchemes: odd(3),
      },
      security: pick<Value>([undefined, odd(2)]),
    });
    /** Puts something else into a place of a value. */
    const changed = (value: Value): Value => {
      if (typeof value !== "object" || value === null || below(8) === 0) return odd(4);
      if (Array.isArray(value)) return value.map((each) => (below(3) === 0 ? changed(each) : each));
      const all = Object.entries(value);
      const at = below(all.length);
      return Object.fromEntries(all.map(([key, each], index) => [key, index === at ? changed(each) : each]));
    };
    for (;;) {
      const made = document();
      const written = pick<() => Value>([() => made, () => changed(changed(made)), () => odd(8)])();
      const json = JSON.stringify(written) ?? "";
      const text = pick([
        json,
        json,
        json.slice(0, below(json.length)),
        `${json.slice(0, 50)}${pick(texts)}${json.slice(50)}`,
      ]).slice(0, 256 * 1_024);
      yield { describe: `${text.length} characters: ${JSON.stringify(text.slice(0, 100))}`, run: () => attack(text) };
    }
  },
};

async function attack(text: string): Promise<void> {
  let first: unknown;
  const signal = new AbortController().signal;
  const spec = { server: "http://a.invalid", document: "a.json" };
  const manifest = parseManifest({ text: JSON.stringify({ kind: "OpenAPI", spec }), file: undefined });
  const context: ManifestContext = {
    env: {},
    clock: systemClock,
    folder: undefined,
    signal,
    sandboxes: {},
    clients: {},
    expand: (_, written) => written,
    readFile: async () => Buffer.from(text),
    listFolder: async () => [],
    resolveFolder: (_, folder) => folder,
    report: (problem) => {
      first ??= problem;
    },
    onClose: () => undefined,
  };
  for (const tool of await toolsOfDocument({ ...manifest, spec }, context)) {
    await nextTurn();
    try {
      readDefinition(tool, "local");
    } catch (error) {
      first ??= error;
    }
  }
  // It must be a ToolkitError.
  if (first !== undefined) throw first;
}
