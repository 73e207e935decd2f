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
      message: 'tool.yaml:9:9: The tool get_weather has the mode "mocked", which nothing executes. Did you mean mock?',
      details: { file: "tool.yaml", line: 9, column: 9 },
    });
    const two = weather.replace("description: Get weather information", "description: 7\n  titel: x");
    expect(await failure(loadManifest(two))).toMatchObject({ details: { line: 8, column: 16 } });
  });
});
