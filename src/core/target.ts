/** A server reached over HTTP. */
export interface HttpTarget {
  readonly url: string | URL;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** `http` is Streamable HTTP. Default: Streamable HTTP, and SSE where a server does not speak it. */
  readonly type?: "http" | "streamable-http" | "streamableHttp" | "sse" | undefined;
}

/** A server started as a child process and spoken to over stdio. */
export interface StdioTarget {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /**
   * Added to a short list of variables without credentials, not to the whole environment: the home, `PATH`, language and temporary folder, and
   * the proxies, certificates and registries of this machine. One that is named here replaces the inherited one.
   */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /**
   * Names of variables that it inherits beside that list, or globs; with a `!` before it, one that it does not inherit. A glob fits no
   * variable that may be a credential by its name or value: name that one itself. False: `PATH` alone.
   */
  readonly inheritEnv?: readonly string[] | false | undefined;
  readonly cwd?: string | undefined;
  /** A command that starts this one, such as a sandbox: its name, then its arguments. Command and arguments follow as its last ones. */
  readonly wrap?: readonly string[] | undefined;
  readonly type?: "stdio" | undefined;
}

/** One server, in the form MCP clients share. `${VAR}` and `${VAR:-default}` expand from the environment. */
export type ConnectorConfig = HttpTarget | StdioTarget;

/** One server as MCP clients write it. Fields we do not know are ignored; one that is disabled is left out. */
export type McpServerConfig = ConnectorConfig & {
  readonly disabled?: boolean | undefined;
  readonly enabled?: boolean | undefined;
  readonly [field: string]: unknown;
};

/** The configuration MCP clients share: servers by name. */
export type McpServersConfig =
  | { readonly mcpServers: Readonly<Record<string, McpServerConfig>> }
  | { readonly mcp_servers: Readonly<Record<string, McpServerConfig>> };

/** The target of a connector. A string is a URL. */
export type ConnectorTarget = string | URL | ConnectorConfig;
