import { once } from "node:events";
import { pipeline, type Readable, type Transform } from "node:stream";

type Zlib = typeof import("node:zlib");

/** The content codings that are asked for. */
export const acceptedCodings = "gzip, deflate, br";
const maxCodings = 5;

/** The codings in a header `Content-Encoding`; none where one of them is unknown: then a body is read as it is. */
export function codingsOf(header: string | undefined): readonly string[] {
  const codings = header?.split(",").map((coding) => coding.trim().toLowerCase()) ?? [];
  return codings.every((coding) => Object.hasOwn(decoders, coding)) ? codings : [];
}

/** A body without its codings. @throws Error for more than five, or an error of the source */
export async function decoded(source: Readable, codings: readonly string[]): Promise<Readable> {
  if (codings.length > maxCodings) throw new Error(`the answer is encoded more than ${maxCodings} times`);
  const zlib = process.getBuiltinModule("node:zlib");
  const isRaw = codings.at(-1) === "deflate" && (await isRawDeflate(source));
  const chain = codings.toReversed().flatMap((coding, at) => decoders[coding]?.(zlib, isRaw && at === 0) ?? []);
  // Its error is that of the last stream.
  pipeline([source, ...chain], () => {});
  return chain.at(-1) ?? source;
}

// Bytes are passed on as they come, and a missing end is no error, as browsers have it.
const decoders: Readonly<Record<string, (zlib: Zlib, isRaw: boolean) => Transform>> = {
  gzip: (zlib) => zlib.createGunzip(flushed(zlib)),
  "x-gzip": (zlib) => zlib.createGunzip(flushed(zlib)),
  deflate: (zlib, isRaw) => (isRaw ? zlib.createInflateRaw(flushed(zlib)) : zlib.createInflate(flushed(zlib))),
  br: (zlib) => {
    const { BROTLI_OPERATION_FLUSH: flush } = zlib.constants;
    return zlib.createBrotliDecompress({ flush, finishFlush: flush });
  },
};

function flushed({ constants: { Z_SYNC_FLUSH } }: Zlib): { readonly flush: number; readonly finishFlush: number } {
  return { flush: Z_SYNC_FLUSH, finishFlush: Z_SYNC_FLUSH };
}

/** `deflate` is two formats in the wild: with the header of zlib, as it should be, and without. The first byte tells them apart. */
async function isRawDeflate(source: Readable): Promise<boolean> {
  if (source.readableLength === 0) await once(source, "readable");
  const start: Uint8Array | null = source.read();
  if (start !== null) source.unshift(start);
  return ((start?.[0] ?? 8) & 0x0f) !== 8;
}
