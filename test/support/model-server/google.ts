import {
  type Dialect,
  type Fields,
  type Frame,
  fieldsIn,
  isBase64,
  listIn,
  need,
  onlyFields,
  pieces,
  type Told,
  type WireRequest,
} from "./dialect.ts";

const signature = Buffer.from("signed by the server").toString("base64");
const finishes = { stop: "STOP", length: "MAX_TOKENS", filter: "SAFETY", tool: "STOP" };
const statuses: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  503: "UNAVAILABLE",
};
const topFields = [
  "contents",
  "systemInstruction",
  "tools",
  "toolConfig",
  "generationConfig",
  "safetySettings",
  "cachedContent",
  "labels",
];
/** The keywords that a schema of the API's own form may have. */
const schemaFields = [
  "type",
  "format",
  "title",
  "description",
  "nullable",
  "enum",
  "maxItems",
  "minItems",
  "properties",
  "required",
  "minProperties",
  "maxProperties",
  "minLength",
  "maxLength",
  "pattern",
  "example",
  "anyOf",
  "propertyOrdering",
  "default",
  "items",
  "minimum",
  "maximum",
];

/** @see https://ai.google.dev/api/generate-content */
export const google: Dialect = {
  path: /^\/google\/v1beta\/models\/[^/:]+:(generateContent|streamGenerateContent\?alt=sse)$/,
  callId: (number) => `fc_${number}`,
  isStream: ({ path }) => path.includes(":streamGenerateContent"),
  check,
  whole: (told, request) => ({ ...candidate(told, request, parts(told), finishes[told.finish]), ...usage(told) }),
  frames,
  error: (status, message) => ({ error: { code: status, message, status: statuses[status] ?? "INTERNAL" } }),
};

function check({ path, headers, body }: WireRequest): void {
  need(headers["x-goog-api-key"], "Method doesn't allow unregistered callers.", 403);
  onlyFields(body, topFields, "request");
  const declared = (body.tools === undefined ? [] : listIn(body.tools, "tools")).flatMap(({ functionDeclarations }) =>
    functionDeclarations === undefined ? [] : listIn(functionDeclarations, "functionDeclarations"),
  );
  for (const { name, parameters } of declared) {
    need(/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/.test(String(name)), `Invalid function name ${name}.`);
    if (parameters !== undefined) checkSchema(fieldsIn(parameters, "parameters"), "parameters");
  }
  const { responseMimeType: media, responseSchema: schema } = fieldsIn(body.generationConfig ?? {}, "generationConfig");
  const isOld = !path.includes("gemini-3");
  need(
    !(isOld && media === "application/json" && declared.length > 0),
    "Function calling with a response mime type: 'application/json' is unsupported",
  );
  if (schema !== undefined) {
    need(media === "application/json", "A response schema needs the response mime type application/json");
    checkSchema(fieldsIn(schema, "responseSchema"), "responseSchema");
  }
  checkContents(listIn(body.contents, "contents"), !isOld);
}

function checkSchema(schema: Fields, what: string): void {
  onlyFields(schema, schemaFields, `Unknown name at '${what}'`);
  for (const [name, inner] of Object.entries(fieldsIn(schema.properties ?? {}, what)))
    checkSchema(fieldsIn(inner, what), `${what}.${name}`);
  if (schema.items !== undefined) checkSchema(fieldsIn(schema.items, what), `${what}.items`);
  if (schema.type === "array") need(schema.items, `${what}.items: missing field.`);
}

function checkContents(contents: readonly Fields[], isSigned: boolean): void {
  need(contents.length > 0, "contents is not specified");
  need(contents[0]?.role === "user", "Please ensure that the first content is of role 'user'.");
  for (const [index, { role, parts: given }] of contents.entries()) {
    need(role === "user" || role === "model", `Please use a valid role: user, model. (${role})`);
    const here = listIn(given, `contents[${index}].parts`);
    need(here.length > 0, `contents[${index}].parts must not be empty.`);
    for (const [at, part] of here.entries()) checkPart(part, `contents[${index}].parts[${at}]`);
    const called = here.filter(({ functionCall }) => functionCall !== undefined);
    const before = contents[index - 1];
    if (called.length > 0) {
      need(
        before?.role === "user",
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
      );
      need(
        !isSigned || called[0]?.thoughtSignature === signature,
        "Function call is missing a thought_signature in functionCall parts.",
      );
    }
    const results = here.filter(({ functionResponse }) => functionResponse !== undefined);
    const asked =
      before === undefined
        ? []
        : listIn(before.parts, "parts").filter(({ functionCall }) => functionCall !== undefined);
    need(
      results.length === asked.length,
      "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
    );
    const names = (listed: readonly Fields[], key: string) =>
      listed
        .map((part) => String(fieldsIn(part[key], key).name))
        .sort()
        .join();
    need(
      names(results, "functionResponse") === names(asked, "functionCall"),
      "The names of function responses are not those of the calls.",
    );
  }
  need(contents.at(-1)?.role === "user", "Please ensure that the last content is of role 'user'.");
}

function checkPart(part: Fields, what: string): void {
  const data = ["text", "inlineData", "functionCall", "functionResponse", "fileData"].filter(
    (key) => part[key] !== undefined,
  );
  need(data.length === 1, `${what}.data: required oneof field 'data' must have one initialized field`);
  if (part.inlineData !== undefined) {
    const { mimeType, data: bytes } = fieldsIn(part.inlineData, what);
    need(typeof mimeType === "string" && isBase64(bytes), `${what}.inlineData: Base64 decoding failed`);
  }
  if (part.functionResponse !== undefined)
    fieldsIn(fieldsIn(part.functionResponse, what).response, `${what}.functionResponse.response`);
  if (part.functionCall !== undefined)
    fieldsIn(fieldsIn(part.functionCall, what).args ?? {}, `${what}.functionCall.args`);
}

function parts({ reasoning, text, toolCalls }: Told): Fields[] {
  return [
    ...(reasoning === "" ? [] : [{ text: reasoning, thought: true }]),
    ...(text === "" ? [] : [{ text }]),
    ...toolCalls.map(({ id, name, input }, index) => ({
      functionCall: { id, name, args: input },
      ...(index === 0 ? { thoughtSignature: signature } : {}),
    })),
  ];
}

function candidate({ number }: Told, { path }: WireRequest, given: readonly Fields[], finishReason?: string): Fields {
  const content = { role: "model", parts: given };
  const modelVersion = /models\/([^:]+)/.exec(path)?.[1];
  return {
    responseId: `resp-${number}`,
    modelVersion,
    candidates: [{ content, index: 0, ...(finishReason && { finishReason }) }],
  };
}

function usage({ usage: { input, cached, output, reasoning } }: Told): Fields {
  return {
    usageMetadata: {
      promptTokenCount: input,
      cachedContentTokenCount: cached,
      candidatesTokenCount: output - reasoning,
      thoughtsTokenCount: reasoning,
      totalTokenCount: input + output,
    },
  };
}

function* frames(told: Told, request: WireRequest): Generator<Frame> {
  for (const part of parts(told)) {
    const texts = typeof part.text === "string" ? [...pieces(part.text)].map((text) => ({ ...part, text })) : [part];
    for (const each of texts) yield { data: candidate(told, request, [each]) };
  }
  yield { data: { ...candidate(told, request, [{ text: "" }], finishes[told.finish]), ...usage(told) } };
}
