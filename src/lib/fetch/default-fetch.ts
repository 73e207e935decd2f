let loaded: typeof globalThis.fetch | undefined;

/** What sends the requests of a connector that says nothing of it: one `nodeFetch` for all of them. Loaded when it is needed. */
export const defaultFetch: typeof globalThis.fetch = (input, init) => loaded?.(input, init) ?? loadedFetch(input, init);

const loadedFetch: typeof globalThis.fetch = async (input, init) => {
  const { nodeFetch } = await import("./node-fetch.ts");
  loaded ??= nodeFetch();
  return loaded(input, init);
};
