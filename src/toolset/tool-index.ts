import { definitionOf } from "../core/entry.ts";
import { Turns } from "../lib/turns.ts";
import { wordsOf } from "../lib/words.ts";
import { serverTerms, type ToolTerms, toolTerms } from "./tool-terms.ts";
import type { OfferedTools, ToolEntry } from "./toolset-types.ts";

/** A tool as it is offered. */
export type OfferedTool = OfferedTools["tools"][number];

/** The tools of a search that were found. */
export interface FoundTools {
  /** Best first; of equals in the order of the toolset. */
  readonly aliases: readonly string[];
  /** All that match, also those that the limit leaves out. */
  readonly count: number;
}

/** Where a term occurs in one namespace. */
interface Postings {
  /** The tools that have it, by their place in the namespace, and what it counts in each. */
  readonly places: number[];
  readonly counts: number[];
  /** In all of them, and in what their server says of itself. */
  total: number;
}

/** The index of the tools of one namespace. It stays the same as long as they do, whatever becomes of others. */
interface Segment {
  readonly tools: readonly OfferedTool[];
  readonly terms: readonly ToolTerms[];
  readonly serverText: string;
  readonly postings: ReadonlyMap<string, Postings>;
  readonly total: number;
}

/** The speed at which a repeated term counts no more (k1 of BM25), and the part of its namespace's score that a tool gets. */
const saturation = 1.2;
const namespacePart = 0.5;
const namespaceLengthPart = 0.5;
/** The most words of a query that are searched, and the characters in which they are looked for. */
const maxQueryWords = 40;
const maxQueryCharacters = 2_000;

/** By the terms of their first tool: a namespace whose tools did not change has the same. */
const segments = new WeakMap<ToolTerms, Segment>();
const indexes = new WeakMap<OfferedTools, Promise<ToolIndex>>();

/**
 * The index of the tools of a toolset, made at its first search; what did not change since another toolset is indexed once.
 *
 * @param hidden - by alias: only these are found. Always the same for a toolset
 */
export function toolIndexOf(offered: OfferedTools, hidden: ReadonlyMap<string, unknown>): Promise<ToolIndex> {
  let index = indexes.get(offered);
  if (index === undefined) {
    index = ToolIndex.of(offered.tools, hidden);
    indexes.set(offered, index);
  }
  return index;
}

/**
 * Finds tools by words: BM25 over the weighted parts of each (Robertson's BM25F), beside that of its namespace as a whole. A tool is more
 * likely meant where the others beside it are about the same.
 */
export class ToolIndex {
  readonly #segments: readonly Segment[];
  /** The number of the first tool of each segment. */
  readonly #starts: readonly number[];
  readonly #tools: readonly OfferedTool[];
  /** 1 for each tool that may be found. */
  readonly #isHidden: Uint8Array;
  readonly #meanTotal: number;
  #hidden: readonly OfferedTool[] | undefined;
  /** Every term by its beginning, made where a word of a query is none of them. */
  #vocabulary: ReadonlyMap<string, readonly string[]> | undefined;

  private constructor(all: readonly Segment[], hidden: ReadonlyMap<string, unknown>) {
    const starts: number[] = [];
    const tools: OfferedTool[] = [];
    for (const segment of all) {
      starts.push(tools.length);
      for (const tool of segment.tools) tools.push(tool);
    }
    this.#segments = all;
    this.#starts = starts;
    this.#tools = tools;
    this.#isHidden = Uint8Array.from(tools, ({ alias }) => (hidden.has(alias) ? 1 : 0));
    this.#meanTotal = all.reduce((sum, { total }) => sum + total, 0) / Math.max(1, all.length);
  }

  static async of(tools: readonly OfferedTool[], hidden: ReadonlyMap<string, unknown>): Promise<ToolIndex> {
    const turns = new Turns();
    const all: Segment[] = [];
    for (const own of Map.groupBy(tools, ({ entry }) => entry.namespace).values()) {
      const terms: ToolTerms[] = [];
      for (const { alias, entry } of own) {
        if (turns.isOver) await turns.next();
        terms.push(toolTerms(alias, entry));
      }
      all.push(segmentOf(own, terms));
    }
    return new ToolIndex(all, hidden);
  }

  /** The tools that may be found. Always the same. */
  get tools(): readonly OfferedTool[] {
    this.#hidden ??= this.#tools.filter((_, place) => this.#isHidden[place] === 1);
    return this.#hidden;
  }

  /** Finds the tools that have a word of the query. */
  search(query: string, limit: number): FoundTools {
    const scores = new Float64Array(this.#tools.length);
    const ofSegments = new Float64Array(this.#segments.length);
    const words = [...new Set(wordsOf(query, maxQueryCharacters))].slice(0, maxQueryWords);
    for (const word of words) {
      if (this.#add(word, 1, scores, ofSegments)) continue;
      const like = this.#termsLike(word);
      for (const term of like) this.#add(term, 0.5 / like.length, scores, ofSegments);
    }
    for (const [at, start] of this.#starts.entries()) {
      const end = this.#starts[at + 1] ?? scores.length;
      const ofSegment = namespacePart * (ofSegments[at] ?? 0);
      for (let place = start; ofSegment > 0 && place < end; place += 1) {
        if ((scores[place] ?? 0) > 0) scores[place] = (scores[place] ?? 0) + ofSegment;
      }
    }
    return this.#best(scores, limit);
  }

  /** Adds what a term says of each tool and each namespace. @returns false where nothing has it */
  #add(term: string, share: number, scores: Float64Array, ofSegments: Float64Array): boolean {
    const found: (readonly [at: number, postings: Postings])[] = [];
    let tools = 0;
    for (let at = 0; at < this.#segments.length; at += 1) {
      const postings = this.#segments[at]?.postings.get(term);
      if (postings === undefined) continue;
      found.push([at, postings]);
      tools += postings.places.length;
    }
    const ofTools = share * rarity(tools, scores.length);
    const ofNamespaces = share * rarity(found.length, this.#segments.length);
    for (const [at, { places, counts, total }] of found) {
      const start = this.#starts[at] ?? 0;
      for (let each = 0; each < places.length; each += 1) {
        const to = start + (places[each] ?? 0);
        scores[to] = (scores[to] ?? 0) + ofTools * (counts[each] ?? 0);
      }
      const length = (this.#segments[at]?.total ?? 0) / this.#meanTotal;
      const weight = total / (1 - namespaceLengthPart + namespaceLengthPart * length);
      ofSegments[at] = (ofSegments[at] ?? 0) + ofNamespaces * saturated(weight);
    }
    return found.length > 0;
  }

  /** The terms that a word may be meant for that is none: those that it begins, or else that differ from it by a slip. */
  #termsLike(word: string): readonly string[] {
    if (word.length < leastLikeCharacters) return [];
    this.#vocabulary ??= Map.groupBy(new Set(this.#segments.flatMap(({ postings }) => [...postings.keys()])), (term) =>
      term.slice(0, 2),
    );
    const near = this.#vocabulary.get(word.slice(0, 2)) ?? [];
    const begun = near.filter((term) => term.startsWith(word));
    const like = begun.length > 0 ? begun : near.filter((term) => differsBySlip(word, term));
    return like.slice(0, maxLike);
  }

  /** The best of all that have a score: no more are kept in order than are wanted. */
  #best(scores: Float64Array, limit: number): FoundTools {
    const places: number[] = [];
    let count = 0;
    let least = 0;
    for (let place = 0; place < scores.length; place += 1) {
      const score = scores[place] ?? 0;
      if (score === 0 || this.#isHidden[place] === 0) continue;
      count += 1;
      if (places.length === limit && score <= least) continue;
      let to = places.length;
      while (to > 0 && (scores[places[to - 1] ?? 0] ?? 0) < score) to -= 1;
      places.splice(to, 0, place);
      if (places.length > limit) places.pop();
      least = scores[places.at(-1) ?? 0] ?? 0;
    }
    return { aliases: places.map((place) => this.#tools[place]?.alias ?? ""), count };
  }
}

const leastLikeCharacters = 4;
const maxLike = 20;

function segmentOf(tools: readonly OfferedTool[], terms: readonly ToolTerms[]): Segment {
  const [firstTerms] = terms;
  const serverTexts = serverTextsOf(tools[0]?.entry);
  const serverText = serverTexts.join("\n");
  const before = firstTerms && segments.get(firstTerms);
  const isSame = before?.serverText === serverText && before.terms.length === terms.length;
  if (isSame && before.terms.every((each, at) => each === terms[at])) return before;
  const postings = new Map<string, Postings>();
  let total = 0;
  const postingsOf = (term: string): Postings => {
    let known = postings.get(term);
    if (known === undefined) {
      known = { places: [], counts: [], total: 0 };
      postings.set(term, known);
    }
    return known;
  };
  for (const [place, ofTool] of terms.entries()) {
    for (const [term, weight] of ofTool) {
      const known = postingsOf(term);
      known.places.push(place);
      known.counts.push(saturated(weight));
      known.total += weight;
      total += weight;
    }
  }
  for (const term of serverTerms(serverTexts)) {
    postingsOf(term).total += 1;
    total += 1;
  }
  const segment = { tools, terms, serverText, postings, total };
  if (firstTerms !== undefined) segments.set(firstTerms, segment);
  return segment;
}

/** The server of a tool in its own words. */
function serverTextsOf(entry: ToolEntry | undefined): readonly string[] {
  const { title, description, instructions } = (entry && definitionOf(entry).server?.()) ?? {};
  return [title, description, instructions].map((text = "") => text);
}

/** The weight of a term by the number of those that have it (BM25's idf): what most have says little. */
function rarity(having: number, all: number): number {
  return Math.log(1 + (all - having + 0.5) / (having + 0.5));
}

function saturated(weight: number): number {
  return (weight * (saturation + 1)) / (saturation + weight);
}

/** True for words of which one has a letter more or another one, or two letters swapped. */
function differsBySlip(one: string, other: string): boolean {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  if (long.length - short.length > 1) return false;
  let at = 0;
  while (at < short.length && short[at] === long[at]) at += 1;
  if (short.length < long.length) return short.slice(at) === long.slice(at + 1);
  if (short.slice(at + 1) === long.slice(at + 1)) return true;
  return short[at] === long[at + 1] && short[at + 1] === long[at] && short.slice(at + 2) === long.slice(at + 2);
}
