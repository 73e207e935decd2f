import type { ManifestExecutor } from "../manifest-port.ts";

/** The mode `mock`: a result that is written in the manifest. */
export const mock: ManifestExecutor = ({ spec }) => {
  const { mock_result: result = { result: "mock response" } } = spec;
  return { run: () => result, annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false } };
};
