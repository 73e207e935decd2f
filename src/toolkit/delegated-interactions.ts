import type { InteractionRouter } from "../call/interaction-router.ts";
import type { InteractionContext } from "../core/delegate.ts";
import { ToolkitError } from "../core/error.ts";
import type { Issue } from "../core/error-catalog.ts";
import type { ElicitRequest, ElicitResult, SampleRequest, SampleResult } from "../core/interaction.ts";
import type { JsonSchema } from "../core/schema/types.ts";
import { type Trust, validatorOf } from "../core/schema/validator.ts";
import { describeIssues, Violation } from "../core/schema/violation.ts";
import { abortable } from "../lib/promise.ts";
import { isRecord } from "../lib/value.ts";
import type { Delegates } from "./delegates.ts";

const actions: ReadonlySet<unknown> = new Set(["accept", "decline", "cancel"]);

/** Passes a request on to the session of the call, else to the delegates in order. If none answers it is declined. */
export class DelegatedInteractions implements InteractionRouter {
  readonly #delegates: Delegates;

  constructor(delegates: Delegates) {
    this.#delegates = delegates;
  }

  /** @throws ToolkitError `INVALID_OUTPUT` for an answer that is none or does not fit; whatever is thrown by the one who is asked */
  async elicit(request: ElicitRequest, context: InteractionContext, trust: Trust = {}): Promise<ElicitResult> {
    const { session, signal } = context;
    signal.throwIfAborted();
    const asking =
      session?.elicit === undefined ? this.#delegates.elicit(request, context) : session.elicit(request, { signal });
    return readAnswer((await abortable(asking, signal)) ?? { action: "decline" }, request, trust);
  }

  /** @throws ToolkitError `NO_DELEGATE`; `INVALID_OUTPUT` for an answer that is none; whatever is thrown by the one who is asked */
  async sample(request: SampleRequest, context: InteractionContext): Promise<SampleResult> {
    const { session, signal, requester } = context;
    signal.throwIfAborted();
    const asking =
      session?.sample === undefined ? this.#delegates.sample(request, context) : session.sample(request, { signal });
    const result: unknown = await abortable(asking, signal);
    if (result === undefined) {
      const message = `${requester} asks a model, and there is none. Give the Toolkit a delegate with sample, or the call a session that has it.`;
      throw new ToolkitError("NO_DELEGATE", message, { operation: "sample" });
    }
    if (
      isRecord(result) &&
      typeof result.model === "string" &&
      (isRecord(result.content) || Array.isArray(result.content))
    )
      return result as unknown as SampleResult;
    throw unfit("a sampling request", [{ pointer: "", message: "the answer needs role, content and model" }]);
  }
}

async function readAnswer(
  result: ElicitResult,
  { message, schema }: ElicitRequest,
  trust: Trust,
): Promise<ElicitResult> {
  const what = `the elicitation ${JSON.stringify(message)}`;
  if (!isRecord(result) || !actions.has(result.action)) {
    throw unfit(what, [{ pointer: "/action", message: "the action must be accept, decline or cancel" }]);
  }
  const { action, content = {} } = result;
  const meta = isRecord(result.meta) ? { meta: result.meta } : {};
  if (action !== "accept" || schema === undefined) return { action, ...meta };
  const filled = { ...content, ...defaultsOf(schema, content) };
  const read = await validatorOf(schema, trust)(filled);
  if (read instanceof Violation) throw unfit(what, read.issues);
  return { action, content: filled, ...meta };
}

/** The defaults of members that were left out. A form has no members in members: so far defaults go, and no further. */
function defaultsOf(
  { properties }: JsonSchema,
  content: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const members = isRecord(properties) ? Object.entries(properties) : [];
  const defaults = members.flatMap(([name, member]) =>
    isRecord(member) && member.default !== undefined && content[name] === undefined ? [[name, member.default]] : [],
  );
  return Object.fromEntries(defaults);
}

function unfit(what: string, issues: readonly Issue[]): ToolkitError<"INVALID_OUTPUT"> {
  return new ToolkitError("INVALID_OUTPUT", `The answer to ${what} does not fit: ${describeIssues(issues)}.`, {
    issues,
  });
}
