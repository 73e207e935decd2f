import { defineTool } from "../../src/core/tool.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";

/** A dot, as a picture. */
export const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

const forecast = defineTool({
  name: "forecast",
  description: "Says the weather.",
  input: {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "integer", minimum: 1 } },
    required: ["city"],
    additionalProperties: false,
  },
  run: (input) => ({ asked: input, sun: true }),
});
const search = defineTool({
  name: "search",
  input: {
    type: "object",
    properties: { "filter[id]": { type: "string", format: "uri" }, query: {} },
    anyOf: [{ required: ["filter[id]"] }, { required: ["query"] }],
  },
  run: (input) => JSON.stringify(input),
});
const fail = defineTool({
  name: "fail",
  run: () => {
    throw new Error("out of ink");
  },
});
const nothing = defineTool({ name: "nothing", run: () => undefined });
const picture = defineTool({
  name: "picture",
  async *run() {
    yield "A dot:";
    yield resource.data("dot", Buffer.from(png, "base64"), { mediaType: "image/png" });
    yield resource.data("sound", new Uint8Array([1, 2, 3]), { mediaType: "application/x-sound" });
  },
});

/** A toolkit whose tools give all that an answer may be. */
export function adapterToolkit(): Toolkit {
  return new Toolkit({ items: [forecast, search, fail, nothing, picture] });
}
