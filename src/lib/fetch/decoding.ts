import { pipeline, type Transform } from "node:stream";

type Zlib = typeof import("node:zlib");

/** The content codings that are asked for. */
export const acceptedCodings = "gzip, deflate, br";
const maxCodings = 5;

/** The encoded bytes, and the reader of what they hold. */
export interface EncodedBody {
  pause(): void;
  resume(): void;
  take(chunk: Uint8Array): void;
  /** The bytes are not what they say, or `take` threw. */
  fail(error: unknown): void;
}

/** Undoes the content codings of one body on the way to its reader. */
export class BodyDecoder {
  readonly #codings: readonly string[];
  readonly #body: EncodedBody;
  readonly #ended = Promise.withResolvers<void>();
  #first: Transform | undefined;
  #last: Transform | undefined;

  private constructor(codings: readonly string[], body: EncodedBody) {
    this.#codings = codings;
    this.#body = body;
    // A failure is reported to the body too.
    this.#ended.promise.catch(() => {});
  }

  /** Undefined where a coding is unknown: then the body is passed on as it is. @throws Error for more than five codings */
  static of(header: string, body: EncodedBody): BodyDecoder | undefined {
    const codings = header.split(",").map((coding) => coding.trim().toLowerCase());
    if (codings.length > maxCodings) throw new Error(`the answer is encoded more than ${maxCodings} times`);
    return codings.every((coding) => Object.hasOwn(decoders, coding)) ? new BodyDecoder(codings, body) : undefined;
  }

  write(chunk: Uint8Array): void {
    this.#first ??= this.#begin(chunk);
    if (this.#first.write(chunk)) return;
    this.#body.pause();
    this.#first.once("drain", () => this.#body.resume());
  }

  /** Resolves when all has been passed on. @throws Error as `fail` is given */
  end(): Promise<void> {
    if (this.#first === undefined) return Promise.resolve();
    this.#first.end();
    return this.#ended.promise;
  }

  pause(): void {
    this.#last?.pause();
  }

  resume(): void {
    this.#last?.resume();
  }

  destroy(): void {
    this.#first?.destroy();
    this.#last?.destroy();
  }

  #begin(start: Uint8Array): Transform {
    const zlib = process.getBuiltinModule("node:zlib");
    const chain = this.#codings
      .toReversed()
      .flatMap((coding, at) => decoders[coding]?.(zlib, at === 0 ? start : []) ?? []);
    const [first, last] = [chain[0], chain.at(-1)];
    if (first === undefined || last === undefined) throw new Error("the answer has no coding");
    const fail = (error: unknown) => {
      this.#ended.reject(error);
      this.#body.fail(error);
      this.destroy();
    };
    last.on("error", fail).once("end", this.#ended.resolve);
    last.on("data", (chunk: Uint8Array) => {
      try {
        this.#body.take(chunk);
      } catch (error) {
        fail(error);
      }
    });
    if (chain.length > 1) pipeline(chain, () => {});
    this.#last = last;
    return first;
  }
}

// Bytes are passed on as they come, and a missing end is no error, as browsers have it.
const decoders: Readonly<Record<string, (zlib: Zlib, start: ArrayLike<number>) => Transform>> = {
  gzip: (zlib) => zlib.createGunzip(flushed(zlib)),
  "x-gzip": (zlib) => zlib.createGunzip(flushed(zlib)),
  // Two formats in the wild: with the header of zlib, as it should be, and without. The first byte tells.
  deflate: (zlib, { 0: first = 8 }) =>
    (first & 0x0f) === 8 ? zlib.createInflate(flushed(zlib)) : zlib.createInflateRaw(flushed(zlib)),
  br: (zlib) => {
    const { BROTLI_OPERATION_FLUSH: flush } = zlib.constants;
    return zlib.createBrotliDecompress({ flush, finishFlush: flush });
  },
};

function flushed({ constants: { Z_SYNC_FLUSH } }: Zlib): { readonly flush: number; readonly finishFlush: number } {
  return { flush: Z_SYNC_FLUSH, finishFlush: Z_SYNC_FLUSH };
}
