import { type EgressOptions, readEgress } from "../../core/egress.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../../core/options.ts";
import { EgressError, EgressPolicy } from "../../lib/fetch/egress-policy.ts";
import { type Glob, glob } from "../../lib/glob.ts";
import type { PackPlace } from "../pack.ts";

/** The options of the web pack. */
export interface HttpPackConfig extends PackPlace {
  /** The hosts that are asked, where `*` stands for any characters: `docs.example.com`, `*.example.com`. Default: all. */
  readonly allow?: readonly string[] | undefined;
  /** Hosts that are not asked, in the same form. They win over `allow`. */
  readonly deny?: readonly string[] | undefined;
  /** Addresses that may be reached beside public ones. */
  readonly egress?: EgressOptions | undefined;
  /** The largest answer, decoded, in bytes. Default 5 MiB. */
  readonly maxBytes?: number | undefined;
  /** The longest time of a request with its redirects, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number | undefined;
}

const names: OptionNames<HttpPackConfig> = {
  allow: true,
  deny: true,
  egress: true,
  maxBytes: true,
  timeoutMs: true,
  namespace: true,
};

/** The options as the tool uses them. */
export interface HttpRules {
  readonly egress: EgressPolicy;
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

/** @throws ToolkitError `INVALID_CONFIG` */
export function readHttpConfig(config: HttpPackConfig): HttpRules {
  const owner = "of the web pack";
  assertOptionNames(config, names, owner);
  const { allow, deny = [], egress, maxBytes = 5 * 2 ** 20, timeoutMs = 30_000 } = config;
  for (const [name, value] of Object.entries({ maxBytes, timeoutMs }))
    if (!Number.isSafeInteger(value) || value < 1) throw invalidOption(name, "a whole number from 1", value, owner);
  const lists = { allow: allow && readHosts("allow", allow, owner), deny: readHosts("deny", deny, owner) };
  return { egress: new HostRules(readEgress(egress, owner), lists), maxBytes, timeoutMs };
}

function readHosts(name: string, value: unknown, owner: string): readonly Glob[] {
  const wanted = "a list of hosts without scheme and path, such as docs.example.com or *.example.com";
  if (!Array.isArray(value)) throw invalidOption(name, wanted, value, owner);
  return value.map((host, index) => {
    if (typeof host !== "string" || !/^[^\s/@]+$/.test(host))
      throw invalidOption(`${name}[${index}]`, wanted, host, owner);
    return glob(host.toLowerCase());
  });
}

/** An egress policy, and lists of hosts: each redirect is put to both. */
class HostRules extends EgressPolicy {
  readonly #lists: { readonly allow: readonly Glob[] | undefined; readonly deny: readonly Glob[] };
  readonly #policy: EgressPolicy;
  override readonly lookup: EgressPolicy["lookup"];

  constructor(
    policy: EgressPolicy,
    lists: { readonly allow: readonly Glob[] | undefined; readonly deny: readonly Glob[] },
  ) {
    super([], []);
    this.#policy = policy;
    this.lookup = policy.lookup;
    this.#lists = lists;
  }

  override isNamed(url: URL): boolean {
    return this.#policy.isNamed(url);
  }

  override refusal(url: URL): EgressError | undefined {
    // A name may end with a dot, and is the same.
    const host = url.hostname.replace(/\.$/, "");
    const { allow, deny } = this.#lists;
    if (deny.some((fits) => fits(host))) return new EgressError(url.origin, "that host is on the list deny.");
    if (allow?.some((fits) => fits(host)) === false)
      return new EgressError(url.origin, "that host is not on the list allow.");
    return this.#policy.refusal(url);
  }
}
