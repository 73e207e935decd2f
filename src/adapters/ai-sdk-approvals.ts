import type { Approvals } from "../core/approval.ts";
import { ToolkitError } from "../core/error.ts";
import { isRecord } from "../lib/value.ts";
import type { ToolAnswer, ToolCall } from "../toolset/toolset-types.ts";

/** Approvals that are asked for in a conversation of the AI SDK. */
export interface AiSdkApprovals {
  /** Those of the toolkit. */
  readonly of: Pick<Approvals, "resolve" | "wait">;
  /** Aliases of tools whose calls only a policy has approved. Beside them: those whose own `needsApproval` is set. */
  readonly tools?: readonly string[] | undefined;
  /** The name of the person who approves, for the record. */
  readonly by?: string | undefined;
}

type Answerer = (call: ToolCall, signal: AbortSignal | undefined) => Promise<ToolAnswer>;

/** The part of a call by the AI SDK that is used here. */
interface ConversationCall {
  readonly abortSignal?: AbortSignal | undefined;
  readonly messages?: readonly unknown[] | undefined;
}

const moved = {
  approved: false,
  by: "toAiSdk",
  reason: "the approval is asked for in the conversation instead",
} as const;

/**
 * Has approvals decided in a conversation of the AI SDK, which holds no state between two requests. A call is tried: where it needs an
 * approval, that one is denied and the conversation asks. Once a person has approved there, the call is made again and its new approval is
 * given at once, so that all checks of the call hold when it runs.
 */
export class ConversationApprover {
  readonly #options: AiSdkApprovals;
  readonly #answer: Answerer;
  /** The answers to calls that needed no approval, by id. */
  readonly #made = new Map<string, ToolAnswer>();

  constructor(options: AiSdkApprovals, answer: Answerer) {
    this.#options = options;
    this.#answer = answer;
  }

  /** True for a tool whose calls are tried first. */
  isAsked(name: string, entry: { readonly item: unknown } | undefined): boolean {
    if (this.#options.tools?.includes(name) === true) return true;
    const { item } = entry ?? {};
    const options = isRecord(item) && isRecord(item.options) ? item.options : {};
    return options.needsApproval !== undefined && options.needsApproval !== false;
  }

  /** Makes a call. False where it needed no approval: its answer is kept for `answer`. */
  async isNeeded(call: ToolCall, { abortSignal, messages }: ConversationCall): Promise<boolean> {
    // It was asked for in an earlier request, and is checked again.
    if (responseTo(call.id, messages) !== undefined) return true;
    const answer = await this.#answer(call, abortSignal);
    const id = approvalOf(answer);
    if (id === undefined) {
      this.#made.set(call.id, answer);
      return false;
    }
    await this.#options.of.resolve(id, moved);
    return true;
  }

  /** The answer to a call: as it was made, or made and approved where the conversation has approved it. */
  async answer(call: ToolCall, { abortSignal: signal, messages }: ConversationCall): Promise<ToolAnswer> {
    const made = this.#made.get(call.id);
    this.#made.delete(call.id);
    if (made !== undefined) return made;
    const answer = await this.#answer(call, signal);
    const id = approvalOf(answer);
    if (id === undefined || responseTo(call.id, messages) !== true) return answer;
    const { of: approvals, by } = this.#options;
    await approvals.resolve(id, by === undefined ? { approved: true } : { approved: true, by }, { signal });
    try {
      return { ...answer, status: "ok", content: await approvals.wait(id, { signal }), error: undefined };
    } catch (error) {
      if (!ToolkitError.is(error)) throw error;
      return { ...answer, status: "failed", error };
    }
  }
}

/** The id of the approval that a call waits for; undefined for one that waits for nothing, or for work elsewhere. */
function approvalOf({ status, error }: ToolAnswer): string | undefined {
  if (status !== "pending" || !ToolkitError.is(error, "PENDING") || error.phase !== "policy") return undefined;
  return error.details.id;
}

/** The decision on a call in the messages of the AI SDK; undefined where there is none. */
function responseTo(toolCallId: string, messages: readonly unknown[] = []): boolean | undefined {
  const parts = messages
    .filter(isRecord)
    .flatMap(({ content }) => (Array.isArray(content) ? content.filter(isRecord) : []));
  const request = parts.findLast((part) => part.type === "tool-approval-request" && part.toolCallId === toolCallId);
  if (request === undefined) return undefined;
  const response = parts.findLast(
    (part) => part.type === "tool-approval-response" && part.approvalId === request.approvalId,
  );
  return response === undefined ? undefined : response.approved === true;
}
