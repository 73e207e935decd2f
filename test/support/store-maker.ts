import type { Store } from "../../src/core/store.ts";

/** The way in which another process makes a store: as JSON on its command line. */
export interface StoreMaker {
  /** The URL of the module, and what of it makes the store from which options. */
  readonly module: string;
  readonly maker: string;
  readonly options: unknown;
}

export async function makeStore({ module, maker, options }: StoreMaker): Promise<Store> {
  return (await import(module))[maker](options);
}
