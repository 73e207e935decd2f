import { type Content, type ContentJson, type ReadOptions, resourceBrand } from "../core/resource.ts";
import { beginningOf, type InspectOptions, inspect, shownAs } from "../lib/console-text.ts";
import { parseJsonText } from "./json-text.ts";

/** The descriptive fields of a Content. Names and URIs are taken as they are: the caller has checked those of a user. */
export interface ContentFields {
  readonly name: string;
  /** Default: the name behind the scheme `text`, `json`, `data` or `multipart`. */
  readonly uri?: string | undefined;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  /** Default: `text/plain`, `application/json`, `application/octet-stream` or `multipart/mixed`. */
  readonly mediaType?: string | undefined;
}

// The results of calls are of this class: brand and kind are on the prototype, and size, bytes and JSON are made when asked.
/** The common part of every Content. */
export abstract class LoadedContent implements Content {
  readonly name: string;
  readonly uri: string;
  readonly mediaType: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly meta: Readonly<Record<string, unknown>> | undefined;

  constructor(fields: ContentFields, scheme: string, mediaType: string) {
    this.name = fields.name;
    this.uri = fields.uri ?? scheme + fields.name;
    this.mediaType = fields.mediaType ?? mediaType;
    this.title = fields.title;
    this.description = fields.description;
    this.meta = fields.meta;
  }

  get kind(): "resource" {
    return "resource";
  }

  get [resourceBrand](): "loaded" {
    return "loaded";
  }

  abstract get size(): number;
  /** The caller's own: to change it changes no Content. */
  abstract bytes(options?: ReadOptions): Promise<Uint8Array>;
  abstract text(options?: ReadOptions): Promise<string>;

  async json(options?: ReadOptions): Promise<unknown> {
    return parseJsonText(await this.text(options), this.name, this.mediaType);
  }

  toJSON(): ContentJson {
    return { ...describe(this), ...this.body() };
  }

  /** For the console: the beginning of a text stands for the whole. */
  [inspect](depth: number, options: InspectOptions): string {
    const { name, uri, mediaType, title, size } = this;
    const shown = uri.endsWith(`:${name}`) ? { name, mediaType, title, size } : { name, uri, mediaType, title, size };
    const { text, parts } = this.shown();
    return shownAs("Content", { ...shown, text: beginningOf(text), parts }, depth, options);
  }

  /** The form of the content on the console. */
  protected shown(): { readonly text?: string | undefined; readonly parts?: readonly Content[] | undefined } {
    return { text: this.body().text };
  }

  protected abstract body(): Pick<ContentJson, "text" | "base64" | "parts">;
}

function describe(content: Content): ContentJson {
  const { kind, name, uri, mediaType, title, description, meta } = content;
  return {
    kind,
    name,
    uri,
    mediaType,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(meta === undefined ? {} : { meta }),
  };
}
