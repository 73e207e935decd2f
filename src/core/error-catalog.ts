import type { FileMistake, PromptChange } from "./file-mistake.ts";
import type { ContractChange } from "./pin.ts";

/** The stage at which a call failed. */
export type Phase = "resolve" | "policy" | "validate" | "connect" | "execute" | "result";

/** A problem of a value. */
export interface Issue {
  /** Where: a JSON pointer (RFC 6901), empty for the whole value. */
  readonly pointer: string;
  readonly message: string;
}

/** The typed details of each code. */
export interface ErrorDetails {
  NOT_FOUND: { readonly key: string; readonly suggestions: readonly string[] };
  AMBIGUOUS_NAME: { readonly name: string; readonly candidates: readonly string[] };
  INVALID_NAME: { readonly name: string; readonly allowed: string };
  RESERVED_NAME: { readonly name: string };
  CONFLICT: {
    readonly key: string;
    readonly owners: readonly string[];
    /** The version that is there, where another was expected; 0 for none. */
    readonly version?: number | undefined;
  };
  INVALID_SCHEMA: { readonly pointer: string };
  INVALID_INPUT: { readonly issues: readonly Issue[] };
  INVALID_OUTPUT: { readonly issues: readonly Issue[] };
  INVALID_PROMPT: FileMistake & {
    /** For a template of another language: what to change, in the order of the file. */
    readonly changes?: readonly PromptChange[] | undefined;
  };
  INVALID_MANIFEST: FileMistake & {
    /** The variable of the environment that is not set, where that is the mistake. */
    readonly variable?: string | undefined;
  };
  INVALID_WORKFLOW: FileMistake;
  INVALID_CONFIG: { readonly path: string };
  INVALID_TARGET: { readonly target: string; readonly variable?: string | undefined };
  DENIED: {
    readonly rule: string;
    /** The name of the person or system that decided, where one was asked, with the reason. */
    readonly by?: string | undefined;
    readonly reason?: string | undefined;
  };
  QUARANTINED: {
    readonly namespace: string;
    /** The changes since it was accepted. */
    readonly changes: readonly ContractChange[];
  };
  PENDING: {
    /** To resolve, complete or wait for it by. */
    readonly id: string;
    readonly reason: string;
    /** For people. */
    readonly message: string;
    /** The ref of what was called. */
    readonly tool: string;
    readonly arguments: unknown;
    /** Milliseconds since the epoch. */
    readonly expiresAt: number;
    readonly callbackUrl?: string | undefined;
    readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  };
  RATE_LIMITED: { readonly retryAfterMs: number };
  TIMEOUT: {
    /** `inactivity`: no sign of life for so long; `total`: the hard cap of an attempt; `call`: the caller's own limit. */
    readonly limit: "inactivity" | "total" | "call";
    readonly limitMs: number;
    readonly elapsedMs: number;
  };
  UNAVAILABLE: {
    readonly namespace: string;
    readonly retryInMs?: number | undefined;
    /** The connection ended, or there was none: the server did not refuse. */
    readonly connectionLost?: true;
  };
  UNAUTHORIZED: { readonly target: string };
  OUTCOME_UNKNOWN: {
    readonly namespace: string;
    /** The connection ended before the person or model could answer. */
    readonly connectionLost?: true;
  };
  LIMIT_EXCEEDED: { readonly limit: string; readonly max: number; readonly actual?: number | undefined };
  TOOL_FAILED: {
    /** The result of the tool, where a server reported the error as one. */
    readonly content?: unknown;
  };
  /** `supported` are the revisions that the server says it speaks. */
  UNSUPPORTED_PROTOCOL: { readonly server: string; readonly supported: readonly string[] };
  REMOTE_ERROR: { readonly server: string; readonly rpcCode?: number | undefined; readonly data?: unknown };
  MODEL_FAILED: {
    readonly provider: string;
    readonly model: string;
    /** Of HTTP, where the provider answered with one. */
    readonly status?: number | undefined;
    /** The wait the provider asks for, in milliseconds. */
    readonly retryAfterMs?: number | undefined;
  };
  STEP_LIMIT: {
    readonly maxSteps: number;
    /** The last text of the model, and the number of its tool calls. */
    readonly reached?: { readonly text: string; readonly toolCalls: number } | undefined;
  };
  /** `step` is its id, with `[n]` in an element; of the input secrets are masked, and what is long is cut. */
  STEP_FAILED: { readonly step: string; readonly input?: unknown; readonly cause?: Record<"code" | "message", string> };
  /** `step` is that of the run of the prompt `ref`, from 0; `part` is the part of it that differs, such as `messages`. */
  REPLAY_DIFFERS: { readonly ref: string; readonly step?: number; readonly part: string; readonly diff: string };
  DEPTH_EXCEEDED: { readonly maxDepth: number; readonly chain: readonly string[] };
  NO_DELEGATE: {
    /** The prompt that nothing executes. */
    readonly prompt?: string | undefined;
    /** The operation that no delegate offers. */
    readonly operation?: "sample" | undefined;
  };
  NO_STORE: { readonly operation: string };
  STORE_FAILED: { readonly operation: string };
  MISSING_PEER: { readonly package: string; readonly install: string };
  CLOSED: { readonly what: string };
}

/** The machine-readable code of an error. */
export type ErrorCode = keyof ErrorDetails;

/** The meaning of a code. */
export interface ErrorDescription {
  /** Of HTTP, for a service that answers with the error. */
  readonly status: number;
  readonly summary: string;
  readonly remedy: string;
}

/** The meaning of each code, and what to do about it. The reference in the documentation is held against this table. */
export const errorCatalog: { readonly [C in ErrorCode]: ErrorDescription } = {
  NOT_FOUND: {
    status: 404,
    summary: "Nothing was found under this name, URI or path.",
    remedy: "Use one of the suggestions, or look for the name with list().",
  },
  AMBIGUOUS_NAME: {
    status: 400,
    summary: "Several namespaces have this name and strictNames is on.",
    remedy: "Write namespace.name.",
  },
  INVALID_NAME: {
    status: 400,
    summary: "A name, namespace or URI is not of the allowed form.",
    remedy: "Use a letter, then up to 63 letters, digits, _ or -; a resource needs a URI with a scheme.",
  },
  RESERVED_NAME: { status: 400, summary: "The name belongs to Toolweave itself.", remedy: "Choose another name." },
  CONFLICT: {
    status: 409,
    summary: "Another item has this key, or the item has changed meanwhile.",
    remedy:
      "Rename one, remove the other first, or give both explicit namespaces. After a change: read the item again, and change its current version.",
  },
  INVALID_SCHEMA: {
    status: 500,
    summary: "A schema of an item is not valid.",
    remedy: "Correct the schema at the pointer the error names.",
  },
  INVALID_INPUT: {
    status: 400,
    summary: "The input or an argument is not valid; nothing ran.",
    remedy: "Correct the values that the issues name by JSON pointer.",
  },
  INVALID_OUTPUT: {
    status: 502,
    summary: "The result does not fit the output schema, or cannot be written as JSON.",
    remedy: "Correct the tool, or its output schema. The call ran, so it is not repeated.",
  },
  INVALID_PROMPT: {
    status: 400,
    summary: "A prompt file cannot be read or rendered.",
    remedy: "Correct the file at the line and column the error names.",
  },
  INVALID_MANIFEST: {
    status: 500,
    summary: "A tool manifest is not valid, or needs a variable that is not set.",
    remedy: "Correct the file at the line and column the error names.",
  },
  INVALID_WORKFLOW: {
    status: 500,
    summary: "A workflow cannot be read, or refers to what is not there.",
    remedy: "Correct the file at the line and column the error names.",
  },
  INVALID_CONFIG: {
    status: 500,
    summary: "An option or the configuration is not valid.",
    remedy: "Correct the option.",
  },
  INVALID_TARGET: {
    status: 400,
    summary: "The target of a connector is not valid.",
    remedy: "Give an http(s) URL, a command, or a Connector; set the variable it names.",
  },
  DENIED: {
    status: 403,
    summary: "The policy, or the person or program that was asked, refuses the call.",
    remedy: "Change the rule it names; see by and reason for a decision.",
  },
  QUARANTINED: {
    status: 403,
    summary: "A server changed the item since it was accepted.",
    remedy: "Look at the changes it names, and accept them with toolkit.pins.accept.",
  },
  PENDING: {
    status: 202,
    summary: "The call waits for an approval or for work elsewhere.",
    remedy: "Resolve or complete it by its id, and wait for it.",
  },
  RATE_LIMITED: { status: 429, summary: "Too many calls.", remedy: "Call again after the wait it names." },
  TIMEOUT: {
    status: 504,
    summary: "A time limit was reached.",
    remedy: "Raise the limit it names, or report progress from the tool.",
  },
  UNAVAILABLE: {
    status: 503,
    summary: "The connector is not connected.",
    remedy: "See the connection for the last error and the next attempt.",
  },
  UNAUTHORIZED: {
    status: 502,
    summary: "The server requires credentials, or refused them.",
    remedy: "Give the headers or the auth it names.",
  },
  OUTCOME_UNKNOWN: {
    status: 502,
    summary: "The call was sent and its answer was lost; it may have run.",
    remedy: "Check whether it ran before you call again.",
  },
  LIMIT_EXCEEDED: {
    status: 413,
    summary: "A limit of size or number was exceeded.",
    remedy: "Raise the limit it names, or request less.",
  },
  TOOL_FAILED: {
    status: 502,
    summary: "The tool ran and failed.",
    remedy: "See the cause, or the content a server sent with its error.",
  },
  UNSUPPORTED_PROTOCOL: {
    status: 502,
    summary: "A server speaks no revision of the protocol that its connector does.",
    remedy: "Update the server, or change the option protocol of its connector; then reconnect() it.",
  },
  REMOTE_ERROR: {
    status: 502,
    summary: "A server answered with a protocol error.",
    remedy: "See the server and its JSON-RPC code.",
  },
  MODEL_FAILED: {
    status: 502,
    summary: "The language model failed.",
    remedy: "See provider, model and status; try again after the wait it names, if any.",
  },
  STEP_LIMIT: {
    status: 502,
    summary: "An agent run took more steps than allowed.",
    remedy: "Raise maxSteps, or simplify the task.",
  },
  STEP_FAILED: {
    status: 502,
    summary: "A step of a workflow failed.",
    remedy: "See the step, its input and the cause.",
  },
  REPLAY_DIFFERS: {
    status: 409,
    summary: "A run differs from the tape that it is replayed against.",
    remedy: "See the step, expected and actual. Record a new tape where the change is meant.",
  },
  DEPTH_EXCEEDED: {
    status: 508,
    summary: "Calls were nested deeper than allowed.",
    remedy: "Look for the recursion in the chain it names, or raise maxDepth.",
  },
  NO_DELEGATE: {
    status: 501,
    summary:
      "A prompt was called and no delegate executes prompts, or a sampling was requested and no delegate answers it.",
    remedy: "Give the toolkit a delegate with runPrompt or sample; render() needs none.",
  },
  NO_STORE: {
    status: 501,
    summary: "The toolkit has no store for the user namespace.",
    remedy: "Give the toolkit a store.",
  },
  STORE_FAILED: { status: 503, summary: "The store failed.", remedy: "See the cause." },
  MISSING_PEER: {
    status: 501,
    summary: "An optional package is not installed.",
    remedy: "Install it with the command it names.",
  },
  CLOSED: {
    status: 503,
    summary: "The toolkit, connection, source or store was closed, or the run of a workflow cancelled.",
    remedy: "Make a new one.",
  },
};
