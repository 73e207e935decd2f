import type { ApprovalRequest, Decision } from "../core/approval.ts";
import type { Connector } from "../core/connector.ts";
import type { Delegate, InteractionContext } from "../core/delegate.ts";
import { ToolkitError } from "../core/error.ts";
import type { ElicitRequest, ElicitResult, SampleRequest, SampleResult } from "../core/interaction.ts";
import type { CallContext, Entry } from "../core/item.ts";
import type { Resource } from "../core/resource.ts";
import type { ServedToolkit, SuspendedPrompt } from "../core/served-toolkit.ts";
import type { ConnectorTarget } from "../core/target.ts";

/** The delegates of a toolkit, asked in the order in which they were given. */
export class Delegates {
  readonly #delegates: readonly Delegate[];

  constructor(delegates: Delegate | readonly Delegate[] | undefined) {
    this.#delegates = delegates === undefined ? [] : [delegates].flat();
  }

  /** Passes the toolkit to each. */
  attach(toolkit: ServedToolkit): void {
    for (const delegate of this.#delegates) delegate.attach?.(toolkit);
  }

  /** The delegates that receive events. */
  get listeners(): readonly Delegate[] {
    return this.#delegates.filter((delegate) => delegate.onEvent !== undefined);
  }

  /** @throws ToolkitError `NO_DELEGATE`, or whatever the delegate throws */
  async runPrompt(entry: Entry<"prompt">, input: unknown, context: CallContext): Promise<Resource> {
    const result = await this.#first((delegate) => delegate.runPrompt?.(entry, input, context));
    if (result !== undefined) return result;
    const able = this.#delegates.some((delegate) => delegate.runPrompt !== undefined);
    const why = able ? "no delegate took it" : "nothing executes prompts";
    throw new ToolkitError(
      "NO_DELEGATE",
      `The prompt ${entry.ref} cannot be called: ${why}. Give the Toolkit a delegate with runPrompt, as in new Toolkit({ delegate }), or use render() for its messages.`,
      { prompt: entry.ref },
    );
  }

  /** The run of a prompt that waits, of the delegate that keeps it. */
  suspendedPrompt(id: string): Promise<SuspendedPrompt | undefined> {
    return this.#first((delegate) => delegate.suspendedPrompt?.(id));
  }

  /** The answer of a person, where a delegate has one to ask. */
  elicit(request: ElicitRequest, context: InteractionContext): Promise<ElicitResult | undefined> {
    return this.#first((delegate) => delegate.elicit?.(request, context));
  }

  /** The answer of a model, where a delegate has one to ask. */
  sample(request: SampleRequest, context: InteractionContext): Promise<SampleResult | undefined> {
    return this.#first((delegate) => delegate.sample?.(request, context));
  }

  /** The decision of a delegate, where one decides. */
  approve(request: ApprovalRequest, signal: AbortSignal): Promise<Decision | undefined> {
    return this.#first((delegate) => delegate.approve?.(request, { signal }));
  }

  /** The connector a delegate makes for the target, if one does. */
  createConnector(target: ConnectorTarget): Connector | undefined {
    for (const delegate of this.#delegates) {
      const connector = delegate.createConnector?.(target);
      if (connector !== undefined) return connector;
    }
    return undefined;
  }

  async #first<T>(ask: (delegate: Delegate) => Promise<T | undefined> | undefined): Promise<T | undefined> {
    for (const delegate of this.#delegates) {
      const answer = await ask(delegate);
      if (answer !== undefined) return answer;
    }
    return undefined;
  }
}
