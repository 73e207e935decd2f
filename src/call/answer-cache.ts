import { LRUCache } from "lru-cache";
import type { Content } from "../core/resource.ts";
import type { CacheLimits } from "../core/toolkit-options.ts";
import type { SharedCall } from "./shared-call.ts";

interface Kept {
  readonly content: Content;
  readonly goodUntil: number;
}

/** The answers that are kept, and the runs in progress whose answers will be. */
export class AnswerCache {
  /** The runs in progress, by the keys of their answers. */
  readonly running = new Map<string, SharedCall>();
  readonly #limits: CacheLimits;
  #kept: LRUCache<string, Kept> | undefined;

  constructor(limits: CacheLimits) {
    this.#limits = limits;
  }

  /** The number that is kept, those included whose time is over. */
  get size(): number {
    return this.#kept?.size ?? 0;
  }

  get(key: string, now: number): Content | undefined {
    const kept = this.#kept?.get(key);
    if (kept === undefined || kept.goodUntil > now) return kept?.content;
    this.#kept?.delete(key);
    return undefined;
  }

  /** Keeps an answer, unless it is larger than all may be together. */
  keep(key: string, content: Content, goodUntil: number): void {
    const { maxEntries, maxBytes } = this.#limits;
    this.#kept ??= new LRUCache({ max: maxEntries, maxSize: maxBytes });
    this.#kept.set(key, { content, goodUntil }, { size: 2 * key.length + weightOf(content) });
  }
}

/** The objects that hold a content, however little is in it. */
const bytesOfContent = 1_000;

/** About the number of bytes a content takes. */
function weightOf({ size, parts, meta }: Content): number {
  const inside = parts === undefined ? size : parts.reduce((sum, part) => sum + weightOf(part), 0);
  return bytesOfContent + inside + weightOfMeta(meta);
}

function weightOfMeta(meta: Content["meta"]): number {
  if (meta === undefined) return 0;
  try {
    return JSON.stringify(meta).length;
  } catch {
    // Not JSON: its size is not known, so it is too large to keep.
    return Number.MAX_SAFE_INTEGER;
  }
}
