import type { FieldCheck } from "../lib/field-checks.ts";
import { having, isText, listOf, oneOf, optional } from "../lib/field-checks.ts";
import { present } from "../lib/value.ts";
import type { Entry, Item } from "./item.ts";

/** A call, render or read that another call is inside of. */
export interface OuterCall {
  readonly kind: "tool" | "prompt" | "resource";
  readonly ref: string;
  /** The principal that a stored prompt, of the namespace `user`, belongs to; undefined for one that belongs to none, and for all else. */
  readonly owner?: string | undefined;
}

/** The subject of a call, as far as the calls inside it know it. */
export type CallSubject = Pick<Entry<OuterCall["kind"]>, "kind" | "ref"> & { readonly item?: Item | undefined };

export const noCalls: readonly OuterCall[] = Object.freeze([]);

/**
 * The option by which a run says which calls led to those it makes: they may go through a toolbox that is not nested in the call around the
 * run, where middleware gave it one.
 */
export const viaKey: unique symbol = Symbol("toolweave.via");

/** Options of a call, as a run gives them. */
export interface ViaOptions {
  readonly [viaKey]?: readonly OuterCall[] | undefined;
}

/** By item and not by entry: an item that is passed by itself gets another entry. */
const owners = new WeakMap<Item, string>();
const continued = new WeakMap<Item, readonly OuterCall[]>();

/** Notes the principal that a stored prompt belongs to. */
export function setOwner(item: Item, principal: string): void {
  owners.set(item, principal);
}

/** Has a call of an item stand for one that was suspended. @param chain - the calls around that one, and that one last */
export function continueCall<I extends Item>(item: I, chain: readonly OuterCall[]): I {
  if (chain.length > 0) continued.set(item, chain);
  return item;
}

/** The calls around a suspended call that a call of the item stands for, and that call last; undefined for any other item. */
export function continuedBy({ item }: CallSubject): readonly OuterCall[] | undefined {
  return item && continued.get(item);
}

/** A call, for those inside it. */
export function outerCall(subject: CallSubject): OuterCall {
  const { kind, ref, item } = subject;
  return continuedBy(subject)?.at(-1) ?? Object.freeze({ kind, ref, ...present({ owner: item && owners.get(item) }) });
}

/** The option alone, for a call that goes on from another. */
export function viaOf(options: object): ViaOptions {
  const via = (options as ViaOptions)[viaKey];
  return via === undefined ? {} : { [viaKey]: via };
}

/**
 * Stands for the calls around one that was stored before these were stored too: a prompt of the caller's principal, so that nothing is
 * allowed because it is not known how the call came. Its ref is that of no item.
 */
export function unknownCall({ principal = "unknown" }: { readonly principal?: string | undefined }): OuterCall {
  return Object.freeze({ kind: "prompt", ref: "unknown", owner: principal });
}

/** The calls around one that is kept in a store. */
export const isVia: FieldCheck = listOf(
  having<OuterCall>({ kind: oneOf("tool", "prompt", "resource"), ref: isText, owner: optional(isText) }),
);
