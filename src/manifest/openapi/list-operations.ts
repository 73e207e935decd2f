import { ToolkitError } from "../../core/error.ts";
import { assertItemName } from "../../core/identifier.ts";
import { digestTexts } from "../../lib/canonical.ts";
import { type Glob, glob } from "../../lib/glob.ts";
import { Turns } from "../../lib/turns.ts";
import { type DocumentFields, DocumentMistake, type OpenApiDocument, type Placed } from "./openapi-document.ts";

/** Globs that choose operations. */
export interface OperationRules {
  readonly operations?: readonly string[] | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly paths?: readonly string[] | undefined;
  readonly methods?: readonly string[] | undefined;
}

/** The choice of operations of a document. */
export interface OperationChoice {
  /** Those that fit one rule of each list. Default: all. */
  readonly include?: OperationRules | undefined;
  /** Those that fit any rule are left out. */
  readonly exclude?: OperationRules | undefined;
}

/** An operation of a document, before its parts are read. */
export interface ListedOperation extends Placed {
  /** The name of its tool. */
  readonly name: string;
  readonly id: string | undefined;
  /** In upper case. */
  readonly method: string;
  readonly path: string;
  /** The path item that it stands in. */
  readonly item: Placed;
}

/** The operations that become tools, and those that cannot. */
export interface OperationList {
  readonly operations: readonly ListedOperation[];
  readonly mistakes: readonly DocumentMistake[];
}

const methods = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
const maxTools = 5_000;
/** In a document, of which a few are chosen. */
const maxOperations = 200_000;
/** Of an operation. */
const maxTags = 100;
/** More of an operationId makes no difference: a name is much shorter. */
const maxId = 500;

/**
 * The operations of a document that are chosen, with the names of their tools. Names come from all operations of the document, so that a choice
 * renames none.
 *
 * @throws DocumentMistake for more than 5,000 operations; the reason of an aborted signal
 */
export async function listOperations(
  document: OpenApiDocument,
  choice: OperationChoice,
  signal: AbortSignal,
): Promise<OperationList> {
  const turns = new Turns();
  const mistakes: DocumentMistake[] = [];
  const found: Omit<ListedOperation, "name">[] = [];
  for (const [path, placed] of document.entries({ value: document.root, at: "" }, "paths")) {
    if (turns.isOver) await turns.next();
    signal.throwIfAborted();
    if (!path.startsWith("/")) continue;
    try {
      found.push(...operationsAt(document, path, placed));
    } catch (error) {
      if (!(error instanceof DocumentMistake)) throw error;
      if (mistakes.length < maxTools) mistakes.push(error);
    }
    if (found.length > maxOperations)
      throw new DocumentMistake("/paths", `There are more than ${maxOperations} operations.`);
  }
  const names = await namesOf(found, turns);
  const includes = ruleOf(choice.include, "every");
  const excludes = ruleOf(choice.exclude, "some");
  const operations: ListedOperation[] = [];
  for (const [index, each] of found.entries()) {
    if (turns.isOver) await turns.next();
    const operation = { ...each, name: names[index] ?? "" };
    if (includes(operation) !== false && excludes(operation) !== true) operations.push(operation);
  }
  if (operations.length > maxTools) {
    const message = `${operations.length} operations are chosen, and at most ${maxTools} become tools: choose fewer by include.`;
    throw new DocumentMistake("/paths", message);
  }
  return { operations, mistakes };
}

function operationsAt(
  document: OpenApiDocument,
  path: string,
  placed: Placed<unknown>,
): Omit<ListedOperation, "name">[] {
  const item = document.object(placed.value, placed.at, "A path");
  return methods.flatMap((method) => {
    const value = item.value[method];
    if (value === undefined) return [];
    const operation = document.object(value, `${item.at}/${method}`, "An operation");
    const id = operation.value.operationId;
    return [{ ...operation, id: typeof id === "string" ? id : undefined, method: method.toUpperCase(), path, item }];
  });
}

/** True or false by the rules; undefined where there are none. */
type Rule = (operation: ListedOperation) => boolean | undefined;

function ruleOf(rules: OperationRules | undefined, join: "every" | "some"): Rule {
  const { operations, tags, paths, methods: verbs } = rules ?? {};
  const tests = [
    fits(operations, ({ id, name }) => (id === undefined ? [name] : [id, name])),
    fits(tags, ({ value }) => tagsOf(value)),
    fits(paths, ({ path }) => [path]),
    fits(
      verbs?.map((verb) => verb.toUpperCase()),
      ({ method }) => [method],
    ),
  ].filter((test) => test !== undefined);
  return (operation) => (tests.length === 0 ? undefined : tests[join]((test) => test(operation)));
}

function fits(
  globs: readonly string[] | undefined,
  texts: (operation: ListedOperation) => readonly string[],
): ((operation: ListedOperation) => boolean) | undefined {
  if (globs === undefined) return undefined;
  const tests: readonly Glob[] = globs.map(glob);
  return (operation) => texts(operation).some((text) => tests.some((test) => test(text)));
}

/** The tags of an operation. */
function tagsOf({ tags }: DocumentFields): readonly string[] {
  return Array.isArray(tags) ? tags.slice(0, maxTags).filter((tag) => typeof tag === "string") : [];
}

/**
 * The names of tools: the operationId, else method and path, in letters, digits, `_` and `-`. Where several would have one name, the operation
 * keeps it whose operationId it is as it stands; the others end with a hash of method and path. So a name depends on nothing but those
 * that it is like.
 */
async function namesOf(operations: readonly Omit<ListedOperation, "name">[], turns: Turns): Promise<readonly string[]> {
  const plain = operations.map(({ id, method, path }) =>
    plainName((id ?? `${method.toLowerCase()}${path}`).slice(0, maxId)),
  );
  const counts = new Map<string, number>();
  const exact = new Map<string, number>();
  for (const [index, name] of plain.entries()) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
    if (operations[index]?.id === name) exact.set(name, (exact.get(name) ?? 0) + 1);
  }
  const taken = new Set<string>();
  for (const [index, name] of plain.entries()) {
    if (turns.isOver) await turns.next();
    const { id, method = "", path = "" } = operations[index] ?? {};
    const isFree = counts.get(name) === 1 || (exact.get(name) === 1 && id === name);
    const isItself = isFree && name.length <= 64 && isAllowed(name);
    let chosen = isItself ? name : hashed(name, method, path);
    for (let again = 0; taken.has(chosen) || (!isItself && counts.has(chosen)); again += 1)
      chosen = hashed(name, method, `${path}#${again}`);
    taken.add(chosen);
  }
  return [...taken];
}

function plainName(text: string): string {
  const name = text.replace(/[^A-Za-z0-9_-]+/g, "_").replace(/^_+|_+$/g, "");
  return /^[A-Za-z]/.test(name) ? name : `op_${name}`;
}

function hashed(name: string, method: string, path: string): string {
  return `${name.slice(0, 55)}_${digestTexts(method, path)
    .replace(/[^A-Za-z0-9]/g, "")
    .slice(0, 8)}`;
}

function isAllowed(name: string): boolean {
  try {
    assertItemName(name, "tool");
    return true;
  } catch (error) {
    if (ToolkitError.is(error)) return false;
    throw error;
  }
}
