import type { Tool } from "../../core/item.ts";
import { markForeign } from "../../core/schema/foreign-schema.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import type { ToolOptions } from "../../core/tool-options.ts";
import type { Glob } from "../../lib/glob.ts";
import { Turns } from "../../lib/turns.ts";
import type { HttpOperation, UrlTemplate } from "../http/http-operation.ts";
import { annotationsOf, isRepeatable, optionsOf, sendOperation } from "../http/send-operation.ts";
import { describeOperation, titleOf } from "./describe-operation.ts";
import { type ListedOperation, listOperations, type OperationChoice } from "./list-operations.ts";
import { DocumentMistake, OpenApiDocument } from "./openapi-document.ts";
import { httpParameters, inputSchema, type OperationInput, operationInput, slotOf } from "./operation-input.ts";
import { type OperationOutput, operationOutput, outputSchema } from "./operation-output.ts";
import { type Credential, DocumentSecurity } from "./security.ts";
import { pathParts, type ServerRules, serverOf } from "./server-address.ts";
import { SharedSchemas } from "./shared-schemas.ts";

/** The parts of a manifest that say how its document becomes tools, variables put in. */
export interface OpenApiPlan extends ServerRules, OperationChoice {
  readonly auth: Readonly<Record<string, Credential>>;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  readonly hasOutputs: boolean;
  readonly maxBytes: number;
  readonly timeoutMs: number | undefined;
  readonly redact: readonly string[];
  /** The same as globs. */
  readonly masked: readonly Glob[];
  readonly labels: ToolOptions["labels"];
}

/** The tools of a document, and the mistakes of operations that are none. */
export interface OpenApiTools {
  readonly tools: readonly Tool[];
  readonly mistakes: readonly DocumentMistake[];
}

/**
 * Makes tools of a document: one for each operation that is chosen. An operation with a mistake takes no other with it. Nothing of the document
 * is kept but the schemas, each once; validators are made at the first call.
 *
 * @throws DocumentMistake for a document that cannot be used at all; the reason of an aborted signal
 */
export async function openApiTools(root: unknown, plan: OpenApiPlan, signal: AbortSignal): Promise<OpenApiTools> {
  const document = new OpenApiDocument(root);
  const { operations, mistakes: unreadable } = await listOperations(document, plan, signal);
  const maker = new ToolMaker(document, plan, operations);
  const tools: Tool[] = [];
  const mistakes = [...unreadable];
  const turns = new Turns();
  for (const operation of operations) {
    if (turns.isOver) await turns.next();
    signal.throwIfAborted();
    try {
      tools.push(maker.toolOf(operation));
    } catch (error) {
      if (!(error instanceof DocumentMistake)) throw error;
      mistakes.push(error);
    }
  }
  return { tools, mistakes };
}

class ToolMaker {
  readonly #document: OpenApiDocument;
  readonly #plan: OpenApiPlan;
  readonly #security: DocumentSecurity;
  readonly #inputs: SharedSchemas;
  readonly #outputs: SharedSchemas;
  readonly #secrets: readonly string[];

  constructor(document: OpenApiDocument, plan: OpenApiPlan, operations: readonly ListedOperation[]) {
    this.#document = document;
    this.#plan = plan;
    this.#security = new DocumentSecurity(document, plan.auth, operations);
    this.#inputs = new SharedSchemas(document, { direction: "input" });
    this.#outputs = new SharedSchemas(document, { direction: "output", masked: plan.masked });
    this.#secrets = [...plan.secrets, ...this.#security.secrets];
  }

  /** @throws DocumentMistake */
  toolOf(operation: ListedOperation): Tool {
    const { name, at } = operation;
    const input = operationInput(operation, this.#document, (...parameter) => this.#security.isGiven(...parameter));
    const output = operationOutput(operation, this.#document);
    const http = this.#request(operation, input, output);
    const { labels } = this.#plan;
    return {
      kind: "tool",
      name,
      title: titleOf(operation),
      description: describeOperation(operation, input, output),
      input: foreign(inputSchema(input, this.#inputs, at)),
      output: this.#plan.hasOutputs ? foreign(outputSchema(output, this.#outputs, at)) : undefined,
      annotations: annotationsOf(operation.method),
      options: { ...optionsOf(http), ...(labels === undefined ? {} : { labels }) },
      run: sender(http),
    };
  }

  #request(operation: ListedOperation, input: OperationInput, { accept }: OperationOutput): HttpOperation {
    const { headers, maxBytes, timeoutMs, redact } = this.#plan;
    const { method, name } = operation;
    const credentials = this.#security.for(operation);
    return {
      name,
      method,
      url: this.#url(operation, input),
      parameters: [...httpParameters(input.parameters), ...credentials.parameters],
      headers: { ...credentials.headers, ...headers },
      body: input.body?.http,
      answer: { accept, reading: "declared", redact, maxBytes, maxBytesField: "spec.max_bytes" },
      secrets: this.#secrets,
      timeoutMs,
      isRepeatable: isRepeatable(method),
    };
  }

  #url(operation: ListedOperation, { parameters }: OperationInput): UrlTemplate {
    const { origin, path, isOwn } = serverOf(operation, this.#document, this.#plan);
    const hasCredentials = Object.keys({ ...this.#plan.auth, ...this.#plan.headers }).length > 0;
    if (!isOwn && hasCredentials) {
      const message = `The document sends requests to ${origin}, which is not where it was fetched from, and the manifest has credentials or headers. If that is meant, write spec.server: ${origin}${path}.`;
      throw new DocumentMistake("/servers", message);
    }
    const { parts, query } = pathParts(operation);
    const slots = parts.map((part) => {
      if ("text" in part) return part.text;
      const parameter = parameters.find((each) => each.in === "path" && each.name === part.name);
      if (parameter === undefined) throw new DocumentMistake(operation.at, `The path has no parameter ${part.name}.`);
      return slotOf(parameter);
    });
    return { origin: [origin], isOwn, path: [path, ...slots], query: query === "" ? [] : [query] };
  }
}

/** Made here, so that it holds its operation and not the whole document. */
function sender(operation: HttpOperation): Tool["run"] {
  return (input, context) => sendOperation(operation, input, context);
}

/** The document may be of a stranger: its schemas are interpreted, in bounded time. */
function foreign<S extends JsonSchema | undefined>(schema: S): S {
  markForeign(schema);
  return schema;
}
