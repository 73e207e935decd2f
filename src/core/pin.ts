/** The kinds of what is pinned: the items of a connector, and the instructions of its server. */
export type PinnedKind = "tool" | "prompt" | "resource" | "template" | "instructions";

/**
 * The effect of a change on the values that a schema takes, or on the arguments of a prompt: `wider` takes all that it took and more, `narrower`
 * takes less, `different` may do both.
 */
export type ContractEffect = "wider" | "narrower" | "different";

/** A change of what a server says of itself since it was accepted. Its texts are a stranger's: they are escaped, and cut to a readable length. */
export interface ContractChange {
  readonly kind: PinnedKind;
  /** The name of a tool or prompt, the URI of a resource or template; empty for the instructions. */
  readonly key: string;
  readonly ref: string;
  readonly what:
    | "added"
    | "removed"
    | "description"
    | "title"
    | "annotations"
    | "input"
    | "output"
    | "arguments"
    | "mediaType"
    | "instructions";
  /** Of `input`, `output` and `arguments`. */
  readonly effect?: ContractEffect | undefined;
  /** A JSON pointer into the contract of the item. */
  readonly pointer: string;
  /** Undefined where there was nothing. */
  readonly before?: string | undefined;
  /** Undefined where there is nothing. */
  readonly after?: string | undefined;
  /** A sentence for people. */
  readonly message: string;
}

/** `changed` is reported only, `quarantined` is refused until it is accepted. */
export type PinState = "pinned" | "changed" | "quarantined";

/** A part of the contract of a connector, as it was accepted and as it is now. */
export interface Pin {
  readonly namespace: string;
  readonly kind: PinnedKind;
  /** The name of a tool or prompt, the URI of a resource or template; empty for the instructions. */
  readonly key: string;
  /** The ref of the item; `instructions#namespace` for the instructions. */
  readonly ref: string;
  readonly state: PinState;
  /** Identifies what was seen of it last; `absent` where it is gone. */
  readonly version: string;
  /** The changes since it was accepted. */
  readonly changes: readonly ContractChange[];
}

/** The subject to accept: a pin, a ref with the version that was looked at, or, whatever is there now, a ref or a namespace. */
export type PinTarget = string | Pick<Pin, "ref" | "version"> | Pin;

/** Which pins are listed. */
export interface PinQuery {
  readonly namespace?: string | undefined;
  /** Only those that changed, or did not. */
  readonly changed?: boolean | undefined;
}

/** The contracts of connectors that are pinned, and their acceptance. */
export interface Pins {
  /** The pins of connectors with the option `pins` whose contract was seen by this toolkit, in the order of the connectors. */
  list(query?: PinQuery): readonly Pin[];
  /**
   * Accepts what was seen last of items, or of all that a namespace has. A pin, or a ref with its version, is accepted only as it was looked at.
   * When it resolves, what is accepted is kept and can be called.
   *
   * @returns the pins as they are now
   * @throws ToolkitError `NOT_FOUND` for what is not pinned; `CONFLICT` for an item that has changed again, and nothing is accepted then;
   *   `STORE_FAILED` where it cannot be kept
   */
  accept(...targets: readonly PinTarget[]): Promise<readonly Pin[]>;
}

/** The option `pins` of a connector. */
export interface PinOptions {
  /** With `quarantine`, what changes is refused (`QUARANTINED`) until it is accepted. Default `report`. */
  readonly onChange?: "report" | "quarantine" | undefined;
}

/** The option `pins` of a toolkit. */
export interface ToolkitPinOptions {
  /** Keeps contracts in this file, to be committed and reviewed. Default: in the store of the toolkit. */
  readonly file?: string | undefined;
}
