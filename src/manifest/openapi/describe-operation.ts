import { stripInvisible } from "../../lib/visible-text.ts";
import { isJsonType } from "../../resource/media-type.ts";
import type { ListedOperation } from "./list-operations.ts";
import type { OperationInput } from "./operation-input.ts";
import type { OperationOutput } from "./operation-output.ts";

/** More of a description is cut: a model pays for it with every turn. */
const maxText = 1_500;
const maxTitle = 200;
const maxTypes = 5;
const maxType = 100;

/** The parameters of pages, as APIs name them. */
const pages =
  /^(?:page|page[_-]?(?:number|no|index|token|offset|cursor)|cursor|after|before|offset|skip|start|starting_after|ending_before|(?:next|continuation|pagination)[_-]?token|since_id|max_id|marker)$/i;
const sizes = /^(?:per_page|page[_-]?size|limit|count|max[_-]?results|top|first|last|max_items)$/i;

/** The description of an operation's tool: its texts, and what a caller needs to know of the request. */
export function describeOperation(
  { value, method, path }: ListedOperation,
  { parameters, body }: OperationInput,
  { mediaTypes }: OperationOutput,
): string {
  const [summary, long] = [textOf(value.summary), textOf(value.description)];
  const own = long.startsWith(summary) ? long : [summary, long].filter((text) => text !== "").join("\n\n");
  const text = own === "" ? `${method} ${path}` : cut(own, maxText);
  const queries = parameters.filter((parameter) => parameter.in === "query").map(({ property }) => property);
  const paging = queries.filter((name) => pages.test(lastPart(name)));
  const size = paging.length === 0 ? [] : queries.filter((name) => sizes.test(lastPart(name)));
  const notes = [
    value.deprecated === true ? "Deprecated: use it only where nothing else does." : "",
    body === undefined ? "" : sends(body.mediaType.slice(0, maxType), body.others),
    mediaTypes.length === 0 || mediaTypes.every(isJsonType) ? "" : `Answers ${listed(mediaTypes)}.`,
    paging.length === 0
      ? ""
      : `Answers in pages: go on with ${[...paging, ...size].map((name) => `\`${name}\``).join(", ")}.`,
  ].filter((note) => note !== "");
  return stripInvisible(notes.length === 0 ? text : `${text}\n\n${notes.join(" ")}`);
}

function sends(mediaType: string, others: readonly string[]): string {
  if (isJsonType(mediaType) && others.length === 0) return "";
  return `Sends ${mediaType}${others.length === 0 ? "" : ` (the service takes ${listed(others)} too)`}.`;
}

function listed(types: readonly string[]): string {
  const shown = types.slice(0, maxTypes).map((type) => type.slice(0, maxType));
  return types.length > maxTypes ? `${shown.join(", ")} and others` : shown.join(", ");
}

/** `page[size]` is written `page_size` or `page.size` here. */
function lastPart(name: string): string {
  return /^page[._](?:number|size|offset|limit|cursor)$/.test(name)
    ? name.replace(/[._]/, "_").replace("page_limit", "limit")
    : name;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value.trim() : "";
}

function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const part = text.slice(0, max).toWellFormed();
  const end = Math.max(part.lastIndexOf("\n"), part.lastIndexOf(". ") + 1);
  return `${part.slice(0, end > max / 2 ? end : max).trimEnd()} …`;
}

/** The title of a tool: the summary. */
export function titleOf({ value }: ListedOperation): string | undefined {
  const title = textOf(value.summary);
  return title === "" ? undefined : stripInvisible(cut(title, maxTitle));
}
