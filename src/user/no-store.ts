import { ToolkitError } from "../core/error.ts";
import type { UserNamespace } from "../core/user.ts";

/** The namespace `user` of a toolkit that was given no store. */
export function noUser(assertOpen: () => void): UserNamespace {
  const refuse = (operation: string) => async (): Promise<never> => {
    assertOpen();
    const message = `Nothing keeps the namespace user, so user.${operation} does nothing. Give the toolkit a store, such as new Toolkit({ store: memoryStore() }).`;
    throw new ToolkitError("NO_STORE", message, { operation });
  };
  return {
    putPrompt: refuse("putPrompt"),
    putResource: refuse("putResource"),
    get: refuse("get"),
    history: refuse("history"),
    restore: refuse("restore"),
    remove: refuse("remove"),
    export: refuse("export"),
    import: refuse("import"),
  };
}
