import type { Connection } from "../../src/core/connection.ts";
import type { Offers, SoakServer } from "./server.ts";

/** The items that a server offers, as its connection lists them. */
function known(connection: Connection): Offers {
  return {
    tools: connection
      .list("tool")
      .map(({ name }) => name)
      .sort(),
    prompts: connection
      .list("prompt")
      .map(({ name }) => name)
      .sort(),
    resources: connection
      .list("resource")
      .map(({ item }) => item.uri)
      .sort(),
  };
}

/** Holds catalogues against what their servers offer. */
export class Catalogues {
  readonly #first = new Map<SoakServer, Offers>();

  /** A server that cannot tell what it offers is held to what it offered when all was well. */
  remember(server: SoakServer, connection: Connection): void {
    this.#first.set(server, known(connection));
  }

  /** In what they differ; undefined where they do not. */
  difference(server: SoakServer, connection: Connection): string | undefined {
    const wanted = server.offers() ?? this.#first.get(server);
    const found = known(connection);
    if (JSON.stringify(found) === JSON.stringify(wanted)) {
      const drifted = connection.list("tool").some(({ item }) => JSON.stringify(item.input)?.includes('"drift"'));
      return drifted ? "a tool still has the schema it had for a while" : undefined;
    }
    return `the catalogue is ${JSON.stringify(found)}, and the server offers ${JSON.stringify(wanted)}`;
  }
}
