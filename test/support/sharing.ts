import type { Store } from "../../src/core/store.ts";

/** A store as one of several toolkits has it that share it in one process: to close it leaves it to the others. */
export function sharing(store: Store): Store {
  const stays = async () => undefined;
  return {
    open: store.open.bind(store),
    get: store.get.bind(store),
    list: store.list.bind(store),
    ...(store.count && { count: store.count.bind(store) }),
    put: store.put.bind(store),
    delete: store.delete.bind(store),
    history: store.history.bind(store),
    watch: store.watch.bind(store),
    bus: store.bus && { ...store.bus },
    close: stays,
    [Symbol.asyncDispose]: stays,
  };
}
