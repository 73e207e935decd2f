import { type Content, isContent, isResource } from "../../core/resource.ts";
import { excerpt } from "../../lib/excerpt.ts";
import { isRecord, jsonIn } from "../../lib/value.ts";
import { textOf } from "../../resource/content.ts";
import { isJsonType } from "../../resource/media-type.ts";
import { secretKeyTest } from "./secret-keys.ts";

/** About so many characters of arguments, and so many of a result, are kept: backends cut or drop longer attributes. */
const maxLength = 8_192;

/** Writes down what was passed and what was given, as much of it as may be seen. */
export class Recorder {
  readonly #isSecret: (key: string) => boolean;

  /** @param redact - globs on keys, beside those that are always secret */
  constructor(redact: readonly string[]) {
    this.#isSecret = secretKeyTest(redact);
  }

  /**
   * As JSON text. It never throws.
   *
   * @param redact - globs on keys of this value alone
   */
  record(value: unknown, redact: readonly string[] = []): string {
    const isSecret = redact.length === 0 ? this.#isSecret : eitherOf(this.#isSecret, secretKeyTest(redact));
    return excerpt(visibleOf(value), { isSecret, maxLength });
  }
}

function eitherOf(one: (key: string) => boolean, other: (key: string) => boolean): (key: string) => boolean {
  return (key) => one(key) || other(key);
}

/** The visible part of a Content, or of a value that holds some, without waiting: of bytes their type and size. */
function visibleOf(value: unknown): unknown {
  if (isContent(value)) return contentOf(value);
  if (isResource(value)) return { uri: value.uri, mediaType: value.mediaType };
  if (Array.isArray(value)) return value.some(isRecord) ? value.map(visibleOf) : value;
  // A rendered prompt: its messages hold Contents.
  if (isRecord(value) && Array.isArray(value.messages)) return { ...value, messages: value.messages.map(messageOf) };
  return value;
}

function messageOf(message: unknown): unknown {
  return isRecord(message) ? { ...message, content: visibleOf(message.content) } : message;
}

function contentOf(content: Content): unknown {
  if (content.parts !== undefined) return content.parts.map(contentOf);
  return structureOf(content) ?? { mediaType: content.mediaType, size: content.size };
}

/** JSON as what it says, for its keys are looked at; any other text as it is. Undefined for bytes. */
function structureOf(content: Content): unknown {
  const text = textOf(content);
  if (text === undefined || !isJsonType(content.mediaType)) return text;
  const value = jsonIn(text);
  return value === undefined ? text : value;
}
