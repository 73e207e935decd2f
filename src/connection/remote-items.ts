import { boundedValues } from "../core/argument-values.ts";
import { setItemCompleter } from "../core/completion.ts";
import type {
  ConnectorSession,
  DescriptorMap,
  PromptDescriptor,
  ResourceDescriptor,
  TemplateDescriptor,
  ToolDescriptor,
} from "../core/connector.ts";
import { ToolkitError } from "../core/error.ts";
import { setExtras } from "../core/extras.ts";
import type {
  CallContext,
  Item,
  ItemMap,
  Kind,
  Prompt,
  PromptArgument,
  RenderedPrompt,
  ResourceTemplate,
  Tool,
} from "../core/item.ts";
import type { Content, ReadOptions, Resource } from "../core/resource.ts";
import type { JsonSchema } from "../core/schema/types.ts";
import type { ToolAnnotations, ToolOptions } from "../core/tool-options.ts";
import { present } from "../lib/value.ts";
import { withAttachments } from "../prompt/prompt-messages.ts";
import { wholeHandle } from "../resource/handle.ts";
import type { ConnectionRequests } from "./connection-requests.ts";
import { untrustedContent, untrustedError, untrustedPrompt, untrustedValues } from "./untrusted.ts";

/** The connection of a remote item. The item is bound to no session: each use takes the current one. */
export interface RemoteLink {
  readonly label: string;
  /** Inactivity limit of its tools, in milliseconds. */
  readonly timeoutMs: number | undefined;
  readonly requests: ConnectionRequests;
  /** Its namespace where its server is not trusted: results are marked with it. */
  readonly untrusted: string | undefined;
  /**
   * Asked as a request is sent: the item may have changed while the call waited for the connection.
   *
   * @throws ToolkitError `QUARANTINED`
   */
  assertAccepted(kind: Kind, key: string): void;
}

/** What a server sent, as its trust has it: of a standard one as it came. */
function received<T>(
  { untrusted }: RemoteLink,
  sent: Promise<T>,
  mark: (received: T, namespace: string) => Promise<T>,
): Promise<T> {
  if (untrusted === undefined) return sent;
  return sent.then(
    (value) => mark(value, untrusted),
    async (error) => {
      throw await untrustedError(error, untrusted);
    },
  );
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
    const send = (session: ConnectorSession) => {
      this.link.assertAccepted("tool", this.name);
      return session.call(this.name, input, context);
    };
    return received(
      this.link,
      this.link.requests.send({ options: context, send, lost: "OUTCOME_UNKNOWN" }),
      untrustedContent,
    );
  }
}

class RemotePrompt extends RemoteItem implements Prompt {
  readonly kind = "prompt";
  readonly input: JsonSchema;
  /** As listed by the server. */
  readonly arguments: readonly PromptArgument[];

  constructor(descriptor: PromptDescriptor, link: RemoteLink) {
    super(descriptor, link);
    this.arguments = descriptor.arguments ?? [];
    this.input = schemaOfArguments(this.arguments);
    completedByServer(this, "prompt", this.name, link);
  }

  /** Attachments are added here: MCP prompts have none. */
  async render(input: unknown, context: CallContext): Promise<RenderedPrompt> {
    const send = (session: ConnectorSession) => {
      if (session.render === undefined) throw unsupported(this.link, "prompts");
      this.link.assertAccepted("prompt", this.name);
      return session.render(this.name, input, context);
    };
    const rendering = this.link.requests.send({ options: context, send, lost: "UNAVAILABLE" });
    const rendered = await received(this.link, rendering, untrustedPrompt);
    return { ...rendered, messages: withAttachments(rendered.messages, context.attachments) };
  }
}

/** Has the arguments of an item completed by its server: by none where the server completes nothing. */
function completedByServer(
  item: Prompt | ResourceTemplate,
  kind: "prompt" | "template",
  key: string,
  link: RemoteLink,
): void {
  setItemCompleter(item, (argument, value, { arguments: others, context }) => {
    const send = async (session: ConnectorSession) =>
      (await session.complete?.({ kind, key, argument, value, arguments: others }, context)) ?? boundedValues([]);
    return received(link, link.requests.send({ options: context, send, lost: "UNAVAILABLE" }), untrustedValues);
  });
}

/** The schema of an object with the arguments as members. MCP sends them as strings. */
function schemaOfArguments(list: readonly PromptArgument[]): JsonSchema {
  const properties = list.map(({ name, title, description }) => [
    name,
    { type: "string", ...present({ title, description }) },
  ]);
  const required = list.filter((argument) => argument.required === true).map(({ name }) => name);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? {} : { required }),
  };
}

/** @param template - the URI template that made it */
function remoteResource(descriptor: ResourceDescriptor, link: RemoteLink, template?: string): Resource {
  const { uri, name, title, description, meta, mediaType, size } = descriptor;
  const read = (options: ReadOptions) => {
    const send = (session: ConnectorSession) => {
      if (session.read === undefined) throw unsupported(link, "resources");
      link.assertAccepted(template === undefined ? "resource" : "template", template ?? uri);
      return session.read(uri, options);
    };
    return received(link, link.requests.send({ options, send, lost: "UNAVAILABLE" }), untrustedContent);
  };
  return wholeHandle({ uri, name, title, description, meta, mediaType, size, read });
}

class RemoteTemplate extends RemoteItem implements ResourceTemplate {
  readonly kind = "template";
  readonly uriTemplate: string;
  readonly mediaType: string | undefined;

  constructor(descriptor: TemplateDescriptor, link: RemoteLink) {
    super(descriptor, link);
    this.uriTemplate = descriptor.uriTemplate;
    this.mediaType = descriptor.mediaType;
    completedByServer(this, "template", this.uriTemplate, link);
  }

  resource(uri: string): Resource {
    const { name, title, description, mediaType } = this;
    return remoteResource({ uri, name, title, description, mediaType }, this.link, this.uriTemplate);
  }
}

const makers: { readonly [K in Kind]: (descriptor: DescriptorMap[K], link: RemoteLink) => ItemMap[K] } = {
  tool: (descriptor, link) => new RemoteTool(descriptor, link),
  prompt: (descriptor, link) => new RemotePrompt(descriptor, link),
  resource: (descriptor, link) => remoteResource(descriptor, link),
  template: (descriptor, link) => new RemoteTemplate(descriptor, link),
};

/** The item of a descriptor. */
export function remoteItem<K extends Kind>(kind: K, descriptor: DescriptorMap[K], link: RemoteLink): Item {
  const item = makers[kind](descriptor, link);
  if (descriptor.extras !== undefined) setExtras(item, descriptor.extras);
  return item;
}

function unsupported(link: RemoteLink, what: string): ToolkitError<"REMOTE_ERROR"> {
  return new ToolkitError("REMOTE_ERROR", `${link.label} no longer offers ${what}.`, { server: link.label });
}
