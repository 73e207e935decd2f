import { randomUUID } from "node:crypto";

// What a helper puts into the text to say more than text does. No value can forge it: it is another one in each process.
const mark = `\u0000${randomUUID()}\u0000`;

/** Where the message of a role begins. */
export function roleMark(role: string): string {
  return `${mark}${JSON.stringify({ role })}${mark}`;
}

/** Where a file stands. */
export function mediaMark(url: string, mediaType: string): string {
  return `${mark}${JSON.stringify({ url, mediaType: mediaType === "" ? undefined : mediaType })}${mark}`;
}

/** A piece of a rendered text. */
export type RenderedPiece =
  | { readonly text: string }
  | { readonly role: string }
  | { readonly url: string; readonly mediaType?: string | undefined };

/** A rendered text in its pieces; one piece where no helper said more than text. */
export function piecesOf(rendered: string): readonly RenderedPiece[] {
  if (!rendered.includes(mark)) return [{ text: rendered }];
  return rendered.split(mark).map((piece, index) => (index % 2 === 0 ? { text: piece } : JSON.parse(piece)));
}
