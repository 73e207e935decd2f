import { didYouMean, nearest } from "../../lib/similar.ts";
import { isRecord } from "../../lib/value.ts";
import type { HttpParameter } from "../http/http-operation.ts";
import { headerNameFault, isToken } from "../http/request-message.ts";
import type { ListedOperation } from "./list-operations.ts";
import { type DocumentFields, DocumentMistake, type OpenApiDocument } from "./openapi-document.ts";

/** A credential of a security scheme: a key or token, or a login. */
export type Credential = string | { readonly username: string; readonly password: string };

/** The credentials as requests carry them. */
export interface RequestCredentials {
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly parameters: readonly HttpParameter[];
}

/** Of an operation. */
const maxAlternatives = 100;

interface Scheme {
  readonly place: "header" | "query" | "cookie";
  readonly name: string;
  readonly value: string;
}

/** The credentials of a manifest, by the security schemes of a document. */
export class DocumentSecurity {
  /** To be masked. */
  readonly secrets: readonly string[];
  readonly #schemes: ReadonlyMap<string, Scheme>;
  readonly #requirements: unknown;
  readonly #isStated: boolean;

  /** @throws DocumentMistake for a name that no scheme has, and for a scheme that is not supported */
  constructor(
    document: OpenApiDocument,
    given: Readonly<Record<string, Credential>>,
    operations: readonly ListedOperation[],
  ) {
    const { components } = document.root;
    const schemes = isRecord(components)
      ? document.entries({ value: components, at: "/components" }, "securitySchemes")
      : [];
    const known = new Map(schemes);
    const read = Object.entries(given).map(([name, credential]) => {
      const placed = known.get(name);
      if (placed === undefined)
        throw new DocumentMistake("/components/securitySchemes", unknownScheme(name, [...known.keys()]));
      const { value, at } = document.object(placed.value, placed.at, "A security scheme");
      return [name, schemeOf(value, credential, { name, at })] as const;
    });
    this.#schemes = new Map(read);
    this.secrets = Object.values(given).flatMap((each) =>
      typeof each === "string" ? [each] : [each.password, basicOf(each)],
    );
    this.#requirements = document.root.security;
    this.#isStated = this.#requirements !== undefined || operations.some(({ value }) => value.security !== undefined);
  }

  /** True for a parameter whose value is a credential of the manifest: no model is to give it. */
  isGiven(place: string, name: string): boolean {
    const isSame = (scheme: Scheme) =>
      scheme.place === place &&
      (place === "header" ? scheme.name.toLowerCase() === name.toLowerCase() : scheme.name === name);
    return [...this.#schemes.values()].some(isSame);
  }

  /**
   * The credentials of an operation: of the first of its alternatives that the manifest has all credentials for. Where a document says of no
   * operation which it needs, each gets all.
   */
  for({ value }: ListedOperation): RequestCredentials {
    const stated = value.security ?? this.#requirements;
    const alternatives = Array.isArray(stated) ? stated.slice(0, maxAlternatives).filter(isRecord) : [];
    const names = alternatives
      .map((each) => Object.keys(each))
      .find((each) => each.length > 0 && each.every((name) => this.#schemes.has(name)));
    const chosen = this.#isStated ? (names ?? []) : [...this.#schemes.keys()];
    const schemes = chosen.flatMap((name) => this.#schemes.get(name) ?? []);
    const inPlace = (place: Scheme["place"]) => schemes.filter((scheme) => scheme.place === place);
    return {
      headers: Object.fromEntries(inPlace("header").map(({ name, value: text }) => [name.toLowerCase(), text])),
      parameters: [...inPlace("query"), ...inPlace("cookie")].map(({ place, name, value: text }) => ({
        in: place,
        name,
        value: [text],
      })),
    };
  }
}

function unknownScheme(name: string, known: readonly string[]): string {
  const there = known.length === 0 ? "It has none: write spec.headers." : `There are ${known.slice(0, 20).join(", ")}.`;
  const hint = didYouMean(nearest(name, known), there);
  return `The document has no security scheme ${JSON.stringify(name)}, for which spec.auth has a credential. ${hint}`;
}

function schemeOf(scheme: DocumentFields, credential: Credential, { name, at }: { name: string; at: string }): Scheme {
  const { type, in: place, name: parameter } = scheme;
  const http = typeof scheme.scheme === "string" ? scheme.scheme.toLowerCase() : undefined;
  if (type === "http" && http === "basic") {
    if (typeof credential === "string")
      throw new DocumentMistake(at, `spec.auth.${name} must be { username, password }.`);
    return { place: "header", name: "authorization", value: basicOf(credential) };
  }
  if (typeof credential !== "string")
    throw new DocumentMistake(at, `spec.auth.${name} must be a text: its key or token.`);
  if ((type === "http" && http === "bearer") || type === "oauth2" || type === "openIdConnect")
    return { place: "header", name: "authorization", value: `Bearer ${credential}` };
  const isPlace = place === "header" || place === "query" || place === "cookie";
  if (type === "apiKey" && isPlace && typeof parameter === "string" && isName(place, parameter))
    return { place, name: parameter, value: credential };
  const message = `The security scheme ${JSON.stringify(name)} is none that is supported: apiKey, http bearer and basic, oauth2, openIdConnect. Remove it from spec.auth, and write spec.headers.`;
  throw new DocumentMistake(at, message);
}

function isName(place: Scheme["place"], name: string): boolean {
  if (place === "query") return name !== "" && name.isWellFormed();
  return place === "header" ? headerNameFault(name) === undefined : isToken(name);
}

function basicOf(credential: Credential): string {
  if (typeof credential === "string") return credential;
  return `Basic ${Buffer.from(`${credential.username}:${credential.password}`).toString("base64")}`;
}
