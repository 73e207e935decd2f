import type { LanguageModelV4Content, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { Reply } from "./reply.ts";

type Piece = Extract<LanguageModelV4Content, { readonly type: "text" | "reasoning" }>;
type Metadata = Piece["providerMetadata"];

/** Puts the parts of a stream together to the reply they are. */
export class ReplyBuilder {
  readonly #content: LanguageModelV4Content[] = [];
  readonly #open = new Map<string, Piece>();
  #end: Pick<Reply, "finishReason" | "usage"> | undefined;

  add(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
        this.#begin(part.type === "text-start" ? "text" : "reasoning", part);
        break;
      case "text-delta":
      case "reasoning-delta": {
        const piece = this.#piece(part.type === "text-delta" ? "text" : "reasoning", part);
        piece.text += part.delta;
        this.#note(piece, part.providerMetadata);
        break;
      }
      case "text-end":
      case "reasoning-end": {
        const piece = this.#open.get(keyOf(part.type === "text-end" ? "text" : "reasoning", part.id));
        if (piece !== undefined) this.#note(piece, part.providerMetadata);
        break;
      }
      case "finish":
        this.#end = { finishReason: part.finishReason.unified, usage: part.usage };
        break;
      case "tool-call":
      case "tool-result":
      case "file":
      case "reasoning-file":
      case "source":
      case "custom":
        this.#content.push(part);
        break;
      default:
    }
  }

  /** The whole; undefined where it never finished. */
  get reply(): Reply | undefined {
    return this.#end === undefined ? undefined : { content: this.#content, ...this.#end };
  }

  #begin(
    type: Piece["type"],
    { id, providerMetadata }: { readonly id: string; readonly providerMetadata?: Metadata },
  ): Piece {
    const piece: Piece = { type, text: "", ...(providerMetadata === undefined ? {} : { providerMetadata }) };
    this.#open.set(keyOf(type, id), piece);
    this.#content.push(piece);
    return piece;
  }

  #piece(type: Piece["type"], part: { readonly id: string }): Piece {
    return this.#open.get(keyOf(type, part.id)) ?? this.#begin(type, part);
  }

  #note(piece: Piece, metadata: Metadata): void {
    if (metadata !== undefined) piece.providerMetadata = { ...piece.providerMetadata, ...metadata };
  }
}

function keyOf(type: Piece["type"], id: string): string {
  return `${type} ${id}`;
}
