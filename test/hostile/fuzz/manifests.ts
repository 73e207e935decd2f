import { readDefinition } from "../../../src/core/definition.ts";
import { ManifestLoader } from "../../../src/manifest/manifest-loader.ts";
import type { ManifestExecutor } from "../../../src/manifest/manifest-port.ts";
import { modes } from "../../../src/manifest/modes.ts";
import { contextOf } from "../../prompt/support.ts";
import type { Random } from "../../support/random.ts";

const kinds = ["kind: Tool", "kind: [Tool]", "kind: Tol", "kind: ''", "kind: &a Tool", "Kind: Tool", "kind: OpenAPI"];
const metadata = [
  "metadata: { name: a }",
  "metadata: { name: __proto__ }",
  "metadata: { namespace: builtin }",
  "metadata: { name: a, labels: { a: b } }",
  "metadata: []",
  "metadata: { name: a, namespace: '' }",
];
const fields = [
  "mode: mock",
  "mode: exec",
  "mode: client",
  "mode: mcp",
  "mode: constructor",
  "name: a b",
  "description: d",
  "input_schema: { $ref: '#' }",
  "input_schema: { type: object, properties: { a: { pattern: '(a+)+$' } } }",
  "output_schema: { type: object, properties: { a: { type: string } } }",
  "mock_result: { __proto__: { a: 1 } }",
  "mock_result: *a",
  "mock_result: &a { a: *a }",
  "mock_template: '{{.a}}{{range .xs}}{{.}}{{end}}'",
  "mock_template: '{{#each xs}}{{#each @root.xs}}{{a}}{{/each}}{{/each}}'",
  'mock_template: \'{{define "x"}}{{template "x"}}{{end}}\'',
  "mock_result_file: ../../etc/passwd",
  "mock_result_file: /dev/zero",
  "mock_recordings: .",
  "mock_parts: [{ type: text, text: '{{' }]",
  "mock_parts: [{ type: image, media: { mime_type: x, url: 'file:///etc/passwd' } }]",
  "exec: { command: '', args: ['{{a}}'] }",
  "exec: { command: x, env: ['${A}', __proto__] }",
  "exec: { command: x, sandbox: constructor }",
  "http: { url: 'http://{{.a}}/' }",
  "client: { consent: { required: true, decline_strategy: toString } }",
  "mcp: { tool: a.b, defaults: { a: *b } }",
  "labels: { a: 1 }",
  "timeout_ms: 1e999",
  "timeout_ms: -1",
  "annotations: { readOnlyHint: 'yes' }",
  "<<: { mode: mock }",
  "? [a, b] : c",
  "!!js/function x: 1",
];
const odd = [
  "\n",
  " ",
  "\t",
  "- ",
  ": ",
  "{",
  "}",
  "[",
  "]",
  "'",
  '"',
  "&a ",
  "*a ",
  "|\n",
  "\u0000",
  "\u2028",
  "#",
  "ä",
];

/** Manifests of up to 300 KiB in every order of their parts: loaded, and the tools that come of them called. */
export const manifestFuzz = {
  name: "manifests",
  *cases(random: Random): Iterable<{ readonly describe: string; readonly run: () => Promise<unknown> }> {
    const below = (end: number) => Math.floor(random() * end);
    const pick = <T>(list: readonly T[]) => list[below(list.length)] as T;
    const some = (list: readonly string[], most: number) => Array.from({ length: 1 + below(most) }, () => pick(list));
    const repeated = (piece: string) => piece.repeat(Math.ceil(2 ** below(18) / Math.max(1, piece.length)));
    const spec = () =>
      some(fields, 6)
        .map((field) => `  ${field}`)
        .join("\n");
    const makers: readonly (() => readonly [what: string, text: string])[] = [
      () => ["manifest", `${pick(kinds)}\n${pick(metadata)}\nspec:\n${spec()}\n`],
      () => [
        "long manifest",
        `${pick(kinds)}\n${pick(metadata)}\nspec:\n${spec()}\n  mock_result: ${repeated(pick(odd))}\n`,
      ],
      () => [
        "template",
        `kind: Tool\nmetadata: { name: a }\nspec:\n  mock_template: |\n    ${repeated(some(["{{a}}", "{{.a}}", "{{#each xs}}", "{{/each}}", "{{if .a}}", "{{end}}", "}", "{"], 4).join(""))}\n`,
      ],
      () => ["nesting", `kind: Tool\nmetadata: { name: a }\nspec: { mock_result: ${repeated(pick(["[", "{a: "]))}`],
      () => [
        "aliases",
        `a: &a [x]\n${Array.from({ length: below(40) }, (_, at) => `b${at}: &b${at} [*a, *a]`).join("\n")}\nkind: Tool\nspec: {}\n`,
      ],
      () => ["JSON", JSON.stringify({ name: "a", description: repeated(pick(odd)), mode: pick(["mock", "x"]) })],
      () => ["text", repeated(some([...odd, ...fields, ...kinds], 4).join(""))],
    ];
    const loader = new ManifestLoader({ env: {}, executors, sandboxes: {}, clients: {} });
    const xs = Array.from({ length: 2 ** below(14) }, (_, at) => at);
    for (;;) {
      const [what, text] = pick(makers)();
      const describe = `${what} of ${text.length} characters: ${JSON.stringify(text.slice(0, 200))}`;
      yield { describe, run: () => attack(loader, text, { a: "a", xs }) };
    }
  },
};

async function attack(loader: ManifestLoader, text: string, input: object): Promise<void> {
  const written = { text, file: "a.yaml", folder: undefined };
  const { tools, close } = await loader.load(written, new AbortController().signal);
  try {
    for (const tool of tools) {
      readDefinition(tool, "local");
      await tool.run(input, contextOf());
    }
  } finally {
    await close();
  }
}

/** Each mode makes its tool, and that of none but `mock` runs: no program is started, and no one is asked. */
const executors = Object.fromEntries(
  Object.entries(modes).map(([name, execute]): [string, ManifestExecutor] => [
    name,
    async (manifest, context) => {
      const made = await execute(manifest, context);
      return name === "mock" ? made : { ...made, run: () => null };
    },
  ]),
);
