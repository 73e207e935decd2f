import { ToolkitError } from "../core/error.ts";
import type { CallContext } from "../core/item.ts";
import type { JsonSchema } from "../core/schema/types.ts";
import { isRecord } from "../lib/value.ts";
import type { ManifestExecutor, ManifestRun, ManifestTool } from "./manifest-port.ts";
import { mock } from "./mock/mock.ts";

// Modes whose work is done by others: the caller's client, or another tool.

type Answer = ManifestRun["run"];

/** `mcp__files__read` is how PromptKit names the tool `read` of the server `files`. */
const qualified = /^mcp__([A-Za-z][A-Za-z0-9_-]*?)__(.+)$/;

/** The mode `mcp`: another tool, such as one of a server, under this name, with arguments that are given or fixed. All rules of calls hold for it. */
export const mcp: ManifestExecutor = ({ spec, name, problem }) => {
  const [, namespace, tool] = qualified.exec(name) ?? [];
  const ref = spec.mcp?.tool ?? (namespace === undefined ? undefined : `${namespace}.${tool}`);
  if (ref === undefined)
    throw problem(["spec"], "The mode mcp needs the tool to call.", "Write mcp: { tool: namespace.name }.");
  const { defaults = {}, fixed = {} } = spec.mcp ?? {};
  const path = ["spec", ...(spec.mcp === undefined ? [] : ["mcp", "tool"])];
  return { calls: { ref, path }, run: (input, { toolbox }) => toolbox.call(ref, { ...defaults, ...input, ...fixed }) };
};

/**
 * The mode `client`: the caller's own client does the work. A handler of the program does, where there is one; else the person is asked for the
 * result, where their client shows forms and the result is one; else the mocked result is given, where the manifest has one; else the call is
 * pending until it is completed.
 */
export const client: ManifestExecutor = async (manifest, context) => {
  const { spec, name, problem } = manifest;
  const { consent, timeout_ms: timeoutMs = 0, categories } = spec.client ?? {};
  const handler = Object.hasOwn(context.clients, name) ? context.clients[name] : undefined;
  const isMocked = Object.keys(spec).some((field) => field.startsWith("mock_"));
  const mocked = isMocked ? (await mock(manifest, context)).run : undefined;
  const strategy = consent?.decline_strategy ?? "error";
  if (!strategies.has(strategy)) {
    const hint = `Write one of ${[...strategies].join(", ")}.`;
    const path = ["spec", "client", "consent", "decline_strategy"];
    throw problem(path, `There is no strategy ${JSON.stringify(strategy)}.`, hint);
  }
  const why = consent?.required === true ? (consent.message ?? `${name} asks for your consent.`) : undefined;
  const form = formOf(spec.output_schema);
  const otherwise: Answer = (input, call) => {
    if (mocked !== undefined) return mocked(input, call);
    const message = why ?? spec.description ?? `The client of the caller does ${name}.`;
    call.pending({
      reason: "client",
      message,
      metadata: { tool: name, arguments: input, ...(categories && { categories }) },
    });
  };
  const declined: Answer = (input, call) => {
    if (strategy === "fallback" && mocked !== undefined) return mocked(input, call);
    if (strategy === "skip" || strategy === "fallback") return { declined: true };
    throw new ToolkitError("DENIED", `The caller declined ${name}.`, { rule: "client.consent" });
  };
  const asked = (ask: () => Promise<unknown>) => askAgain(ask, strategy === "retry");
  return {
    options: timeoutMs > 0 ? { timeoutMs } : {},
    annotations: { openWorldHint: true },
    async run(input, call) {
      if (handler !== undefined) {
        const isAgreed = why === undefined || (await asked(() => consented(call, why))) !== undefined;
        return isAgreed ? await handler(input, call) : await declined(input, call);
      }
      if (call.session.elicit === undefined || form === undefined) return await otherwise(input, call);
      const result = await asked(() => filledIn(call, questionOf(manifest, why, input), form));
      return result === undefined ? await declined(input, call) : result;
    },
  };
};

/** The strategies for a person who declines; `reject` is another word for `error`. */
const strategies: ReadonlySet<string> = new Set(["error", "reject", "retry", "fallback", "skip"]);

async function askAgain(ask: () => Promise<unknown>, isAgain: boolean): Promise<unknown> {
  return (await ask()) ?? (isAgain ? await ask() : undefined);
}

async function consented(call: CallContext, message: string): Promise<true | undefined> {
  const { action } = await call.elicit(message, { type: "object", properties: {} });
  return action === "accept" ? true : undefined;
}

async function filledIn(call: CallContext, message: string, form: JsonSchema): Promise<unknown> {
  const answer = await call.elicit(message, form);
  return answer.action === "accept" ? (answer.content ?? {}) : undefined;
}

/** The most characters of arguments that a person is shown. */
const shownLength = 2_000;

function questionOf({ name, spec }: ManifestTool, why: string | undefined, input: object): string {
  const args = Object.keys(input).length === 0 ? "" : `\n${JSON.stringify(input, null, 2).slice(0, shownLength)}`;
  return `${why ?? spec.description ?? name}${args}`;
}

const fieldTypes: ReadonlySet<unknown> = new Set(["string", "number", "integer", "boolean"]);

/** The output schema, where a form can ask for it: an object of texts, numbers and booleans. */
function formOf(schema: unknown): JsonSchema | undefined {
  if (!isRecord(schema) || schema.type !== "object" || !isRecord(schema.properties)) return undefined;
  const fields = Object.values(schema.properties);
  return fields.every((field) => isRecord(field) && fieldTypes.has(field.type)) ? (schema as JsonSchema) : undefined;
}
