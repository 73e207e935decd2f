import type {
  ConnectorSession,
  DescriptorMap,
  PromptDescriptor,
  ResourceDescriptor,
  TemplateDescriptor,
  ToolDescriptor,
} from "../core/connector.ts";
import { ToolkitError } from "../core/error.ts";
import type {
  CallContext,
  Item,
  Kind,
  Prompt,
  PromptArgument,
  RenderedPrompt,
  ResourceTemplate,
  Tool,
} from "../core/item.ts";
import {
  type Content,
  type ReadOptions,
  type Resource,
  readWhole,
  resourceBrand,
  type WholeReader,
} from "../core/resource.ts";
import type { JsonSchema } from "../core/schema/types.ts";
import type { ToolAnnotations, ToolOptions } from "../core/tool-options.ts";
import { withAttachments } from "../prompt/prompt-messages.ts";
import type { InFlightRequest } from "./in-flight-requests.ts";

/** What a remote item knows of its connection. It is bound to no generation: each use takes the one there is. */
export interface RemoteLink {
  readonly label: string;
  /** The limit of its tools, in milliseconds. */
  readonly timeoutMs: number | undefined;
  /** Makes a request in the session there is, or waits for the next one as long as the caller does. */
  use<T>(request: InFlightRequest<T>): Promise<T>;
}

abstract class RemoteItem {
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly meta: Readonly<Record<string, unknown>> | undefined;
  protected readonly link: RemoteLink;

  constructor(descriptor: DescriptorMap[Kind], link: RemoteLink) {
    this.name = descriptor.name;
    this.title = descriptor.title;
    this.description = descriptor.description;
    this.meta = descriptor.meta;
    this.link = link;
  }
}

class RemoteTool extends RemoteItem implements Tool {
  readonly kind = "tool";
  readonly input: JsonSchema | undefined;
  readonly output: JsonSchema | undefined;
  readonly annotations: ToolAnnotations | undefined;
  readonly options: ToolOptions | undefined;
  readonly #uncallable: string | undefined;

  constructor(descriptor: ToolDescriptor, link: RemoteLink) {
    super(descriptor, link);
    this.input = descriptor.input;
    this.output = descriptor.output;
    this.annotations = descriptor.annotations;
    this.options = link.timeoutMs === undefined ? undefined : { timeoutMs: link.timeoutMs };
    this.#uncallable = descriptor.uncallable;
  }

  run(input: unknown, context: CallContext): Promise<Content> {
    if (this.#uncallable !== undefined) {
      const message = `"${this.name}" of ${this.link.label} can be listed and not called: ${this.#uncallable}.`;
      throw new ToolkitError("TOOL_FAILED", message, {});
    }
    const send = (session: ConnectorSession) => session.call(this.name, input, context);
    return this.link.use({ options: context, send, lost: "OUTCOME_UNKNOWN" });
  }
}

class RemotePrompt extends RemoteItem implements Prompt {
  readonly kind = "prompt";
  readonly input: JsonSchema;
  /** As the server says them. */
  readonly arguments: readonly PromptArgument[];

  constructor(descriptor: PromptDescriptor, link: RemoteLink) {
    super(descriptor, link);
    this.arguments = descriptor.arguments ?? [];
    this.input = schemaOfArguments(this.arguments);
  }

  /** What is attached stays here: a server knows no attachments. */
  async render(input: unknown, context: CallContext): Promise<RenderedPrompt> {
    const send = (session: ConnectorSession) => {
      if (session.render === undefined) throw unsupported(this.link, "prompts");
      return session.render(this.name, input, context);
    };
    const rendered = await this.link.use({ options: context, send, lost: "UNAVAILABLE" });
    return { ...rendered, messages: withAttachments(rendered.messages, context.attachments) };
  }
}

/** Prompt arguments as the object they are the members of. MCP sends them as strings. */
function schemaOfArguments(list: readonly PromptArgument[]): JsonSchema {
  const properties = list.map(({ name, title, description }) => [
    name,
    {
      type: "string",
      ...(title === undefined ? {} : { title }),
      ...(description === undefined ? {} : { description }),
    },
  ]);
  const required = list.filter((argument) => argument.required === true).map(({ name }) => name);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? {} : { required }),
  };
}

class RemoteResource extends RemoteItem implements Resource, WholeReader {
  readonly kind = "resource";
  readonly uri: string;
  readonly mediaType: string | undefined;
  readonly size: number | undefined;

  constructor(descriptor: ResourceDescriptor, link: RemoteLink) {
    super(descriptor, link);
    this.uri = descriptor.uri;
    this.mediaType = descriptor.mediaType;
    this.size = descriptor.size;
  }

  get [resourceBrand](): "handle" {
    return "handle";
  }

  [readWhole](options: ReadOptions): Promise<Content> {
    const send = (session: ConnectorSession) => {
      if (session.read === undefined) throw unsupported(this.link, "resources");
      return session.read(this.uri, options);
    };
    return this.link.use({ options, send, lost: "UNAVAILABLE" });
  }

  async bytes(options: ReadOptions = {}): Promise<Uint8Array> {
    return (await this[readWhole](options)).bytes(options);
  }

  async text(options: ReadOptions = {}): Promise<string> {
    return (await this[readWhole](options)).text(options);
  }

  async json(options: ReadOptions = {}): Promise<unknown> {
    return (await this[readWhole](options)).json(options);
  }
}

class RemoteTemplate extends RemoteItem implements ResourceTemplate {
  readonly kind = "template";
  readonly uriTemplate: string;
  readonly mediaType: string | undefined;

  constructor(descriptor: TemplateDescriptor, link: RemoteLink) {
    super(descriptor, link);
    this.uriTemplate = descriptor.uriTemplate;
    this.mediaType = descriptor.mediaType;
  }

  resource(uri: string): Resource {
    const { name, title, description, mediaType } = this;
    return new RemoteResource({ uri, name, title, description, mediaType }, this.link);
  }
}

const classes: { readonly [K in Kind]: new (descriptor: DescriptorMap[K], link: RemoteLink) => Item } = {
  tool: RemoteTool,
  prompt: RemotePrompt,
  resource: RemoteResource,
  template: RemoteTemplate,
};

/** Makes the item of a descriptor. */
export function remoteItem<K extends Kind>(kind: K, descriptor: DescriptorMap[K], link: RemoteLink): Item {
  return new classes[kind](descriptor, link);
}

function unsupported(link: RemoteLink, what: string): ToolkitError<"REMOTE_ERROR"> {
  return new ToolkitError("REMOTE_ERROR", `${link.label} no longer offers ${what}.`, { server: link.label });
}
