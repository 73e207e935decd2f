import type { MediaEgress } from "../core/egress.ts";
import { ToolkitError } from "../core/error.ts";
import type { Resource } from "../core/resource.ts";
import { abortable } from "../lib/promise.ts";
import { resourceHandle } from "../resource/handle.ts";
import { readLocation } from "../resource/read.ts";
import type { RenderedPiece } from "./template/rendering.ts";

/** The files that one rendering fetches: a prompt of 300 bytes could show gigabytes otherwise, and ask a server thousands of times. */
const maxFetched = 100;
const maxFetchedBytes = 32 * 1024 * 1024;

type Media = Extract<RenderedPiece, { url: string }>;

/** The files that the `{{media}}` of one rendering show. */
export class PromptMedia {
  readonly #prompt: string;
  readonly #egress: MediaEgress;
  #fetched = 0;
  #bytes = 0;
  /** One is read after the other, so that all together have no more than they may. */
  #reading: Promise<unknown> = Promise.resolve();

  constructor(prompt: string, egress: MediaEgress) {
    this.#prompt = prompt;
    this.#egress = egress;
  }

  /**
   * The file of a `{{media}}`, which is read when its bytes are asked for.
   *
   * @throws ToolkitError `INVALID_INPUT` for what is no `data:`, `http:` or `https:` URL, and for an http(s) URL from the input, unless the toolkit
   *   fetches these; `LIMIT_EXCEEDED` for more files than are fetched
   */
  resource({ url, mediaType, isWritten }: Media): Resource {
    const isData = /^data:/i.test(url);
    const message = `The prompt "${this.#prompt}" shows the file ${JSON.stringify(url.length > 60 ? `${url.slice(0, 60)}...` : url)}`;
    if (!/^(?:data:|https?:\/\/)/i.test(url) || !URL.canParse(url)) {
      const remedy = "Pass such a URL, or give the file as an attachment.";
      throw unusable(
        `${message}, which is no data:, http: or https: URL. ${remedy}`,
        "must hold a data:, http: or https: URL",
      );
    }
    if (!isData && !isWritten && !this.#egress.mediaFromInput) {
      const remedy = "Pass a data: URL or an attachment, or set egress: { mediaFromInput: true } of the toolkit.";
      throw unusable(`${message}, a URL from the input, which is not fetched. ${remedy}`, "must hold a data: URL");
    }
    if (!isData && ++this.#fetched > maxFetched)
      throw this.#exceeded("media files", maxFetched, `more than ${maxFetched} files`);
    const read = isData
      ? async (signal: AbortSignal | undefined) =>
          await (await readLocation(new URL(url), { signal, egress: this.#egress.policy })).bytes()
      : this.#reader(new URL(url));
    return resourceHandle({
      name: this.#prompt,
      uri: url,
      mediaType: mediaType ?? /^data:([^;,]+)/i.exec(url)?.[1],
      bytes: ({ signal }) => read(signal),
    });
  }

  /** Reads a file in its turn. Read again, it counts once. */
  #reader(url: URL): (signal: AbortSignal | undefined) => Promise<Uint8Array> {
    let counted = 0;
    const read = async (signal: AbortSignal | undefined) => {
      const maxBytes = maxFetchedBytes - this.#bytes + counted;
      const content = await readLocation(url, { signal, egress: this.#egress.policy, maxBytes }).catch((error) => {
        throw ToolkitError.is(error, "LIMIT_EXCEEDED")
          ? this.#exceeded("media bytes", maxFetchedBytes, `files of more than ${maxFetchedBytes} bytes together`)
          : error;
      });
      const bytes = await content.bytes();
      const size = Math.max(counted, bytes.length);
      this.#bytes += size - counted;
      counted = size;
      return bytes;
    };
    return async (signal) => {
      const turn = this.#reading;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#reading = turn.then(() => promise);
      try {
        await abortable(turn, signal);
        return await read(signal);
      } finally {
        resolve();
      }
    };
  }

  #exceeded(limit: string, max: number, what: string): ToolkitError<"LIMIT_EXCEEDED"> {
    const remedy = "Show fewer or smaller ones, or pass them as attachments.";
    return new ToolkitError("LIMIT_EXCEEDED", `The prompt "${this.#prompt}" fetches ${what}. ${remedy}`, {
      limit,
      max,
    });
  }
}

function unusable(message: string, wanted: string): ToolkitError<"INVALID_INPUT"> {
  return new ToolkitError("INVALID_INPUT", message, { issues: [{ pointer: "", message: `${wanted} for {{media}}` }] });
}
