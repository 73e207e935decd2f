import { isRecord } from "../../../lib/value.ts";
import type { JsonSchema } from "../types.ts";
import { hasMember, requireBeside } from "./assertions.ts";
import { combinators } from "./combinators.ts";
import type { Check, Keyword, Matcher, Run, SchemaNode, ValuePlace, Within } from "./schema-node.ts";
import type { Seen } from "./seen.ts";

const isFalse = (schema: unknown) => schema === false;

/** Applies a schema to a member or entry. */
function applyInside(
  node: SchemaNode,
  [value, key]: readonly [unknown, string | number],
  run: Run,
  at?: ValuePlace,
): boolean {
  return node.apply(value, run, at === undefined ? undefined : { parent: at, key }, undefined);
}

const properties: Keyword = (map, { node }) => {
  const schemas = map as JsonSchema;
  const names = Object.keys(schemas);
  return (value, run, at, seen) => {
    if (!isRecord(value)) return true;
    const keys = run.keysOf(value);
    run.work.take(Math.min(keys.length, names.length));
    let fits = true;
    for (const name of keys.length < names.length ? keys : names) {
      if (!Object.hasOwn(schemas, name) || !hasMember(value, name)) continue;
      seen?.names.add(name);
      if (applyInside(node(schemas[name]), [value[name], name], run, at)) continue;
      fits = false;
      if (at === undefined) break;
    }
    return fits;
  };
};

/** Patterns with their schemas. */
function matchersOf(map: unknown, within: Within): readonly (readonly [Matcher, unknown])[] {
  return Object.entries((map ?? {}) as JsonSchema).map(([source, schema]) => [within.pattern(source), schema]);
}

const patternProperties: Keyword = (map, within) => {
  const patterns = matchersOf(map, within);
  return (value, run, at, seen) => {
    if (!isRecord(value)) return true;
    let fits = true;
    for (const key of run.keysOf(value)) {
      run.work.take(1 + patterns.length);
      for (const [pattern, schema] of patterns) {
        if (!pattern(key, run.work)) continue;
        seen?.names.add(key);
        if (applyInside(within.node(schema), [value[key], key], run, at)) continue;
        fits = false;
        if (at === undefined) return false;
      }
    }
    return fits;
  };
};

/** Applies a schema to all members that a test leaves over. */
function otherMembers(
  schema: unknown,
  { node }: Within,
  isCovered: (key: string, run: Run, seen: Seen | undefined) => boolean,
): Check {
  const other = node(schema);
  return (value, run, at, seen) => {
    if (!isRecord(value)) return true;
    let fits = true;
    for (const key of run.keysOf(value)) {
      run.work.take(1);
      if (isCovered(key, run, seen)) continue;
      if (isFalse(schema) && at !== undefined) fits = run.fail({ parent: at, key }, "is not known here");
      else if (!applyInside(other, [value[key], key], run, at)) fits = false;
      if (!fits && at === undefined) return false;
    }
    if (seen !== undefined) seen.allNames = true;
    return fits;
  };
}

const additionalProperties: Keyword = (schema, within) => {
  const declared = within.schema.properties ?? {};
  const patterns = matchersOf(within.schema.patternProperties, within);
  return otherMembers(schema, within, (key, run) => {
    if (Object.hasOwn(declared as object, key)) return true;
    run.work.take(patterns.length);
    return patterns.some(([pattern]) => pattern(key, run.work));
  });
};

const unevaluatedProperties: Keyword = (schema, within) =>
  otherMembers(schema, within, (key, _run, seen) => seen?.allNames === true || seen?.names.has(key) === true);

const propertyNames: Keyword = (schema, { node }) => {
  const names = node(schema);
  return (value, run, at) => {
    if (!isRecord(value)) return true;
    let fits = true;
    for (const key of run.keysOf(value)) {
      if (names.apply(key, run, at, undefined)) continue;
      fits = run.fail(at, "property name must be valid");
      if (at === undefined) break;
    }
    return fits;
  };
};

const prefixItems: Keyword = (list, { node }) => {
  const prefix = (list as unknown[]).map(node);
  return (value, run, at, seen) => {
    if (!Array.isArray(value)) return true;
    let fits = true;
    const end = Math.min(prefix.length, value.length);
    for (const [index, schema] of prefix.slice(0, end).entries()) {
      if (applyInside(schema, [value[index], index], run, at)) continue;
      fits = false;
      if (at === undefined) break;
    }
    if (seen !== undefined) seen.before = Math.max(seen.before, end);
    return fits;
  };
};

/** Applies a schema to all entries that a test leaves over. */
function otherItems(
  schema: unknown,
  { node }: Within,
  isCovered: (index: number, seen: Seen | undefined) => boolean,
  isEnd = isFalse(schema),
): Check {
  const other = node(schema);
  return (value, run, at, seen) => {
    if (!Array.isArray(value)) return true;
    let fits = true;
    for (let index = 0; index < value.length; index += 1) {
      if (isCovered(index, seen)) continue;
      if (isEnd) return run.fail(at, `must NOT have more than ${index} items`);
      if (applyInside(other, [value[index], index], run, at)) continue;
      fits = false;
      if (at === undefined) break;
    }
    if (seen !== undefined) seen.before = value.length;
    return fits;
  };
}

/** A list of items is that of draft-07. */
const items: Keyword = (schema, within) => {
  if (Array.isArray(schema)) return prefixItems(schema, within);
  const { prefixItems: prefix } = within.schema;
  const first = within.isDraft07 || !Array.isArray(prefix) ? 0 : prefix.length;
  return otherItems(
    schema,
    within,
    (index) => index < first,
    isFalse(schema) && !within.isDraft07 && Array.isArray(prefix),
  );
};

const additionalItems: Keyword = (schema, within) => {
  const { items: prefix } = within.schema;
  return Array.isArray(prefix) ? otherItems(schema, within, (index) => index < prefix.length) : undefined;
};

const unevaluatedItems: Keyword = (schema, within) =>
  otherItems(schema, within, (index, seen) => seen !== undefined && (index < seen.before || seen.indices.has(index)));

const contains: Keyword = (schema, { schema: { minContains, maxContains }, isDraft07, node }) => {
  const wanted = node(schema);
  const least = isDraft07 || typeof minContains !== "number" ? 1 : minContains;
  const most = isDraft07 || typeof maxContains !== "number" ? Number.POSITIVE_INFINITY : maxContains;
  const message = `must contain at least ${least}${most === Number.POSITIVE_INFINITY ? "" : ` and no more than ${most}`} valid item(s)`;
  return (value, run, at, seen) => {
    if (!Array.isArray(value)) return true;
    let found = 0;
    let tried = 0;
    for (const [index, entry] of value.entries()) {
      tried += 1;
      if (wanted.apply(entry, run, undefined, undefined)) {
        found += 1;
        seen?.indices.add(index);
      }
      if (found > most || (found >= least && most === Number.POSITIVE_INFINITY && seen === undefined)) break;
    }
    if (found >= least && found <= most) return true;
    if (at !== undefined)
      for (const [index, entry] of value.slice(0, tried).entries()) applyInside(wanted, [entry, index], run, at);
    return run.fail(at, message);
  };
};

const dependentSchemas: Keyword = (map, { node }) => {
  const schemas = Object.entries(map as JsonSchema).map(([key, schema]) => [key, node(schema)] as const);
  return (value, run, at, seen) => {
    if (!isRecord(value)) return true;
    run.work.take(schemas.length);
    let fits = true;
    for (const [key, schema] of schemas) {
      if (!hasMember(value, key) || schema.apply(value, run, at, seen)) continue;
      fits = false;
      if (at === undefined) break;
    }
    return fits;
  };
};

const dependencies: Keyword = (map, within) => {
  const all = Object.entries(isRecord(map) ? map : {});
  const schemas = all.filter(([, needed]) => !Array.isArray(needed));
  const bySchema = dependentSchemas(Object.fromEntries(schemas), within);
  const byName = all.flatMap(([key, needed]) =>
    Array.isArray(needed) ? [requireBeside(key, needed.map(String))] : [],
  );
  return (value, run, at, seen) => {
    run.work.take(byName.length);
    const missing = byName.filter((check) => !check(value, run, at, undefined));
    return bySchema?.(value, run, at, seen) !== false && missing.length === 0;
  };
};

/** The keywords that apply schemas, in the order in which they are checked. */
export const applicators: Readonly<Record<string, Keyword>> = {
  ...combinators,
  properties,
  patternProperties,
  additionalProperties,
  propertyNames,
  prefixItems,
  items,
  additionalItems,
  contains,
  dependentSchemas,
  dependencies,
};

/** The keywords that apply to what the others did not evaluate. */
export const unevaluated: Readonly<Record<string, Keyword>> = { unevaluatedProperties, unevaluatedItems };
