import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Toolkit } from "../../src/toolkit/toolkit.ts";
import type { Operation } from "./harness.ts";
import { message } from "./server/tools.ts";

/** The sessions of a service that serves several people. */
const sessions = Array.from({ length: 100 }, (_, at) => ({ id: `session-${at}`, principal: `principal-${at}` }));
let turn = 0;

/** The session of the next of several principals, in turn. */
export function nextSession(): (typeof sessions)[number] | undefined {
  return sessions[turn++ % sessions.length];
}

/** A call as a service makes it: with a signal of its own, for the next of several principals, and its result is read. */
export function ourCallOf(toolkit: Toolkit, ref: string): Operation {
  return async () => {
    const { signal } = new AbortController();
    return (await toolkit.call(ref, message, { signal, session: nextSession() })).json();
  };
}

/** The same with the SDK's client, which knows no principals. */
export function rawCallOf(client: Client): Operation {
  return async () => {
    const { signal } = new AbortController();
    return (await client.callTool({ name: "echo", arguments: message }, undefined, { signal })).structuredContent;
  };
}

/** So many at once. */
export function together(count: number, operation: Operation): Operation {
  return count === 1 ? operation : () => Promise.all(Array.from({ length: count }, operation));
}
