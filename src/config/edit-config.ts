import { applyEdits, modify } from "jsonc-parser";
import { isMap, parseDocument } from "yaml";
import type { WrittenConnector } from "./connector-schema.ts";

/** A server as it is written into a configuration. */
export type NewConnector =
  | string
  | Pick<WrittenConnector, "url" | "headers" | "command" | "args" | "env" | "cwd" | "trust" | "allow">;

/** The configuration that `add` begins where there is none. */
export function emptyConfigOf(file: string): string {
  return isJson(file) ? "{}\n" : emptyYaml;
}

const emptyYaml = `# yaml-language-server: $schema=./node_modules/toolweave/docs/reference/toolweave.schema.json
connectors: {}
`;

/**
 * Adds a server to the text of a configuration, or replaces the one of that name. Comments and the order of everything else stay.
 *
 * @param list - the list that it belongs to, such as `connectors` or `mcpServers`
 */
export function withConnector(file: string, text: string, list: string, name: string, connector: NewConnector): string {
  const value = typeof connector === "string" ? connector : JSON.parse(JSON.stringify(connector));
  if (isJson(file)) return edited(text, [list, name], value);
  const document = parseDocument(text);
  const entries = document.get(list);
  // Entries of a list that was written as `{}` go on lines of their own.
  if (isMap(entries) && entries.items.length === 0) entries.flow = false;
  if (!isMap(entries)) document.set(list, document.createNode({ [name]: value }));
  else entries.set(name, document.createNode(value));
  return document.toString({ lineWidth: 0 });
}

/** Removes a server from the text of a configuration. @returns undefined where there is none of that name */
export function withoutConnector(file: string, text: string, list: string, name: string): string | undefined {
  if (isJson(file)) return edited(text, [list, name], undefined);
  const document = parseDocument(text);
  return document.deleteIn([list, name]) ? document.toString({ lineWidth: 0 }) : undefined;
}

function isJson(file: string): boolean {
  return /\.jsonc?$/i.test(file);
}

function edited(text: string, path: string[], value: unknown): string {
  const tabSize = /^( +)\S/m.exec(text)?.[1]?.length ?? 2;
  const formattingOptions = { insertSpaces: !/^\t/m.test(text), tabSize, eol: "\n" };
  return applyEdits(text, modify(text === "" ? "{}" : text, path, value, { formattingOptions }));
}
