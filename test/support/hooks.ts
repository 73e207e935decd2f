import module from "node:module";

type Hooks = Partial<Pick<typeof module, "registerHooks">>;
/** Node 22.15 and later resolve modules by hooks in the same thread. */
export const { registerHooks }: Hooks = module;

/** From now on these packages are not found in this process, as where they are not installed. */
export function hidePackages(hidden: RegExp): void {
  const notFound = { message: "Cannot find package", code: "ERR_MODULE_NOT_FOUND" };
  if (registerHooks === undefined) {
    const resolve = `export async function resolve(specifier, context, next) {
      if (!${hidden}.test(specifier)) return next(specifier, context);
      throw Object.assign(new Error(), ${JSON.stringify(notFound)});
    }`;
    module.register(`data:text/javascript,${encodeURIComponent(resolve)}`);
    return;
  }
  registerHooks({
    resolve(specifier, context, next) {
      if (!hidden.test(specifier)) return next(specifier, context);
      throw Object.assign(new Error(), notFound);
    },
  });
}
