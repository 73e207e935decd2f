import {
  type Content,
  type Delegate,
  defineTool,
  type Item,
  type Store,
  Toolkit,
  ToolkitError,
  type ToolkitOptions,
} from "../../src/index.ts";
import type { Workflow, WorkflowStep } from "../../src/workflow/workflow-definition.ts";
import type { WorkflowOptions } from "../../src/workflow/workflow-options.ts";
import { type Workflows, workflows } from "../../src/workflow/workflows.ts";
import { until } from "../support/until.ts";

/** A workflow `workflow.test` of some steps. */
export function flow(steps: readonly WorkflowStep[], more: Partial<Workflow> = {}): Workflow {
  return { name: "test", description: "A test.", steps, ...more };
}

/** A toolkit that runs workflows. */
export interface Bench extends AsyncDisposable {
  readonly toolkit: Toolkit;
  readonly flows: Workflows;
  run(input?: object): Promise<unknown>;
}

/** @param given - `items`: tools; `limits`: of the workflows; the rest is the toolkit's */
export async function bench(
  steps: readonly WorkflowStep[] | readonly Workflow[],
  {
    items = [],
    limits,
    delegate,
    ...options
  }: ToolkitOptions & { items?: readonly Item[]; limits?: WorkflowOptions; delegate?: Delegate } = {},
): Promise<Bench> {
  const isFlows = (given: readonly WorkflowStep[] | readonly Workflow[]): given is readonly Workflow[] =>
    given.every((each) => "description" in each);
  const flows = workflows(isFlows(steps) ? steps : [flow(steps)], limits);
  const toolkit = new Toolkit({ ...options, items, delegate: delegate === undefined ? flows : [flows, delegate] });
  toolkit.addSource("workflow", flows);
  await toolkit.start();
  return {
    toolkit,
    flows,
    run: async (input = {}) => resultIn(await toolkit.call("workflow.test", input)),
    [Symbol.asyncDispose]: () => toolkit.close(),
  };
}

export async function resultIn(content: Content): Promise<unknown> {
  return content.mediaType === "application/json" ? content.json() : content.text();
}

/** A tool that answers with its text, and counts. */
export function counted(name: string, more: Partial<Parameters<typeof defineTool>[0]> = {}) {
  const calls: unknown[] = [];
  const tool = defineTool<{ text?: string }>({
    name,
    run: ({ text = name }) => {
      calls.push(text);
      return text;
    },
    ...more,
  });
  return { tool, calls };
}

/** Resolves to the first thing that is found. */
export async function eventually<T>(find: () => Promise<T | undefined> | T | undefined): Promise<T> {
  let found: T | undefined;
  await until(async () => {
    found = await find();
    return found !== undefined;
  });
  return found as T;
}

/** A store on another one. It is let see each write before that is made, and may make it fail. */
export function observedStore(store: Store, write: (size: number) => { isMade: boolean; fails: boolean }): Store {
  const through = async <T>(value: unknown, make: () => Promise<T>): Promise<T> => {
    const { isMade, fails } = write(JSON.stringify(value ?? null).length);
    if (isMade) await make().catch(() => undefined);
    if (fails) throw new ToolkitError("STORE_FAILED", "It is gone.", { operation: "put" });
    return make();
  };
  return {
    open: async () => undefined,
    close: async () => undefined,
    get: (key, options) => store.get(key, options),
    list: (query, options) => store.list(query, options),
    put: (draft, options) => through(draft.value, () => store.put(draft, options)),
    delete: (key, options) => through(undefined, () => store.delete(key, options)),
    history: (key, options) => store.history(key, options),
    watch: (listener) => store.watch(listener),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

const nothing = () => undefined;
/** A logger for what is broken on purpose. */
export const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };
