import { z } from "zod";
import type { ManifestKind } from "./manifest-port.ts";
import { manifestSchema } from "./manifest-schema.ts";
import { openApiSpec } from "./openapi/openapi-spec.ts";
import { toolKind } from "./tool-kind.ts";

/** A document of OpenAPI becomes many tools. The code for it is loaded with the first one. */
const openApiKind: ManifestKind<typeof openApiSpec> = {
  spec: openApiSpec,
  tools: async (manifest, context) =>
    (await import("./openapi/openapi-manifest.ts")).toolsOfDocument(manifest, context),
};

/** The kinds of manifests, by the value of `kind`. */
export function kindsWith(executors: Parameters<typeof toolKind>[0]): Readonly<Record<string, ManifestKind>> {
  return { Tool: toolKind(executors), OpenAPI: openApiKind };
}

/** The JSON Schema of a manifest of any kind, for editors. */
export function manifestEditorSchema(): object {
  const forms = Object.entries(kindsWith({})).map(([kind, { spec }]) =>
    manifestSchema.extend({ kind: z.literal(kind), spec }),
  );
  const { $schema, ...schema } = z.toJSONSchema(z.union(forms), { io: "input" });
  return { $schema, title: "A manifest of Toolweave", ...schema };
}
