import { describe, expect } from "vitest";
import { verifies } from "../support/verifies.ts";
import { folderWith, loadManifest, toolkitOf } from "./manifest-fixture.ts";

/** Manifests with every field that PromptKit documents, as its loaders and its schema have them. */
const manifests: Readonly<Record<string, string>> = {
  "a live tool": `
$schema: https://promptkit.altairalabs.ai/schemas/latest/tool.json
apiVersion: promptkit.altairalabs.ai/v1alpha1
kind: Tool
metadata:
  name: get-weather
  namespace: tools
  labels: { team: weather }
  annotations: { owner: someone }
  creationTimestamp: null
spec:
  name: get_weather
  namespace: ""
  description: "Get current weather for a location"
  mode: live
  timeout_ms: 10000
  labels: { tier: gold }
  input_schema:
    type: object
    properties:
      latitude: { type: number, description: Latitude }
      longitude: { type: number }
      token: { type: string }
    required: [latitude, longitude]
  output_schema:
    $schema: http://json-schema.org/draft-07/schema#
    type: object
    properties: { temperature: { type: number } }
  http:
    url: "https://api.example.com/v1/{{.latitude}}/forecast"
    method: GET
    timeout_ms: 5000
    redact: [key]
    headers: { Authorization: "Bearer \${WEATHER_API_KEY}" }
    headers_from_env: ["X-Other=WEATHER_API_KEY", WEATHER_API_KEY]
    request:
      query_params: [latitude, longitude]
      header_params: { X-Token: "{{.token}}" }
      body_mapping: "{place: latitude}"
      exclude: [token]
      static_query: { timezone: auto }
      static_headers: { Accept-Language: en }
      static_body: { version: 2 }
    response:
      body_mapping: "{temperature: current.temperature}"
    multimodal: { enabled: true, accept_types: [image/png] }
`,
  "a mocked tool with parts": `
apiVersion: promptkit.altairalabs.io/v1
kind: Tool
metadata: { name: chart }
spec:
  description: A chart
  mode: mock
  timeout_ms: 0
  input_schema: {}
  output_schema: {}
  mock_result: { ok: true }
  mock_parts:
    - { type: text, text: Sales }
    - type: image
      media: { file_path: chart.png, mime_type: image/png, width: 1, height: 1, caption: Sales, detail: low, size_kb: 1 }
`,
  "a scripted tool": `
apiVersion: promptkit.altairalabs.ai/v1alpha1
kind: Tool
metadata: { name: order }
spec:
  description: An order
  input_schema: { type: object, properties: { order_id: { type: string } } }
  output_schema: { type: object }
  mock_template: |
    {{ if eq .order_id "X" }}{"state": "sent", "items": [{{ range $i, $e := .items }}{{ if $i }},{{ end }}"{{ $e }}"{{ end }}]}{{ else }}{"state": "unknown"}{{ end }}
`,
  "a program": `
apiVersion: promptkit.altairalabs.ai/v1alpha1
kind: Tool
metadata: { name: sentiment_check }
spec:
  description: The mood of a text
  mode: exec
  input_schema: { type: object, properties: { text: { type: string } } }
  output_schema: { type: object }
  exec: { command: python3, args: [./tools/sentiment.py], env: [NLTK_DATA], timeout_ms: 5000, runtime: server }
`,
  "a client tool": `
apiVersion: promptkit.altairalabs.ai/v1alpha1
kind: Tool
metadata: { name: get_location }
spec:
  description: "Get GPS coordinates"
  mode: client
  input_schema: { type: object, properties: { accuracy: { type: string } } }
  output_schema: { type: object, properties: { lat: { type: number } } }
  mock_result: { lat: 37.7749, lon: -122.4194 }
  client:
    timeout_ms: 30000
    categories: [location]
    validate_output: true
    consent: { required: true, message: This app wants your location, decline_strategy: fallback }
`,
  "a tool of a server": `
apiVersion: promptkit.altairalabs.ai/v1alpha1
kind: Tool
metadata: { name: mcp__files__read }
spec: { description: Reads, mode: mcp, input_schema: {}, output_schema: {} }
`,
  "an agent": `
apiVersion: promptkit.altairalabs.ai/v1alpha1
kind: Tool
metadata: { name: ask_agent }
spec:
  description: Asks
  mode: a2a
  input_schema: {}
  output_schema: {}
  a2a:
    agent_url: https://agent.example.com
    skill_id: forecast
    timeout_ms: 1000
    headers: { X-A: b }
    headers_from_env: ["X-B=NLTK_DATA"]
    auth: { scheme: Bearer, token_env: NLTK_DATA }
    retry: { max_retries: 2, initial_delay_ms: 1, max_delay_ms: 2 }
    skill_filter: { allowlist: [forecast], blocklist: [] }
`,
  "a tool of a mode of the program": `
apiVersion: promptkit.altairalabs.ai/v1alpha1
kind: Tool
metadata: { name: local_tool }
spec: { description: Local, mode: local, input_schema: {}, output_schema: {} }
`,
  "a descriptor in JSON": JSON.stringify({
    name: "search",
    description: "Search for information",
    mode: "mock",
    timeout_ms: 5000,
    input_schema: { type: "object" },
    output_schema: { type: "object" },
    mock_result: { found: 1 },
  }),
};
const env = { WEATHER_API_KEY: "key-of-weather", NLTK_DATA: "/data" };
const executors = { local: () => ({ run: () => "local" }), a2a: () => ({ run: () => "agent" }) };

describe("a manifest as PromptKit writes it", () => {
  for (const [what, text] of Object.entries(manifests)) {
    verifies("W1", `loads unchanged: ${what}`, async () => {
      const folder = await folderWith({ "chart.png": new Uint8Array([1]) });
      const { tools } = await loadManifest(text, { folder, env, executors });
      expect(tools).toHaveLength(1);
      expect(tools[0]?.description).toBeTruthy();
    });
  }

  verifies("W1", "keeps its name, its namespace, its limits and its labels", async () => {
    const { tools, namespace } = await loadManifest(manifests["a live tool"] ?? "", { env });
    expect(namespace).toBe("tools");
    expect(tools[0]).toMatchObject({
      name: "get_weather",
      description: "Get current weather for a location",
      options: { timeoutMs: 10_000, labels: { tier: "gold" } },
      annotations: { readOnlyHint: true },
    });
    const { tools: descriptors } = await loadManifest(manifests["a descriptor in JSON"] ?? "");
    expect(descriptors[0]).toMatchObject({ name: "search", options: { timeoutMs: 5_000 } });
    const { tools: charts } = await loadManifest(manifests["a mocked tool with parts"] ?? "", {
      folder: await folderWith({ "chart.png": new Uint8Array([1]) }),
    });
    expect(charts[0]?.options?.timeoutMs).toBeUndefined();
  });

  verifies("W1", "answers as it does there", async () => {
    const call = async (what: string, input: object = {}) => {
      const toolkit = await toolkitOf(manifests[what] ?? "", { env, executors });
      const [entry] = (await toolkit.list({ kind: "tool", namespace: "manifest" })).entries;
      return (await toolkit.call(entry?.ref ?? "", input)).json();
    };
    const order = { order_id: "X", items: ["a", "b"] };
    expect(await call("a scripted tool", order)).toEqual({ state: "sent", items: ["a", "b"] });
    expect(await call("a scripted tool", { order_id: "Y" })).toEqual({ state: "unknown" });
    // The session shows no form: the mocked result takes its place.
    expect(await call("a client tool")).toEqual({ lat: 37.7749, lon: -122.4194 });
    expect(await call("a descriptor in JSON")).toEqual({ found: 1 });
  });
});
