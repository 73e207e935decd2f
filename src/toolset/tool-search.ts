import { definitionOf } from "../core/entry.ts";
import { digestTexts } from "../lib/canonical.ts";
import { LruCache } from "../lib/lru-cache.ts";
import { abortable } from "../lib/promise.ts";
import { Turns } from "../lib/turns.ts";
import { type FoundTools, type OfferedTool, type ToolIndex, toolIndexOf } from "./tool-index.ts";
import type { Embed, OfferedTools } from "./toolset-types.ts";

/** A search among the tools of a toolset. */
export interface ToolSearch {
  readonly query: string;
  readonly limit: number;
  readonly signal: AbortSignal | undefined;
  /** By alias: only these are found. */
  readonly hidden: ReadonlyMap<string, unknown>;
}

/** The tools of each ranking that are joined, and how slowly a place counts less (60 in the paper on reciprocal rank fusion). */
const joinedTools = 100;
const rankConstant = 60;

/**
 * Finds tools by words, and where the toolset has an `embed` by meaning too: the two rankings are joined by reciprocal ranks, so that a tool
 * that is in both goes before one that is in one of them. An `embed` that fails stops no search: then words alone decide.
 *
 * @throws the reason of an abort
 */
export async function searchTools(offered: OfferedTools, search: ToolSearch): Promise<FoundTools> {
  const { query, limit, hidden, signal } = search;
  const index = await toolIndexOf(offered, hidden);
  const { embed } = offered;
  if (embed === undefined) return index.search(query, limit);
  const byWords = index.search(query, joinedTools);
  const byMeaning = await nearestTools(embed, index, search).catch(() => []);
  signal?.throwIfAborted();
  const scores = new Map<string, number>();
  for (const ranking of [byWords.aliases, byMeaning]) {
    for (const [rank, alias] of ranking.entries()) {
      scores.set(alias, (scores.get(alias) ?? 0) + 1 / (rankConstant + rank + 1));
    }
  }
  const joined = [...scores].sort(([, one], [, other]) => other - one).map(([alias]) => alias);
  return { aliases: joined.slice(0, limit), count: Math.max(byWords.count, joined.length) };
}

type Vector = Float32Array;

/** A text is embedded as far as this, in characters, and so many at once. */
const maxTextCharacters = 1_000;
const batchSize = 100;
/** The vectors that are kept of an `embed`, and used of a toolset, in bytes. Tools beyond it are found by their words alone. */
const maxBytes = 64 * 2 ** 20;
const maxDimensions = 8_192;

/** The vectors that an `embed` gave, by the digests of their texts. */
interface VectorCache {
  readonly vectors: LruCache<Vector>;
  /** Toolsets are embedded one after the other, so that runs that begin together embed no text twice. */
  turn: Promise<unknown>;
}

const caches = new WeakMap<Embed, VectorCache>();
const complete = new WeakMap<ToolIndex, readonly (Vector | undefined)[]>();

/**
 * The tools whose vectors are nearest to that of the query, best first.
 *
 * @throws Error of `embed`, also for an answer that is no list of vectors; the reason of an abort
 */
async function nearestTools(embed: Embed, index: ToolIndex, { query, signal }: ToolSearch): Promise<readonly string[]> {
  const vectors = complete.get(index) ?? (await toolVectors(embed, index.tools, signal));
  complete.set(index, vectors);
  const [wanted] = await embedded(embed, [query.slice(0, maxTextCharacters)], signal);
  if (wanted === undefined) return [];
  const near: { readonly alias: string; readonly score: number }[] = [];
  const turns = new Turns();
  for (const [place, { alias }] of index.tools.entries()) {
    if (turns.isOver) await turns.next();
    const vector = vectors[place];
    const score = vector === undefined ? 0 : dotProduct(wanted, vector);
    if (score > 0) near.push({ alias, score });
  }
  near.sort((one, other) => other.score - one.score);
  return near.slice(0, joinedTools).map(({ alias }) => alias);
}

async function toolVectors(
  embed: Embed,
  tools: readonly OfferedTool[],
  signal: AbortSignal | undefined,
): Promise<readonly (Vector | undefined)[]> {
  const cache = cacheOf(embed);
  const texts = tools.map(textOf);
  const keys = texts.map((text) => digestTexts(text));
  const found = new Map<string, Vector | undefined>();
  const turn = cache.turn.then(async () => {
    let bytes = 0;
    let missing: number[] = [];
    const embedMissing = async () => {
      const made = await embedded(
        embed,
        missing.map((at) => texts[at] ?? ""),
        signal,
      );
      for (const [each, at] of missing.entries()) keep(keys[at] ?? "", made[each]);
      missing = [];
    };
    const keep = (key: string, vector: Vector | undefined) => {
      found.set(key, vector);
      if (vector === undefined) return;
      bytes += vector.byteLength;
      cache.vectors.set(key, vector, vector.byteLength);
    };
    for (const [at, key] of keys.entries()) {
      if (bytes > maxBytes || found.has(key)) continue;
      const known = cache.vectors.get(key);
      if (known !== undefined) keep(key, known);
      else if (missing.push(at) === batchSize) await embedMissing();
    }
    if (missing.length > 0) await embedMissing();
  });
  const ended = abortable(turn, signal);
  // The next begins also where an `embed` goes on after the abort.
  cache.turn = ended.catch(() => undefined);
  await ended;
  return keys.map((key) => found.get(key));
}

function cacheOf(embed: Embed): VectorCache {
  let cache = caches.get(embed);
  if (cache === undefined) {
    const vectors = new LruCache<Vector>({ maxSize: maxBytes });
    cache = { vectors, turn: Promise.resolve() };
    caches.set(embed, cache);
  }
  return cache;
}

function textOf({ alias, entry }: OfferedTool): string {
  const { title, description = title } = definitionOf(entry);
  return `${alias}: ${description ?? ""}`.slice(0, maxTextCharacters);
}

/** The vectors of texts, of length 1. @throws Error of `embed`, TypeError for an answer that is no list of vectors */
async function embedded(
  embed: Embed,
  texts: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly (Vector | undefined)[]> {
  const given: unknown = await embed(texts, { signal });
  if (!Array.isArray(given) || given.length !== texts.length) {
    throw new TypeError(`embed must give a list of ${texts.length} vectors, one for each text.`);
  }
  return given.map(unitVector);
}

/** Undefined for a vector of zeros, which is near nothing. @throws TypeError for what is no vector */
function unitVector(given: ArrayLike<number>): Vector | undefined {
  const length = given?.length;
  if (!(Number.isInteger(length) && length > 0 && length <= maxDimensions)) {
    throw new TypeError(`embed must give vectors of 1 to ${maxDimensions} numbers.`);
  }
  const vector = Float32Array.from(given);
  const size = Math.sqrt(dotProduct(vector, vector));
  if (!Number.isFinite(size)) throw new TypeError("embed must give vectors of finite numbers.");
  return size === 0 ? undefined : vector.map((number) => number / size);
}

function dotProduct(one: Vector, other: Vector): number {
  if (one.length !== other.length) return 0;
  let sum = 0;
  for (let at = 0; at < one.length; at += 1) sum += (one[at] ?? 0) * (other[at] ?? 0);
  return sum;
}
