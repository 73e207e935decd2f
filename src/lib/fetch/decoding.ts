import type { IncomingMessage } from "node:http";
import { Transform, type TransformCallback } from "node:stream";
import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";

// What there is of a stream is handed on as it comes, and an end that is missing is no error, as browsers have it.
const zlibFlush = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };
const brotliFlush = { flush: constants.BROTLI_OPERATION_FLUSH, finishFlush: constants.BROTLI_OPERATION_FLUSH };

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip(zlibFlush),
  "x-gzip": () => createGunzip(zlibFlush),
  deflate: () => new Inflate(),
  br: () => createBrotliDecompress(brotliFlush),
};

/** What is asked for. */
export const acceptedCodings = "gzip, deflate, br";
const maxCodings = 5;

/**
 * What undoes the encoding of an answer, in that order; nothing where it is not encoded, or in a way that is not known.
 *
 * @throws Error where it is encoded again and again
 */
export function decodersOf({ headers }: IncomingMessage): readonly Transform[] {
  const header = headers["content-encoding"];
  if (header === undefined) return [];
  const codings = header.split(",").map((coding) => coding.trim().toLowerCase());
  if (codings.length > maxCodings) throw new Error(`the answer is encoded more than ${maxCodings} times`);
  if (!codings.every((coding) => Object.hasOwn(decoders, coding))) return [];
  return codings.reverse().flatMap((coding) => decoders[coding]?.() ?? []);
}

/** `deflate` is two formats in the wild: with the header of zlib, as it should be, and without. The first byte tells. */
class Inflate extends Transform {
  #inner: Transform | undefined;

  override _transform(chunk: Buffer, encoding: BufferEncoding, done: TransformCallback): void {
    this.#inner ??= this.#begin(chunk);
    this.#inner.write(chunk, encoding, done);
  }

  override _flush(done: TransformCallback): void {
    if (this.#inner === undefined) done();
    else this.#inner.once("end", done).end();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#inner?.destroy();
    done(error);
  }

  #begin(chunk: Buffer): Transform {
    const hasHeader = ((chunk[0] ?? 0) & 0x0f) === 8;
    const inner = hasHeader ? createInflate(zlibFlush) : createInflateRaw(zlibFlush);
    inner.on("data", (data) => this.push(data)).on("error", (error) => this.destroy(error));
    return inner;
  }
}
