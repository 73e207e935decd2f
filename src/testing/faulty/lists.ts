import type { FaultyTool } from "./faulty-offer.ts";
import type { FaultyState } from "./faulty-state.ts";

/** One page of a list. */
interface Page {
  readonly [field: string]: unknown;
  readonly nextCursor?: string | undefined;
}

/** The field of each list's result. */
const fields: Readonly<Record<string, string>> = {
  "tools/list": "tools",
  "prompts/list": "prompts",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
};

/** One page of a list, with the faults that are on; undefined for a method that lists nothing. */
export function pageOf(state: FaultyState, method: string, cursor: unknown): Page | undefined {
  const field = fields[method];
  if (field === undefined) return undefined;
  const { faults, pageSize } = state;
  if (faults.take("endless-pages")) return { [field]: [], nextCursor: String(Number(cursor ?? 0) + 1) };
  const entries = field === "tools" ? tools(state) : others(state, field);
  const from = Number(cursor ?? 0);
  const to = Math.min(entries.length, from + pageSize);
  const next = to < entries.length ? String(to) : undefined;
  const last = next === undefined && faults.take("cursor-loop") !== undefined ? "0" : next;
  const page = spoiled(entries.slice(from, to), state, field === "tools" && from === 0);
  return { [field]: page, ...(last === undefined ? {} : { nextCursor: last }) };
}

/** Page by page, so that a fault that comes or goes in the middle of a list moves no entry to a page that was read already. */
function spoiled(page: readonly unknown[], { faults }: FaultyState, isFirstOfTools: boolean): readonly unknown[] {
  const odd = isFirstOfTools && faults.take("odd-schema") !== undefined ? page.toSpliced(1, 0, ...oddTools) : page;
  return faults.take("duplicate-names") === undefined ? odd : odd.flatMap((entry) => [entry, entry]);
}

function tools({ offer, faults }: FaultyState): readonly unknown[] {
  const drift = faults.take("schema-drift");
  const drifting = drift === undefined ? undefined : (drift.tool ?? Object.keys(offer.tools)[0]);
  return Object.entries(offer.tools).map(([name, tool]) => entryOf(name, tool, name === drifting));
}

function entryOf(
  name: string,
  { run: _, inputSchema = { type: "object" }, ...rest }: FaultyTool,
  drifts: boolean,
): unknown {
  if (!drifts) return { name, inputSchema, ...rest };
  const { properties } = inputSchema as { readonly properties?: object };
  return {
    name,
    inputSchema: { ...(inputSchema as object), properties: { ...properties, drift: { type: "string" } } },
    ...rest,
  };
}

/** Tools with invalid descriptors. */
const oddTools: readonly unknown[] = [
  { name: "odd_type", inputSchema: { type: "nonsense" } },
  { name: "odd_pattern", inputSchema: { type: "object", properties: { a: { type: "string", pattern: "(" } } } },
  { name: "odd_reference", inputSchema: { type: "object", properties: { a: { $ref: "#/$defs/missing" } } } },
  { name: "odd_missing" },
  { name: "odd_number", inputSchema: 42 },
  { name: "odd_output", inputSchema: { type: "object" }, outputSchema: { type: "object", required: "sum" } },
  { inputSchema: { type: "object" } },
  "not even an object",
];

function others({ offer }: FaultyState, field: string): readonly unknown[] {
  if (field === "prompts")
    return Object.entries(offer.prompts).map(([name, { text: _, ...rest }]) => ({ name, ...rest }));
  if (field !== "resources") return [];
  return Object.entries(offer.resources).map(([uri, { text: _, ...rest }]) => ({ uri, name: uri, ...rest }));
}
