import { glob } from "../lib/glob.ts";
import { builtinNamespace } from "./identifier.ts";

const builtinScope = `${builtinNamespace}.`;

/** Whether a ref fits a glob: by itself, or by its bare name where it is that of a builtin tool or prompt. */
export function refGlob(pattern: string): (ref: string) => boolean {
  const fits = glob(pattern);
  return (ref) => fits(ref) || (ref.startsWith(builtinScope) && fits(ref.slice(builtinScope.length)));
}
