import { crc32, deflateSync, inflateSync } from "node:zlib";

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** The most colours of a picture: those of text with its smoothed edges, of which a page has few. */
const maxColors = 32;
/** Colours nearer than this are one. */
const minDistance = 8 ** 2;

/** The same picture with a palette of its most frequent colours: pictures of pages are a fifth of their size then. */
export function smallPng(png: Buffer): Buffer {
  const { width, height, pixels } = decoded(png);
  const counts = new Map<number, number>();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const palette = paletteOf(counts);
  const indexes = new Map([...counts.keys()].map((color) => [color, nearest(color, palette)]));
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) rows[y * (width + 1) + 1 + x] = indexes.get(pixels[y * width + x] ?? 0) ?? 0;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const colors = Buffer.from(palette.flatMap(channelsOf));
  const parts = [chunk("IHDR", header), chunk("PLTE", colors), chunk("IDAT", deflateSync(rows, { level: 9 }))];
  return Buffer.concat([signature, ...parts, chunk("IEND", Buffer.alloc(0))]);
}

interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Red, green and blue in one number. */
  readonly pixels: Uint32Array;
}

/** Reads a picture of 8 bits a channel that is not interlaced, as browsers write them. */
function decoded(png: Buffer): Pixels {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const channels = png[25] === 6 ? 4 : 3;
  const data: Buffer[] = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") data.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const bytes = unfiltered(inflateSync(Buffer.concat(data)), width * channels, height, channels);
  const pixels = new Uint32Array(width * height);
  for (let at = 0; at < pixels.length; at += 1) pixels[at] = bytes.readUIntBE(at * channels, 3);
  return { width, height, pixels };
}

/** Undoes the filters of the rows (PNG, section 9). */
function unfiltered(rows: Buffer, stride: number, height: number, step: number): Buffer {
  const bytes = Buffer.alloc(stride * height);
  const byteAt = (x: number, y: number) => (x < 0 || y < 0 ? 0 : (bytes[y * stride + x] ?? 0));
  for (let y = 0; y < height; y += 1) {
    const filter = rows[y * (stride + 1)];
    for (let x = 0; x < stride; x += 1) {
      const [left, up, corner] = [byteAt(x - step, y), byteAt(x, y - 1), x < step ? 0 : byteAt(x - step, y - 1)];
      const guesses = [0, left, up, (left + up) >> 1, paeth(left, up, corner)];
      bytes[y * stride + x] = (rows[y * (stride + 1) + 1 + x] ?? 0) + (guesses[filter ?? 0] ?? 0);
    }
  }
  return bytes;
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

const channelsOf = (color: number) => [color >> 16, (color >> 8) & 255, color & 255];

/** The most frequent colours, without those that look like one before. */
function paletteOf(counts: ReadonlyMap<number, number>): readonly number[] {
  const palette: number[] = [];
  for (const [color] of [...counts].sort(([, one], [, other]) => other - one)) {
    if (palette.length === maxColors) break;
    if (palette.every((each) => distance(each, color) >= minDistance)) palette.push(color);
  }
  return palette;
}

function nearest(color: number, palette: readonly number[]): number {
  const distances = palette.map((each) => distance(each, color));
  return distances.indexOf(Math.min(...distances));
}

/** The square of the distance of two colours. */
function distance(one: number, other: number): number {
  const channels = channelsOf(other);
  return channelsOf(one).reduce((sum, value, at) => sum + (value - (channels[at] ?? 0)) ** 2, 0);
}

function chunk(type: string, data: Uint8Array): Buffer {
  const frame = Buffer.alloc(data.length + 12);
  frame.writeUInt32BE(data.length);
  frame.write(type, 4, "latin1");
  frame.set(data, 8);
  frame.writeUInt32BE(crc32(frame.subarray(4, data.length + 8)), data.length + 8);
  return frame;
}
