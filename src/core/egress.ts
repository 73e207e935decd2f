import { type EgressError, EgressPolicy } from "../lib/fetch/egress-policy.ts";
import { ToolkitError } from "./error.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "./options.ts";

/** Where requests may go whose URL a stranger chose: a server, an authorization server, a prompt, a caller. */
export interface EgressOptions {
  /**
   * Origins (`http://10.0.0.5:8080`: scheme, host and port) and CIDR blocks (`10.0.0.0/8`) that may be reached beside public addresses. Private,
   * link-local, loopback and other special addresses are refused without it.
   */
  readonly allow?: readonly string[] | undefined;
}

/** Where requests of a toolkit may go whose URL a stranger chose. */
export interface ToolkitEgressOptions extends EgressOptions {
  /**
   * Whether `{{media url=...}}` of a prompt may fetch an http(s) URL that comes from the input. Default false: it fetches those alone that are
   * written in the prompt; a `data:` URL is always taken.
   */
  readonly mediaFromInput?: boolean | undefined;
}

/** The egress rules that prompts are rendered under. */
export interface MediaEgress {
  readonly policy: EgressPolicy;
  readonly mediaFromInput: boolean;
}

const strictMedia: MediaEgress = { policy: EgressPolicy.strict, mediaFromInput: false };
const optionNames: OptionNames<EgressOptions> = { allow: true };
const toolkitNames: OptionNames<ToolkitEgressOptions> = { ...optionNames, mediaFromInput: true };

/**
 * Reads the egress options of a part, such as a connector.
 *
 * @param owner - the part, for the message: `of a connector`
 * @throws ToolkitError `INVALID_CONFIG` for what is neither an origin nor a CIDR block, and for an option there is not
 */
export function readEgress(options: EgressOptions | undefined, owner: string): EgressPolicy {
  if (options === undefined) return EgressPolicy.strict;
  assertOptionNames(options, optionNames, `of egress ${owner}`, "egress");
  return readAllowed(options);
}

/** Reads the egress options of a toolkit. @throws ToolkitError `INVALID_CONFIG`, as `readEgress` does */
export function readToolkitEgress(options: ToolkitEgressOptions = {}): MediaEgress {
  assertOptionNames(options, toolkitNames, "of egress", "egress");
  const { mediaFromInput = false } = options;
  if (typeof mediaFromInput !== "boolean")
    throw invalidOption("egress.mediaFromInput", "true or false", mediaFromInput);
  return { policy: readAllowed(options), mediaFromInput };
}

/** True for an origin or a CIDR block, as `egress.allow` has them. */
export function isEgressRule(text: string): boolean {
  return typeof EgressPolicy.parse([text]) !== "number";
}

function readAllowed({ allow = [] }: EgressOptions): EgressPolicy {
  if (!Array.isArray(allow)) throw invalidOption("egress.allow", "a list of origins and CIDR blocks", allow);
  const policy = EgressPolicy.parse(allow);
  if (typeof policy !== "number") return policy;
  const wanted =
    "an origin without a path (http://10.0.0.5:8080), or a CIDR block without bits behind its prefix (10.0.0.0/8, 10.0.0.5/32)";
  throw invalidOption(`egress.allow[${policy}]`, wanted, allow[policy]);
}

/** The key under which the context of a call has its egress rules. */
export const egressKey: unique symbol = Symbol("toolweave.egress");

/** The egress rules of a call; the strictest for a context that no toolkit made. */
export function egressOf(context: object): MediaEgress {
  return (context as { readonly [egressKey]?: MediaEgress })[egressKey] ?? strictMedia;
}

/** The error of a request that the egress policy refuses, for its caller. */
export function egressDenied(cause: EgressError): ToolkitError<"DENIED"> {
  return new ToolkitError("DENIED", cause.message, { rule: "egress" }, { cause });
}
