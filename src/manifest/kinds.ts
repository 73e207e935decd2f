import { z } from "zod";
import type { ManifestKind } from "./manifest-port.ts";
import { manifestSchema } from "./manifest-schema.ts";
import { toolKind } from "./tool-kind.ts";

/** The kinds of manifests, by the value of `kind`. */
export function kindsWith(executors: Parameters<typeof toolKind>[0]): Readonly<Record<string, ManifestKind>> {
  return { Tool: toolKind(executors) };
}

/** The JSON Schema of a manifest of any kind, for editors. */
export function manifestEditorSchema(): object {
  const forms = Object.entries(kindsWith({})).map(([kind, { spec }]) =>
    manifestSchema.extend({ kind: z.literal(kind), spec }),
  );
  const { $schema, ...schema } = z.toJSONSchema(z.union(forms), { io: "input" });
  return { $schema, title: "A manifest of Toolweave", ...schema };
}
