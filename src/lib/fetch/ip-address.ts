import { isIP } from "node:net";

/** The part of the address space an address belongs to. Requests steered by strangers may reach `public` ones only. */
export type AddressKind =
  | "public"
  | "private"
  | "loopback"
  | "link-local"
  | "cloud metadata"
  | "shared (CGNAT)"
  | "unspecified"
  | "multicast"
  | "reserved";

/** An IP address as a number of 32 or 128 bits. */
export interface IpAddress {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

/** The addresses of a CIDR block. */
export interface AddressRange {
  readonly base: IpAddress;
  readonly prefix: number;
}

/**
 * Parses an IP address, with brackets or a zone or without. An IPv4 address in an IPv6 one (`::ffff:10.0.0.1`) is that IPv4 address: a
 * socket connects to it as such.
 */
export function parseIp(text: string): IpAddress | undefined {
  const bare = text.replace(/^\[(.*)\]$/, "$1").replace(/%.*$/, "");
  const version = isIP(bare);
  if (version === 4) return { bits: 32, value: numberOf(bare.split(".").map(Number), 8) };
  if (version === 0) return undefined;
  const value = numberOf(groupsOf(bare), 16);
  return value >> 32n === 0xffffn ? { bits: 32, value: value & 0xffffffffn } : { bits: 128, value };
}

/** Parses a CIDR block such as `10.0.0.0/8`; undefined for any other text, and for one whose address has bits behind its prefix. */
export function parseCidr(text: string): AddressRange | undefined {
  const [, address = "", length = ""] = /^([0-9A-Fa-f.:]+)\/(\d{1,3})$/.exec(text) ?? [];
  const base = parseIp(address);
  const prefix = Number(length);
  // The block of an IPv4 address in an IPv6 one has another length than it says.
  if (base === undefined || prefix > base.bits || (base.bits === 32 && address.includes(":"))) return undefined;
  const rest = BigInt(base.bits - prefix);
  return (base.value >> rest) << rest === base.value ? { base, prefix } : undefined;
}

export function isInRange({ bits, value }: IpAddress, { base, prefix }: AddressRange): boolean {
  const rest = BigInt(base.bits - prefix);
  return bits === base.bits && value >> rest === base.value >> rest;
}

/** The kind of an address. One that is a way to an IPv4 address (NAT64, 6to4, Teredo, ISATAP) is of its kind. */
export function addressKind(address: IpAddress): AddressKind {
  const special = (address.bits === 32 ? special4 : special6)().find(([range]) => isInRange(address, range));
  if (address.bits === 32) return special?.[1] ?? "public";
  const kind = special?.[1] ?? "reserved";
  if (kind !== "public") return kind;
  const embedded = embeddedIn(address.value).map((value) => addressKind({ bits: 32, value }));
  return embedded.find((each) => each !== "public") ?? "public";
}

/** The IPv4 addresses that packets to an IPv6 address may be sent on to. */
function embeddedIn(value: bigint): readonly bigint[] {
  const low = value & 0xffffffffn;
  const found: bigint[] = [];
  // NAT64.
  if (value >> 32n === 0x64ff9bn << 64n) found.push(low);
  // 6to4.
  if (value >> 112n === 0x2002n) found.push((value >> 80n) & 0xffffffffn);
  // Teredo: its server, and its client with every bit turned over.
  if (value >> 96n === 0x20010000n) found.push((value >> 64n) & 0xffffffffn, low ^ 0xffffffffn);
  // An interface identifier of ISATAP, whatever the prefix.
  if (((value >> 32n) & 0xfdffffffn) === 0x5efen) found.push(low);
  return found;
}

/** @see https://www.iana.org/assignments/iana-ipv4-special-registry */
const special4 = blocks({
  // Azure gives its machines their settings at a public address.
  "cloud metadata": ["169.254.169.254/32", "169.254.170.2/32", "168.63.129.16/32", "100.100.100.200/32"],
  unspecified: ["0.0.0.0/8"],
  loopback: ["127.0.0.0/8"],
  "link-local": ["169.254.0.0/16"],
  private: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"],
  "shared (CGNAT)": ["100.64.0.0/10"],
  multicast: ["224.0.0.0/4"],
  reserved: [
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "240.0.0.0/4",
  ],
});

/** All but what is named here is reserved. @see https://www.iana.org/assignments/iana-ipv6-special-registry */
const special6 = blocks({
  unspecified: ["::/128"],
  loopback: ["::1/128"],
  "cloud metadata": ["fd00:ec2::254/128"],
  "link-local": ["fe80::/10"],
  private: ["fc00::/7", "fec0::/10"],
  multicast: ["ff00::/8"],
  reserved: ["2001:2::/48", "2001:10::/28", "2001:20::/28", "2001:db8::/32", "3fff::/20"],
  public: ["2000::/3", "64:ff9b::/96"],
});

/** Blocks with their kinds, which are parsed at their first use: a service that asks no stranger needs none. */
function blocks(
  kinds: Partial<Record<AddressKind, readonly string[]>>,
): () => readonly (readonly [AddressRange, AddressKind])[] {
  let parsed: readonly (readonly [AddressRange, AddressKind])[] | undefined;
  return () => {
    parsed ??= Object.entries(kinds).flatMap(([kind, cidrs]) =>
      cidrs.map((cidr) => [rangeOf(cidr), kind as AddressKind] as const),
    );
    return parsed;
  };
}

function rangeOf(cidr: string): AddressRange {
  const range = parseCidr(cidr);
  if (range === undefined) throw new Error(`${cidr} is no CIDR block`);
  return range;
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): readonly number[] {
  // The parser of URLs writes each of its forms in one.
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const read = (part: string) => (part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16)));
  const [first, last] = [read(head), read(tail ?? "")];
  return [...first, ...new Array<number>(8 - first.length - last.length).fill(0), ...last];
}

function numberOf(parts: readonly number[], bitsEach: number): bigint {
  return parts.reduce((value, part) => (value << BigInt(bitsEach)) | BigInt(part), 0n);
}
