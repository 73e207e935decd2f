import type { RequestId } from "../../rpc/message.ts";
import type { Caller } from "../transport.ts";

/** A request on its way, and the answer to it, or to the request that resumes it, once that begins. */
export class Post {
  readonly abort = new AbortController();
  response: Response | undefined;
  readonly caller: Caller | undefined;

  constructor(caller: Caller | undefined) {
    this.caller = caller;
  }

  /** The answer that `fetch` kept. */
  takeResponse(): Response {
    const { response } = this;
    this.response = undefined;
    if (response === undefined) throw new Error("the SDK asked for nothing");
    return response;
  }
}

/** The id of the request a body holds, where it begins as we write it. */
export function requestIdOf(body: RequestInit["body"]): RequestId | undefined {
  const match = typeof body === "string" ? /^\{"jsonrpc":"2\.0","id":(?:(\d+)|"([^"]*)"),"method"/.exec(body) : null;
  return match === null ? undefined : match[1] === undefined ? match[2] : Number(match[1]);
}

/** The id of the request a body is about: that it holds, or that it cancels. */
export function subjectOf(body: RequestInit["body"]): RequestId | undefined {
  const id = requestIdOf(body);
  if (id !== undefined || typeof body !== "string") return id;
  const match = /^\{"jsonrpc":"2\.0","method":"notifications\/cancelled","params":\{"requestId":(\d+)/.exec(body);
  return match === null ? undefined : Number(match[1]);
}
