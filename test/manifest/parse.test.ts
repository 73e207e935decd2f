import { describe, expect, test } from "vitest";
import { failure } from "../support/failure.ts";
import { loadManifest, toolkitOf } from "./manifest-fixture.ts";

const weather = `
apiVersion: promptkit.altairalabs.ai/v1alpha1
kind: Tool
metadata:
  name: weather-tool
spec:
  name: get_weather
  description: Get weather information
  mode: mock
  input_schema: { type: object, properties: { city: { type: string } }, required: [city] }
  output_schema: { type: object, properties: { degrees: { type: number } } }
  mock_result: { degrees: 21 }
`;

describe("a manifest", () => {
  test("becomes a tool", async () => {
    const toolkit = await toolkitOf(weather);
    expect(await (await toolkit.call("manifest.get_weather", { city: "Bern" })).json()).toEqual({ degrees: 21 });
  });

  test("that is wrong is refused with line and column of each mistake", async () => {
    const text = weather.replace("mode: mock", "mode: mocked");
    expect(await failure(loadManifest(text))).toMatchObject({
      code: "INVALID_MANIFEST",
      message:
        'tool.yaml:9:9: The tool get_weather has the mode "mocked", which nothing executes. Did you mean "mock"?',
      details: { file: "tool.yaml", line: 9, column: 9 },
    });
    const two = weather.replace("description: Get weather information", "description: 7\n  titel: x");
    expect(await failure(loadManifest(two))).toMatchObject({ details: { line: 8, column: 16 } });
  });

  test("whose schemas are none is refused at the place in them", async () => {
    const bad = weather.replace("city: { type: string } }", "city: { type: strin } }");
    expect((await failure(loadManifest(bad))).message).toMatch(
      /^tool\.yaml:10:\d+: The input_schema is no JSON Schema/,
    );
    const list = weather.replace("input_schema: { type: object,", "input_schema: { type: array,");
    expect((await failure(loadManifest(list))).message).toContain('must describe an object (type: "object")');
    expect((await failure(loadManifest(weather.replace("degrees: { type: number }", "degrees: 7")))).message).toMatch(
      /^tool\.yaml:11:\d+: The output_schema is no JSON Schema/,
    );
  });

  test("says each mistake in a line of its own, and a name that is none", async () => {
    const wrong = weather
      .replace("description: Get weather information", "description: 7")
      .replace("mode: mock", "mode: []");
    const lines = (await failure(loadManifest(wrong))).message.split("\n").map((line) => line.trim());
    expect(lines).toEqual([
      "tool.yaml:8:16: description must be a text, and is 7.",
      expect.stringMatching(/^tool\.yaml:9:\d+: mode must be a text, and is a list\.$/),
    ]);
    const named = await failure(loadManifest(weather.replace("name: get_weather", "name: get weather")));
    expect(named.message).toMatch(/^tool\.yaml:7:9: "get weather" is no name for a tool/);
    expect((await failure(loadManifest("apiVersion: v1\nkind: Tool\nspec: {}\n"))).message).toContain("has no name");
  });
});
