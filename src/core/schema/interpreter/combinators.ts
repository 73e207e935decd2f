import type { Keyword } from "./schema-node.ts";

const allOf: Keyword = (list, { node }) => {
  const parts = (list as unknown[]).map(node);
  return (value, run, at, seen) => {
    let fits = true;
    for (const part of parts) {
      if (part.apply(value, run, at, seen)) continue;
      fits = false;
      if (at === undefined) break;
    }
    return fits;
  };
};

const anyOf: Keyword = (list, { node }) => {
  const branches = (list as unknown[]).map(node);
  return (value, run, at, seen) => {
    let fits = false;
    for (const branch of branches) {
      if (!branch.apply(value, run, undefined, seen)) continue;
      fits = true;
      if (seen === undefined) break;
    }
    if (fits || at === undefined) return fits;
    for (const branch of branches) branch.apply(value, run, at, undefined);
    return run.fail(at, "must match a schema in anyOf");
  };
};

const oneOf: Keyword = (list, { node }) => {
  const branches = (list as unknown[]).map(node);
  return (value, run, at, seen) => {
    let fitting = 0;
    let tried = 0;
    for (const branch of branches) {
      tried += 1;
      if (branch.apply(value, run, undefined, seen)) fitting += 1;
      if (fitting > 1) break;
    }
    if (fitting === 1) return true;
    if (at !== undefined) for (const branch of branches.slice(0, tried)) branch.apply(value, run, at, undefined);
    return run.fail(at, "must match exactly one schema in oneOf");
  };
};

const not: Keyword = (schema, { node }) => {
  const refused = node(schema);
  return (value, run, at) => !refused.apply(value, run, undefined, undefined) || run.fail(at, "must NOT be valid");
};

const conditional: Keyword = (condition, { schema, node }) => {
  const test = node(condition);
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  const branches = { then: schema.then, else: schema.else };
  const [yes, no] = [branches.then, branches.else].map((branch) => (branch === undefined ? undefined : node(branch)));
  return (value, run, at, seen) => {
    const holds = test.apply(value, run, undefined, seen);
    const branch = holds ? yes : no;
    if (branch === undefined || branch.apply(value, run, at, seen)) return true;
    return run.fail(at, `must match "${holds ? "then" : "else"}" schema`);
  };
};

/** The keywords that apply several schemas to the same value, in the order in which they are checked. */
export const combinators: Readonly<Record<string, Keyword>> = { allOf, anyOf, oneOf, not, if: conditional };
