/** One line of what Toolweave promises. A test that proves it cites the id: `verifies("N1", "...", ...)`. */
export interface Requirement {
  readonly id: string;
  /** The property that must hold, so that a reader can judge a test without another page. */
  readonly text: string;
}

/** The promises of the project so far. `npm run requirements` shows which tests prove each line. */
export const requirements: readonly Requirement[] = [
  // N: names, keys, refs
  {
    id: "N1",
    text: "Namespaces and the names of builtin tools and prompts are identifiers: a letter, then at most 63 letters, digits, `_` or `-`. Anything else is INVALID_NAME, which quotes the name and says what is allowed. Remote names are taken unchanged; one that MCP would not allow stays callable and is logged once.",
  },
  {
    id: "N2",
    text: "`submit_output`, the namespaces `builtin`, `user` and `inline`, and the target `connector:user` are RESERVED_NAME. A second tool or prompt of one name in a namespace is CONFLICT naming both owners; a builtin resource replaces the one with its URI. One add() takes all its items, of every kind, or none.",
  },
  {
    id: "N3",
    text: "A tool or prompt has the ref `namespace.name`, a resource or template `uri#namespace`. Kind and ref identify an item, so a tool and a prompt may bear one name.",
  },
  {
    id: "N4",
    text: "A key with a scheme of two or more characters and something behind it is a URI. Its last fragment chooses the namespace only if there is such a namespace; otherwise it is part of the URI. A URI that finds nothing is tried as a name.",
  },
  {
    id: "N5",
    text: "A name is split at its first dot. A known namespace before the dot is the only place searched, with NOT_FOUND if it lacks the rest; with an unknown one the whole key is an unscoped name.",
  },
  {
    id: "N6",
    text: "Scoped keys go before unscoped ones, names before URIs. Unscoped: builtins, then namespaces in the order they were added, then `user`; a tool before a prompt; equal on every run. A name in several namespaces is reported once as ambiguousName, or is AMBIGUOUS_NAME with its candidates under strictNames.",
  },
  {
    id: "N7",
    text: "NOT_FOUND suggests at most three similar keys. For a namespace that was never connected it gives the reason and when the next attempt is due. A call, read or render that a namespace which still connects could answer waits within its own time, at most connectTimeoutMs, then is UNAVAILABLE with the reason, as is each later one that names the namespace, until it connects; lookup and list do not wait for it.",
  },
  {
    id: "N8",
    text: "A toolset gives each entry an alias that models accept, at most 63 characters: a builtin its name, others namespace__name, odd characters as _; what is too long or clashes is cut and hashed by kind and ref. It does not depend on order, and the way back is a table.",
  },
  {
    id: "N9",
    text: "remove() takes the builtin tool of that key, else the prompt, else the resource or template by URI, else throws NOT_FOUND, and emits the change. removeConnector() is NOT_FOUND for a target it does not know and CONFLICT for a URL two connectors share.",
  },
  {
    id: "N10",
    text: "Rules read names by one resolver. Those that refuse (block, exclude, settings) match a ref or a name in every namespace, names with dots too, and globs on these; those that choose (allow, include, forced, tools, views) take a ref, a glob on refs, or a bare name, which means what lookup finds (a bare glob: builtins). A name that nothing has is NOT_FOUND in a toolset and elsewhere a warning with near matches after start(), once; globs may be empty; an empty text is INVALID_CONFIG. URIs are compared in normal form (RFC 3986, 6.2.2; dot segments, repeated slashes), in rules and in reads, and what a lenient server may take for a refused one is refused. explain names the rule that decides and where it stands.",
  },

  // I: items and schemas
  {
    id: "I1",
    text: 'defineTool infers what run takes and gives from a Standard Schema that knows its JSON Schema (zod, valibot converted, arktype); plain JSON Schema works too. Input describes an object and is `{type: "object"}` where absent. A bad schema is INVALID_SCHEMA at add(), with the pointer to the fault, found without loading ajv.',
  },
  {
    id: "I2",
    text: "A Standard Schema validates by its own validate, defaults, transforms and promises included; JSON Schema (2020-12, draft-07, formats) by ajv, compiled at first use and once per schema content; that of a stranger by an interpreter to the same effect.",
  },
  {
    id: "I3",
    text: "A remote tool whose schema does not compile is listed and callable without validation; that is logged once and seen on its connection, and no sibling suffers.",
  },
  {
    id: "I4",
    text: "Entries and lists belong to the toolkit and are frozen. An item's fields are read once, at add(). The user's object is never frozen, copied or spread, and run is called as a method on it.",
  },
  {
    id: "I5",
    text: "Each item has a fingerprint over kind, name, description, schemas and version. By it, events tell what was added, removed and changed.",
  },

  // L: list
  {
    id: "L1",
    text: "list() gives tools, prompts and resources; `kind` narrows that or adds templates. `namespace` and `name` take one or several; names are bare or qualified, URIs for resources. An unknown namespace is an empty page.",
  },
  {
    id: "L2",
    text: "Order is by kind (tool, prompt, resource, template), then by ref in code units. `count` is the total before paging; `offset` works alone; `limit: 0` gives the count only; a negative or fractional number is INVALID_INPUT.",
  },
  {
    id: "L3",
    text: "A warm list asks no server. A namespace that is down gives its last known entries, marked stale, and a line in `failures` with the reason; the others are neither delayed nor emptied.",
  },
  {
    id: "L4",
    text: "Remote lists are read through all their pages. A cursor that comes twice is REMOTE_ERROR. At 10,000 items of a kind the list is cut, and `failures` says so.",
  },

  // K: lookup, read, render
  {
    id: "K1",
    text: "lookup() answers from memory and asks no connected server. A URI that only a template (RFC 6570) matches gives a resource read through that template's server. A stale entry is found and marked; calling it waits for the connection within the caller's deadline, then is UNAVAILABLE.",
  },
  {
    id: "K3",
    text: "read() and render() take the way of a call, timeout included. A handle from lookup() reads anew at each bytes(); what call() and read() give is loaded.",
  },
  {
    id: "K4",
    text: "complete({ ref, argument, value, arguments }) gives values for an argument of a prompt or a variable of a template, 100 at most: from its own function, from its server where that has the capability, or the choices of its schema. Policy, view, session and time hold as for render and read.",
  },

  // C: call
  {
    id: "C1",
    text: "A call's target is a key, an entry, or a tool or prompt object: a registered one resolves by identity, another runs in the namespace `inline`. Input is a JSON value or a resource (JSON gives its value, text its string); missing input is `{}` where an object is wanted. Calling a resource is INVALID_INPUT that points to read().",
  },
  {
    id: "C2",
    text: "The steps of a call run in the order the design draws: depth, rules, coerce, decide, validate, approve, use, cache, retry, rate limit, timeout; each is compiled once per entry, and an idle step is not in the chain. A render and a read go through those that make sense for them. `use` puts the user's own steps around calls, reads and renders, behind validation and before the run.",
  },
  {
    id: "C3",
    text: "run may give nothing, a string, bytes, a resource, any JSON value, an async iterable of parts (each to onPartial), or a promise of these. What JSON cannot hold, nothing under an output schema, and text where the schema wants JSON are INVALID_OUTPUT, never run again.",
  },
  {
    id: "C4",
    text: "From MCP, structuredContent becomes JSON, one block that block, several a multipart/mixed with parts; the original blocks and _meta stay reachable in meta. isError is TOOL_FAILED with the server's text and content; a JSON-RPC error is REMOTE_ERROR with server and code.",
  },
  {
    id: "C5",
    text: 'Input that does not fit its schema is INVALID_INPUT with every issue and its JSON pointer, and nothing has run. Input that fits is passed on as it is. With `coerce` (off by default) the usual slips of models are mended first: null or "" for an optional field, numbers, booleans, objects and lists as text, 1 and 0 for a boolean, a bare value for a list, case and blanks of a choice. Each mend is recorded; nothing that loses anything or may mean two things is guessed; what is mended fits afterwards, else it is refused as it was given.',
  },
  {
    id: "C6",
    text: "An abort rejects with the signal's own reason within 50 ms, whatever the tool does, and the far side hears notifications/cancelled. With a signal aborted before the call nothing runs.",
  },
  {
    id: "C7",
    text: "An attempt is limited by the tool, else its connector, else the default (tools 60 s, prompts none); the call's own timeoutMs bounds the whole. Progress restarts the inactivity limit, never the hard cap of 10 min. TIMEOUT names the limit and the time spent.",
  },
  {
    id: "C8",
    text: "What comes to nothing is tried again within the caller's time where that is safe: surely not run (not sent, refused as unavailable or with 429), or, of a read, a render, or a tool marked read-only or idempotent (or whose own retry setting says so), cut off or too late. `retry` says how often; exponential backoff with full jitter, Retry-After respected; builtins only where a setting asks for it. All calls share one budget, so that a storm of failures adds a tenth to the load. Sent and not safe to repeat is OUTCOME_UNKNOWN, never a silent second run.",
  },
  {
    id: "C9",
    text: "Answers are kept only where the tool or a setting says `cache`: by ref, fingerprint, canonical input (or the setting's key) and principal, bounded in entries and bytes, the longest unused forgotten first. Failures are not kept; bypassCache runs it all the same. Equal calls at one time share one run, which ends with the last of those who wait; its progress goes to all.",
  },
  {
    id: "C10",
    text: "rateLimit allows each principal so many attempts in any such time, or all together where it says so, of a tool or of all whose refs fit a glob; beyond it RATE_LIMITED names the wait. maxConcurrent bounds attempts at once likewise: who comes then waits in a queue that is bounded, fair between callers, first come first served within, and left on abort, deadline and close. Kept answers spend nothing, a retry does, a backoff holds no place, and a call inside another never waits for the place it is in.",
  },
  {
    id: "C11",
    text: "Prompts may call prompts, and each call is one deeper than the one it is made in. Beyond maxDepth: DEPTH_EXCEEDED with the chain of names, which an agent tells its model in words.",
  },
  {
    id: "C12",
    text: "A throw in a tool is TOOL_FAILED with its cause. Every error of a call carries ref and phase. A throw in a delegate, listener or logger is logged and breaks neither another call nor the process; no rejection goes unhandled.",
  },
  {
    id: "C13",
    text: "context.session is always there, with a fresh id outside MCP. progress() tells whether the report could be delivered. testContext() makes a context for unit tests.",
  },
  {
    id: "C14",
    text: "Attachments reach run unchanged and in order, and are attached to a prompt's message. A connector's tool that is given any is INVALID_INPUT.",
  },
  {
    id: "C15",
    text: "A context may be decorated: a Proxy of it and an object that inherits from it are as good as the context, and a spread keeps cancellation, deadline, trace and view. Middleware may pass on another context of the same call, and of no other.",
  },
  {
    id: "C16",
    text: "context.derive gives the same call with some parts replaced, which its toolbox, questions, events and pending calls follow; nesting, deadline, view and accounting stay the call's, and it never sees or lasts more than that.",
  },

  // E: events
  {
    id: "E1",
    text: "Events are toolListChanged, promptListChanged, resourceListChanged, resourceUpdated, connectorConnecting, connectorConnected, connectorDisconnected, connectorRemoved, ambiguousName, callStarted and callFinished, each with the namespace, ref, error or counts it is about.",
  },
  {
    id: "E2",
    text: "delegate.onEvent, on() and events() hear the same events in one order, outside any step inside: a listener that lists sees the new state. Events of connectors carry their connection, builtin ones none.",
  },
  {
    id: "E3",
    text: "A burst of notifications makes one re-list and one event per kind; an unchanged list makes none. Builtins emit one event per kind and batch; replacing a resource emits resourceUpdated.",
  },
  {
    id: "E4",
    text: "events() is bounded: a reader that falls behind loses the oldest events and is told how many.",
  },

  // R: resources
  {
    id: "R1",
    text: "resource.text, json, data, read (path, URL, Blob, stream), from, withUri, withDescription and defineResource make resources. Their names are identifiers, which may begin with a digit or _, or that of a file (its name without extension, which says the type where the content is silent). URIs are text:, json:, data: and file:///; one without a scheme is INVALID_NAME.",
  },
  {
    id: "R2",
    text: "The media type comes from the bytes, then the extension, then text/plain if they decode, else application/octet-stream. Text becomes UTF-8 by BOM, declared charset or, for text/*, detection; bytes that do not decode stay as they are.",
  },
  {
    id: "R3",
    text: "toJSON() and resource.fromJSON() give back every content, its parts too: text as text, the rest in base64.",
  },

  // O: observability
  {
    id: "O1",
    text: "Each call has one span from before its lookup to its end: `execute_tool <name>`, `invoke_agent <name>` for a prompt, `render_prompt <name>`, `read_resource`; each request of an agent to a model one, `chat <model>`; with the attributes of OpenTelemetry's GenAI and MCP conventions, our code as `error.type`, and aborts told apart. It is active inside `run`, and the parent of calls made in it; its own parent is what is active, else what `_meta` says in W3C form. It is passed on in `_meta` and in the headers of the request. Arguments and results are recorded only with `recordContent`, bounded, and redacted by key. Without an SDK nothing is done; one that is registered later is seen.",
  },
  {
    id: "O2",
    text: "Metrics count calls by ref and outcome, cache hits, retries and reconnects, measure the durations of tools, prompts, MCP requests and requests to models with their tokens and cost, and show the state of each connector and what is in flight and queued. What has no place in a catalogue is in no attribute, so that their number is bounded. A closed toolkit is measured no more.",
  },
  {
    id: "O3",
    text: "`logger` is any object with debug, info, warn and error. The library writes nothing to the console by itself. What is logged to a session also reaches its MCP client.",
  },

  // Z: errors
  {
    id: "Z",
    text: "One table holds every error code, what it means and what to do; the types and the reference page have the same codes, no more and no less. An abort rejects with the signal's reason, not with a code.",
  },
  {
    id: "Z2",
    text: "An option, a field of a selection, of a policy or of a connector target that does not exist is INVALID_CONFIG naming it, the one that was probably meant and all there are; undefined is not there. Entries of a shared configuration may say more. A message shows a wrong value so that its type is seen. What is no options at all is a ToolkitError too, and closes nothing.",
  },

  // M: connectors
  {
    id: "M1",
    text: "A connector's target is an http(s) URL as URL or string (Streamable HTTP, else SSE), a stdio config (command, args, env, cwd), a Connector, or the mcpServers form of other MCP clients. ${VAR} and ${VAR:-default} expand from the environment; a variable that is missing is INVALID_TARGET with its name.",
  },
  {
    id: "M2",
    text: "URLs compare in canonical form: lower-case scheme and host, no default port, dot segments, user info, query or fragment. The same target twice is CONFLICT unless both have explicit, different namespaces. Another scheme, no host or a bad port is INVALID_TARGET.",
  },
  {
    id: "M3",
    text: "The namespace is the one given; else, before the handshake, the last path segment (not `mcp` or `sse`), the host or the command, and after it the server's own name as an identifier, kept for good. A clash gets a number and a warning; a clash of given ones is CONFLICT at once.",
  },
  {
    id: "M4",
    text: "Connectors connect in parallel at start(), at once when added later, or on first need if lazy. start() returns when each has connected or failed once, or after startTimeoutMs; a dead one does not make it throw. One is connected when its tools are listed; the other kinds are listed beside, each for itself, and what reads a kind waits for its first list as long as start() may last, a call until it is there or has failed.",
  },
  {
    id: "M5",
    text: "A connector is idle, connecting, connected, waiting or stopped. After a loss it tries at once, then after 2 s doubling to 20 min with full jitter, for ever or for maxAttempts, after which it is removed. A handshake resets the delay. Each attempt has a new client; an old one changes nothing.",
  },
  {
    id: "M6",
    text: "After each connect, and each gap in the notifications, all lists are read again and compared. A server without listChanged is polled every pollMs (60 s).",
  },
  {
    id: "M7",
    text: "A crash, a kill -9, a restarted HTTP server, a lost session (404 or 400), a socket open at one end only and an answer that ends without a result are each noticed within 5 s, by a ping where nothing else tells and none while there is traffic, and heal without a restart, also where an attempt to connect was swallowed: within 6 s after the network is back, a slow server having all its time. Calls in flight fail at once and clearly.",
  },
  {
    id: "M8",
    text: "A stdio child runs in a process group of its own. Closing ends the group (stdin, TERM, KILL after 2 s) and leaves no orphan and no open handle; nor does the end of the service by a signal, where there is a shell. The last 64 KiB of stderr stay on the connection and are quoted in errors.",
  },
  {
    id: "M9",
    text: "Removing or closing while connecting, calling or waiting ends all that was started. close() may be repeated, takes at most 5 s and reports what did not end; a closed toolkit answers CLOSED.",
  },
  {
    id: "M10",
    text: "From a server come progress, log messages (to the logger and the caller's session), changes of resources (subscribed on demand, again after reconnecting), and questions to a person or a model (to the caller's session, else the delegate, else declined). To it go the roots and _meta: the session's and the call's meta.",
  },
  {
    id: "M11",
    text: "Credentials: headers that are fixed, a function that gives them for each request and is told the session, or OAuth (a person's login, or client credentials) with one refresh for any number of refused requests and a token store. A network error erases no token. A client that was registered beforehand names its issuer, and its secret, key and assertions go to that one alone; metadata of another issuer or without PKCE S256, an answer without a promised iss, and a page that is not https are refused; the resource is sent as it is published; where the authorization server changes the service registers anew; a client id document is preferred to a registration. UNAUTHORIZED says what is missing and what to do. No secret reaches logs, errors or events.",
  },
  {
    id: "M12",
    text: "A connector has limits: maxMessageBytes, maxListSize, maxNestingDepth, maxConcurrentCalls and maxStderrBytes. Beyond one, LIMIT_EXCEEDED names it and fails what it hit alone; calls beyond maxConcurrentCalls wait for a fair turn within their own time first. Validating, repairing and projecting by the schemas of a server is bounded in steps, whatever the schema and the value. A server that talks without end buries nothing: lists are read at growing gaps, logs counted, updates joined.",
  },
  {
    id: "M13",
    text: "A connection shows state, since, server, protocol version, transport, counts, last error, attempts, next attempt, latency, calls in flight and stderr tail, and offers list(kind), ready(), reconnect() and close().",
  },
  {
    id: "M14",
    text: "A connector finds out which era of the protocol a server speaks, and keeps what it found, with its date: a restart costs no round trip more, and an updated server is found again. 401, 403, 429, 5xx and a failing network decide nothing, and a child process is asked in one process. The option protocol says it instead. A server that speaks no revision of ours is reported once, with those it speaks, and is tried again only when it is reconnected.",
  },
  {
    id: "M15",
    text: "With a server without sessions each request says the revision, the client and its capabilities, and over HTTP its headers say the method, the name and the parameters that a tool marks; a tool whose marks are not valid is left out alone. Lists carry how long they are current.",
  },
  {
    id: "M16",
    text: "A tool, prompt or resource that requires input is answered: the session that calls is asked for a form, a page, a model or roots, and the request is made again with the answers and the state of the server, in a bounded number of rounds.",
  },

  // P: prompts
  {
    id: "P1",
    text: "A prompt is a markdown file: YAML front matter, which a file with a heading may leave out, then a Handlebars body, which may be empty. Known fields are name (else the file's), title (else the first heading), description, model, provider, system_prompt, input, output or format, tools, thinking and thinking_budget; others are kept under meta.",
  },
  {
    id: "P2",
    text: "Helpers are `json value`, `default fallback value` (for null, undefined and the empty string only), `join list separator`, upper, lower and trim; `eq ne lt le gt ge and or not` as expressions; number and date with a format, in UTC unless a zone is named; slice. {{this}} is the whole input; {{> name}} is a partial of the same folder.",
  },
  {
    id: "P3",
    text: "No code runs from a prompt file: no front matter engine but YAML, no prototype access, an unknown helper is an error. Templates are compiled once; text is not HTML-escaped.",
  },
  {
    id: "P4",
    text: "INVALID_PROMPT gives file, line, column and what to write instead, for Go template syntax its Handlebars form. A missing closing `---` is an error.",
  },
  {
    id: "P5",
    text: "promptFolder(dir, { watch }) is a source of the prompts of a folder and follows it: what is new, changed or removed counts within 500 ms, a batch of changes as one promptListChanged. A broken file keeps its last good version, is told once to the logger and is among the failures of list(), and stops no other. With recursive: true the prompts of its folders are folder-name; without it a folder inside that holds prompts is told once. readPrompts(dir) reads once.",
  },
  {
    id: "P6",
    text: "Variables are validated against `input`. A prompt's MCP arguments are its top-level properties, or one argument `input` where it is no object; MCP's string arguments are coerced by the schema.",
  },
  {
    id: "P7",
    text: "Lint finds every problem of a prompt with file, line, column, severity, rule, message and hint, as text for people and as JSON: fields, schemas as deep as a validator looks, the template, names the input does not have and required ones nothing uses, through blocks and partials, entries of `tools` the given toolbox does not have, models that are not among the given ones. It never throws for what a file says. `npm run prompt -- lint` and `run` do it from the command line.",
  },
  {
    id: "P8",
    text: "A template of Go is refused with every tag to change and the text to write instead, in the message and in the details; changed so, it renders the same. A tag that Handlebars has nothing for comes with advice. A template of Jinja is refused at its first tag, with the usual replacements.",
  },
  {
    id: "P9",
    text: "A .prompt file in the form of Google's dotprompt is a prompt: model, input, output, tools and config of its front matter, which may be left out; roles are messages, media are files, and no value of the input makes one. What has no like here is INVALID_PROMPT with what to write. A markdown prompt has `settings` for what config says.",
  },
  {
    id: "P10",
    text: "Picoschema is read as JSON Schema: scalars, descriptions, optional properties, lists, objects, choices and others. What is wrong in it is told with the way to it and what to write.",
  },

  // A: how an agent executes a prompt
  {
    id: "A1",
    text: "Models are registered by provider, or one by one as provider/name. Provider and model choose together or in one text; a model alone by the only one of that name, and of several INVALID_INPUT names them; neither gives the default. What is not registered is NOT_FOUND with what there is. A known provider is loaded from its package when first named: MISSING_PEER with the command to install it, UNAUTHORIZED naming the variable of its key.",
  },
  {
    id: "A2",
    text: "A run renders the prompt, tells the system prompt and the tools' guidance, sends the text and the attachments, offers the tools and prompts `tools` names, makes the calls, says what became of each with how to read it, and goes on until there are none. Beyond maxSteps: STEP_LIMIT with what was reached. The same call in three turns in a row is reported to the model, and in five ends the run. What a model was sent is never changed afterwards. Tokens, cost, output, time and tool calls are bounded too.",
  },
  {
    id: "A3",
    text: "A structured answer comes by the provider's JSON mode where there are no tools, else by submit_output. It is validated; what does not fit goes back with its errors, at most maxRepairs times, then INVALID_OUTPUT.",
  },
  {
    id: "A4",
    text: "What fails, is refused, waits or has an unknown outcome is told to the model in words, not thrown. A result longer than maxResultBytes is its beginning and a handle, and every byte can be had again by result_read, result_grep and result_select: by the runs of its principal and for a time, in another process too, and by nothing else.",
  },
  {
    id: "A5",
    text: "stream() and onEvent tell text, thoughts, tool calls, results, steps, usage and the end, as fast as they are read and no faster. The answer's meta has usage, steps, model, finish reason and tool calls.",
  },
  {
    id: "A6",
    text: "A call of a model is repeated on 429, 5xx and a lost connection until something of the answer has come, waiting as the provider asks and within one budget of all calls. Whatever fails is MODEL_FAILED with provider, model and status, and never a key. Thinking and its budget become the option of each provider. thinking and thinking_budget become each provider's option. A conversation is a plain value that goes on later.",
  },
  {
    id: "A7",
    text: "A call that waits suspends the run: PENDING has the id by which resume() goes on from the same step, once, in another process too where the store is shared, also after the first was killed; of several that resume it at once exactly one goes on. A run whose process is gone while it goes on is OUTCOME_UNKNOWN and not repeated. What cannot be kept ends, and what it waited for is denied. Those who look after them list what waits, and give it up. Sub-agents that wait suspend those that called them.",
  },
  {
    id: "A8",
    text: "generate() does the same for a text: with tools by name and of the caller's own, a form of answer, attachments, a model and a conversation to go on with.",
  },
  {
    id: "A9",
    text: "A stream is an HTTP response: Server-Sent Events, or the UI message stream that a chat of the AI SDK reads, approvals included. It goes no faster than it is read, ends with its client, and tells no secret of an error.",
  },
  {
    id: "A10",
    text: "A prompt and a text continue a conversation, given or kept in the store by id and principal, over several turns with tools. Two writers never lose a turn: one gets CONFLICT. A hook bounds what of it a model is sent, and never parts a call from its result.",
  },
  {
    id: "A11",
    text: "A server of OpenAI's Chat Completions or Anthropic's Messages is asked by its URL, without a package: tools, calls in parallel and in pieces, images, files, audio, thoughts, structured answers, settings and options of the provider, as a stream or whole. What it sends is bounded and read as it comes, however it is cut; an answer that breaks off, an error in it, a page and a status are errors that are repeated where that may help.",
  },

  // T: what one model run may use
  {
    id: "T1",
    text: "A toolset is a frozen snapshot with stable order, aliases and definitions. begin() opens the state of one run: turn, counters, history, evaluations.",
  },
  {
    id: "T2",
    text: "One forced tool is the tool choice of the first turn; of several only they and capability tools are offered in it, and one is required. So it is for a run by its option forced. An exclusive tool is offered only when it is forced, or named by a prompt, and then alone. A required call is one of the first turn; the tool choice none sends no definitions. An unknown forced or excluded ref is NOT_FOUND.",
  },
  {
    id: "T3",
    text: "execute() answers every call of a turn, in order, run side by side: unknown, denied, failed, pending and succeeded, each with id, timing, references and debug info. Identical calls run once; then the guard of tools that take control, over unknown, malformed and denied calls too; then the policy.",
  },
  {
    id: "T4",
    text: "A tool that takes control is called alone, identical ones counting as one: in a batch nothing runs and each call is told why. Alone, its result is the final answer.",
  },
  {
    id: "T5",
    text: "The policy of a run is checked in order: toolChoice, maxToolCallsPerTurn, block and allow lists, maxTotalToolCalls over the conversation, a function. DENIED names the rule. That of the toolkit goes by its lists and its function for every call, render and read, before anything is said of a schema; what cannot decide refuses. explain(key) says how a key parses, every candidate in order, the winner and what it shadows, the rules that refuse or hide it, its connector, alias, steps and cost; of what means nothing it says why.",
  },

  // A: how prompts are executed

  // H: approvals and pending calls
  {
    id: "H1",
    text: "A tool, its settings, the policy or the caller may want a call approved, always or by its input. A delegate decides at once; else the call is PENDING with id, reason, message, tool, arguments and expiry. Whoever fails to decide refuses.",
  },
  {
    id: "H2",
    text: "approvals.resolve runs what is approved once, whoever approves and how often at a time, as its caller and under the policy, and tells all the same; denied, expired and void are DENIED to those who wait. It is bound to the caller, the arguments and the fingerprint; another process with the same store may resolve it after the one that asked was killed, and exactly one runs it, under a lease that it renews. A run whose process is gone is OUTCOME_UNKNOWN to those who wait, and is not repeated unless the tool says that it may be. Memory is bounded, and close ends those who wait.",
  },
  {
    id: "H3",
    text: "context.pending ends a call PENDING for work elsewhere. approvals.complete validates the result and delivers it, or an error, once; a result that does not fit is waited for still.",
  },

  {
    id: "H4",
    text: "Work on anything that comes from a stranger is bounded where it is parsed, in steps, bytes and depth: foreign schemas, prompts, patterns, messages, and what a server asks of a person or a model (by call, and by the minute outside of calls). Each bound is LIMIT_EXCEEDED or INVALID_* and names itself. No principal takes the share of another: of rate limits, of places in queues, of approvals.",
  },
  {
    id: "H6",
    text: "Text that does not show (controls, sequences for terminals, bidi controls, zero-width characters, tags) is stripped from descriptors before models read them and escaped in logs, errors, explain and snapshots; no text of a stranger forges a line there. Results relay it unless the connector is untrusted. Of an untrusted connector only what it allows may be used, it gets no sampling and no form for secrets, its results are marked for the model, and its limits are tighter.",
  },
  {
    id: "H5",
    text: "One egress policy decides each request whose URL a stranger can choose: of authorization servers, of {{media}} and of resource.read, at each redirect, by all addresses a name has when the socket connects. Private, loopback, link-local and other special addresses, also inside IPv6, are DENIED or UNAUTHORIZED unless they are of the operator's own origins (scheme, host, port) or in `egress: { allow }`; behind a proxy the written address is judged. {{media}} fetches no URL from the input unless told to. No error quotes a body. Secrets stay out of labels, errors, events and logs; files that hold them are their owner's alone.",
  },
  {
    id: "H7",
    text: "What runs is the very copy of the input that was approved, whatever the caller, a delegate, a reader of the error or of the approval, or an earlier attempt does to the objects it was given: in memory, after a restart, and where a delegate decides at once.",
  },
  {
    id: "H8",
    text: "A policy knows the way of a call: via names the calls that led to it, and whose a stored prompt is, through agent runs, sub-agents, approvals and runs that go on in another process. A stored prompt of a principal calls only what the operator names in user.tools, and its model is offered nothing else. A rule on the items of a namespace is not passed by an item of another namespace, also once the first is gone.",
  },
  {
    id: "H9",
    text: "The contract of a connector with pins (its items without meta and size, and the instructions) is kept whole when it is first seen, in the store or in a lock file. What differs later is found by meaning in bounded steps, with its effect; it is one contractChanged for each reading of lists, once for each new contract, and in explain. With quarantine it is QUARANTINED, for calls that wait too, in no toolset, and models get the accepted instructions, until toolkit.pins.accept takes what was looked at; pins that cannot be loaded keep the connector out. checkPins compares with the committed file.",
  },

  // J: durable work
  {
    id: "J1",
    text: "Durable work has one port over a Store: create, claim, extend, complete, fail, cancel, list, expire. A claim is a lease; the version of the record is its fencing token, and a holder that has lost it is aborted and writes nothing more. Whoever dies in whatever phase, and whatever the clocks of processes say, a job has one holder at a time, is done again only where that is safe, and comes to an end: completed, failed, expired, or lost as its type says. An end that the store could not take is written when it can. One contract and one crash suite hold on every store.",
  },

  // S: stores
  {
    id: "S1",
    text: "A Store keeps records of a collection, an owner and a key, each with a version that counts on past a deletion: get, list in the order of code units, put, delete, history of prompts and resources, watch. What expects another version is CONFLICT and of many at once one wins; a quota holds under concurrency. Any text is safe in every field, ten megabytes come back byte by byte. One contract suite holds every store to it.",
  },
  {
    id: "S2",
    text: "toolkit.user puts, gets and removes prompts and resources of a principal, lists and restores their versions, and exports and imports all as a folder, whole or not at all. A prompt is read like a file when it is put: what is wrong, or would break one that uses it, is refused. Stale versions are CONFLICT, quotas LIMIT_EXCEEDED. Each change has its event in every process. Without a store nothing is listed and a write is NO_STORE.",
  },
  {
    id: "S3",
    text: "A record that cannot be read is named and hides no other; an owner never sees what is another's: neither items, handles, cached answers, approvals nor events. While the store fails, `user` gives what it had, marked stale, and is among the failures; everything else goes on, and when it is there again all is listed and what was missed is told. After kill -9 in the middle of writes of several processes every acknowledged write is there, nothing is torn, and versions only rise.",
  },
  {
    id: "K2",
    text: "What one process changes in a store that several share is told in the others within a second, once, as done elsewhere. What is put in `user` is found and listed here when the put resolves, and elsewhere within that second, each change with its event.",
  },

  {
    id: "T6",
    text: "toOpenAI (chat and responses), toAnthropic, toGoogle and toAiSdk give tools and tool choice in the provider's form, and lead back from its calls and to its results. Schemas are projected so that none is refused, with a report of what is lost. tokens() estimates what definitions cost; maxTokens shortens them, and then reveals them on demand, deterministically.",
  },
  {
    id: "V1",
    text: "A host is served over stdio and HTTP: each request is a lookup, list, call, read or render, each event a notification for the sessions that may see what changed. Names are prefixed or bare; of resources with one URI the first keeps it, later ones are served as `uri#namespace`. With discovery by search a client sees three tools, by which any other is found, described and called, under its own rules.",
  },
  {
    id: "V2",
    text: "Tools, prompts, resources, templates, subscriptions, completion, log level, ping, pages, progress, cancellation, elicitation, sampling and, where a connector says so, roots are relayed both ways, with the content unchanged.",
  },
  {
    id: "V3",
    text: "Serving is safe by default: this machine only, Host and Origin checked, tokens or a hook give the principal, sizes and rates are limited, each principal has its selection, session ids cannot be guessed and expire, and the end of stdin ends the process.",
  },
  {
    id: "V4",
    text: "A client that is gone cancels its calls. Closing drains: no new requests, running ones finish up to a bound.",
  },
  {
    id: "V5",
    text: "Streams of a session are resumable with `Last-Event-ID`, from a bounded store of events.",
  },
  {
    id: "V6",
    text: "Both eras of the protocol are served on one endpoint, and clients and upstream servers of either are mixed. Questions cross the eras: the call of a client without a session is parked, bounded in number and time, and its client gets a `requestState` that is sealed, and bound to principal, call and expiry. It is answered once. Where the process that has the call is gone, the outcome is unknown, and nothing runs again. Replicas that share a store work together: what changes in one is announced by all, a request for a session or a parked call of another is forwarded to its owner, and the answer comes back; an owner that is gone is reported at once.",
  },

  // X: the command
  {
    id: "X1",
    text: "The command lists, calls, runs, reads, lints and explains what a configuration or a server named on the command line has, shows the state of servers, decides approvals, edits the configuration and keeps its comments, imports the servers of other clients, and writes lock files and types. Configurations are YAML, JSON or JSON with comments, in our form or in that of other clients; mistakes are named with file, line and column. --json everywhere; exit codes 0 ok, 1 failed, 2 usage, 3 not found, 4 unreachable, 5 tool error. In a terminal it shows tables and progress and asks for what is missing; texts of servers cannot steer the terminal.",
  },

  // Y: looking at what runs
  {
    id: "Y1",
    text: "inspect(toolkit, { port }) and serve --ui show a toolkit on a page of this machine: namespaces with their state, the catalogue, calls, approvals, events, agent runs and changed contracts, live. It opens once with the link that was printed, shows what its principal may see and nothing else, runs no script of a server, and answers health checks.",
  },
  {
    id: "W1",
    text: "A manifest of any apiVersion becomes tools, in the namespace that metadata.namespace names, else `manifest`; those of PromptKit load unchanged. Its modes are mock (a result that is written, made by a template, or recorded), live, exec (a fixed command, its arguments by template, no shell), client, mcp and a2a, and those that `executors` add; `kind: OpenAPI` makes many tools of one document. From a folder, which can be followed, files, or a `load` function. What is wrong, a variable that is not set too, is INVALID_MANIFEST with file, line and column, and stops no other manifest; a broken file keeps its last good version.",
  },
  {
    id: "W2",
    text: "A pack of tools is a folder of its own: schemas in and out, shared guidance once, and a function that gives a Source. Its descriptions and guidance stay within a budget of tokens. fs stays under its root, whatever `..`, links and races do; http refuses private addresses by default; code reads and analyses, and executes nothing.",
  },
  {
    id: "W3",
    text: "A workflow is steps in a file, in `toolweave.yaml` or in code: tools, models, prompts, branches, steps at once and for each element of a list, with references to the input and to earlier results, conditions, fallbacks and time limits. It is the tool or prompt `workflow.<name>`, with schemas, progress and a span for each step; its annotations are never safer than those of its steps. Its file is bounded, and its mistakes are named with file, line and column: unknown tools, references to what is not there, cycles, types that cannot fit. Same input and same results of steps, same output. A failing step is `STEP_FAILED` with the step, its input and the cause, or runs its fallback. A run can be inspected; with a durable store it waits for an approval and goes on in any process from the step where it was, and no step that finished runs again.",
  },
  {
    id: "W4",
    text: "The URL of an agent's card is a connector: A2A 1.0 over JSON-RPC or HTTP+JSON as the card prefers, 0.3 where it speaks that alone; gRPC alone is refused in words. Each skill is a tool. A long task reports progress, asks, shows a page to log in, goes on after a break or a restart of its agent or ends OUTCOME_UNKNOWN, and is canceled with its call. Artifacts are resources. A card leads to no private address, and credentials to no other origin; its signature is checked where keys are given.",
  },
  {
    id: "Y2",
    text: "A tape records a run whole, secrets masked: calls, results, errors, turns of models, questions, approvals, changes of lists. It is bounded, and what is missing is counted; a process that dies loses no line. `replayed(tape)` runs it again without network or model, and names the first step that differs.",
  },
];
