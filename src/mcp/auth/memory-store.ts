import type { StoredAuthorization, TokenStore } from "./store.ts";
import { Turns } from "./turns.ts";

/** Keeps tokens as long as the process lives: after a restart a person has to authorize again. */
export function memoryTokenStore(): TokenStore {
  const kept = new Map<string, StoredAuthorization>();
  const turns = new Turns();
  return {
    read: async (key) => kept.get(key),
    write: async (key, authorization) => {
      if (authorization === undefined) kept.delete(key);
      else kept.set(key, authorization);
    },
    exclusively: (key, run) => turns.take(key, run),
  };
}
