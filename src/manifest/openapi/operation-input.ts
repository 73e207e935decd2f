import { shown } from "../../core/options.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { pointerTo } from "../../lib/pointer.ts";
import { stripInvisible } from "../../lib/visible-text.ts";
import type { ArgumentSlot, HttpParameter, ValueStyle } from "../http/http-operation.ts";
import { headerNameFault, isToken } from "../http/request-message.ts";
import type { ListedOperation } from "./list-operations.ts";
import { type DocumentFields, DocumentMistake, type OpenApiDocument, type Placed } from "./openapi-document.ts";
import { type OperationBody, requestBodyOf } from "./operation-body.ts";
import type { SharedSchemas } from "./shared-schemas.ts";

type Place = "path" | "query" | "header" | "cookie";

/** A parameter of an operation, and the property of the input that holds its value. */
export interface BoundParameter extends Placed {
  readonly name: string;
  readonly in: Place;
  readonly property: string;
  readonly isRequired: boolean;
}

/** The request of an operation as its input gives it. */
export interface OperationInput {
  readonly parameters: readonly BoundParameter[];
  readonly body: OperationBody | undefined;
}

/** The property of the body. */
const bodyProperty = "body";
const places: readonly Place[] = ["path", "query", "header", "cookie"];
/** Headers that are no parameters, as the specification has it. */
const ownHeaders = new Set(["accept", "content-type", "authorization"]);
const styles: Readonly<Record<Place, readonly ValueStyle[]>> = {
  path: ["simple", "label", "matrix"],
  query: ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
  header: ["simple"],
  cookie: ["form"],
};
const maxParameters = 500;
/** In values. */
const workOfParameter = 25;
const maxName = 200;

/**
 * Reads the parameters and the body of an operation.
 *
 * @param isGiven - true for a parameter whose value the manifest gives, such as a key
 * @throws DocumentMistake
 */
export function operationInput(
  operation: ListedOperation,
  document: OpenApiDocument,
  isGiven: (place: string, name: string) => boolean,
): OperationInput {
  const body = requestBodyOf(operation, document);
  const found = new Map<string, Omit<BoundParameter, "property">>();
  for (const each of [...document.list(operation.item, "parameters"), ...document.list(operation, "parameters")]) {
    const parameter = parameterOf(document.object(each.value, each.at, "A parameter"));
    if (isSendable(parameter, operation.path) && !isGiven(parameter.in, parameter.name))
      found.set(`${parameter.in} ${parameter.name}`, parameter);
  }
  document.spend(found.size * workOfParameter, operation.at);
  if (found.size > maxParameters)
    throw new DocumentMistake(operation.at, `The operation has more than ${maxParameters} parameters.`);
  const parameters = bound([...found.values()], body !== undefined);
  assertPath(operation, parameters);
  return { parameters, body };
}

/** False for a header of the client's own, and for a parameter of another path, such as one that several paths share. */
function isSendable({ in: place, name }: Omit<BoundParameter, "property">, path: string): boolean {
  if (place === "path") return path.includes(`{${name}}`);
  return place !== "header" || (!ownHeaders.has(name.toLowerCase()) && headerNameFault(name) === undefined);
}

function parameterOf(placed: Placed): Omit<BoundParameter, "property"> {
  const { name, in: place, required } = placed.value;
  if (typeof name !== "string" || name === "")
    throw new DocumentMistake(pointerTo(placed.at, "name"), "A parameter needs a name.");
  if (name.length > maxName)
    throw new DocumentMistake(pointerTo(placed.at, "name"), `A name may have ${maxName} characters.`);
  if (!places.includes(place as Place))
    throw new DocumentMistake(pointerTo(placed.at, "in"), "in must be path, query, header or cookie.");
  if (place === "cookie" && !isToken(name))
    throw new DocumentMistake(pointerTo(placed.at, "name"), `${shown(name)} is no name of a cookie.`);
  return { ...placed, name, in: place as Place, isRequired: required === true || place === "path" };
}

/** Gives each parameter a property of its own: its name, or where another has that one, the name with its place. */
function bound(parameters: readonly Omit<BoundParameter, "property">[], hasBody: boolean): readonly BoundParameter[] {
  const taken = new Set(hasBody ? [bodyProperty] : []);
  const inOrder = places.flatMap((place) => parameters.filter((each) => each.in === place));
  return inOrder.map((parameter) => {
    const plain =
      parameter.name
        .replace(/[^A-Za-z0-9_.-]+/g, "_")
        .replace(/^_+(?=.)|(?<=.)_+$/g, "")
        .slice(0, 50) || "_";
    let property = taken.has(plain) ? `${plain}_${parameter.in}` : plain;
    for (let count = 2; taken.has(property); count += 1) property = `${plain}_${parameter.in}_${count}`;
    taken.add(property);
    return { ...parameter, property };
  });
}

/** Each `{name}` of the path needs its parameter. */
function assertPath({ path, at }: ListedOperation, parameters: readonly BoundParameter[]): void {
  const wanted = new Set([...path.matchAll(/\{([^{}]*)\}/g)].map(([, name]) => name));
  const given = new Set(parameters.filter((each) => each.in === "path").map(({ name }) => name));
  for (const name of wanted)
    if (name === undefined || !given.has(name))
      throw new DocumentMistake(
        at,
        `The path ${shown(path)} has {${name}}, and there is no parameter of that name in the path.`,
      );
}

/** The one input schema of an operation: its parameters by name, and `body`. @throws DocumentMistake */
export function inputSchema({ parameters, body }: OperationInput, schemas: SharedSchemas, at: string): JsonSchema {
  const properties: Record<string, unknown> = {};
  const references = new Set<string>();
  for (const parameter of parameters) {
    const { schema, references: found } = schemas.convert(...schemaOf(parameter));
    const described = typeof schema === "boolean" ? {} : schema;
    const description = describeParameter(parameter, described.description);
    properties[parameter.property] = { ...described, ...(description === "" ? {} : { description }) };
    for (const reference of found) references.add(reference);
  }
  if (body !== undefined) {
    const { schema, references: found } = body.schema(schemas);
    properties[bodyProperty] = schema;
    for (const reference of found) references.add(reference);
  }
  const required = [
    ...parameters.filter(({ isRequired }) => isRequired).map(({ property }) => property),
    ...(body?.isRequired === true ? [bodyProperty] : []),
  ];
  const schema = {
    type: "object",
    properties,
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
  return schemas.complete(schema, references, at);
}

/** The schema of a parameter: its own, or that of its content. */
function schemaOf({ value, at }: BoundParameter): [schema: unknown, at: string] {
  const content = contentOf(value);
  if (content === undefined) return [value.schema ?? {}, pointerTo(at, "schema")];
  const [mediaType, { schema }] = content;
  return [schema ?? {}, pointerTo(pointerTo(pointerTo(at, "content"), mediaType), "schema")];
}

function contentOf({ content }: DocumentFields): readonly [mediaType: string, fields: DocumentFields] | undefined {
  if (typeof content !== "object" || content === null) return undefined;
  const [first] = Object.entries(content);
  return first === undefined || typeof first[1] !== "object" || first[1] === null
    ? undefined
    : (first as [string, DocumentFields]);
}

const maxDescription = 1_000;

function describeParameter({ value, name, in: place, property }: BoundParameter, ofSchema: unknown): string {
  const own = typeof value.description === "string" && value.description !== "" ? value.description : ofSchema;
  const text = typeof own === "string" ? own.trim().slice(0, maxDescription) : "";
  const sent =
    property === name ? "" : `Sent as ${place === "path" ? "a part of the path" : `the ${kindOf(place)}`} ${name}.`;
  const deprecated = value.deprecated === true ? "Deprecated." : "";
  return stripInvisible([deprecated, text, sent].filter((each) => each !== "").join(" "));
}

function kindOf(place: Place): string {
  return place === "query" ? "query parameter" : place;
}

/** The place of the value of a parameter in its request. @throws DocumentMistake for a style that its place has not */
export function slotOf({ value, at, name, in: place, property }: BoundParameter): ArgumentSlot {
  const argument = [property];
  if (contentOf(value) !== undefined) return { argument, style: "json" };
  const allowed = styles[place];
  const style = (value.style ?? allowed[0]) as ValueStyle;
  if (!allowed.includes(style))
    throw new DocumentMistake(
      pointerTo(at, "style"),
      `The style of a parameter in ${place} must be one of ${allowed.join(", ")}.`,
    );
  const byDefault = style === "form" || style === "deepObject";
  return { argument, style, explode: typeof value.explode === "boolean" ? value.explode : byDefault, name };
}

/** The parameters beside those of the path, as they are sent. @throws DocumentMistake */
export function httpParameters(parameters: readonly BoundParameter[]): readonly HttpParameter[] {
  return parameters.flatMap((parameter) =>
    parameter.in === "path" ? [] : [{ in: parameter.in, name: parameter.name, value: [slotOf(parameter)] }],
  );
}
