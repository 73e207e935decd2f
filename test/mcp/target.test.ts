import { describe, expect, test } from "vitest";
import { ToolkitError } from "../../src/core/error.ts";
import type { ConnectorTarget } from "../../src/core/target.ts";
import { mcpConnector, parseMcpServers } from "../../src/mcp/index.ts";
import { parseTarget } from "../../src/mcp/target/parse-target.ts";
import { suggestedNameOf } from "../../src/mcp/target/target-label.ts";
import { canonicalUrl } from "../../src/mcp/target/target-values.ts";
import { verifies } from "../support/verifies.ts";

function refused(make: () => unknown): ToolkitError<"INVALID_TARGET"> {
  try {
    make();
  } catch (error) {
    if (ToolkitError.is(error, "INVALID_TARGET")) return error;
    throw error;
  }
  throw new Error("It was taken.");
}

describe("a target", () => {
  verifies("M1", "is a URL as text or object, or a config of either kind", () => {
    const expected = { kind: "http", headers: {}, protocol: "auto" };
    expect(parseTarget("https://host/mcp")).toMatchObject(expected);
    expect(parseTarget(new URL("https://host/mcp"))).toMatchObject(expected);
    expect(parseTarget({ url: "https://host/mcp" })).toMatchObject(expected);
    for (const type of ["http", "streamable-http", "streamableHttp"] as const) {
      expect(parseTarget({ url: "https://host/mcp", type })).toMatchObject({ protocol: "streamable-http" });
    }
    expect(parseTarget({ url: "https://host/sse", type: "sse" })).toMatchObject({ protocol: "sse" });
    expect(parseTarget({ command: "npx", args: ["-y", "x"] })).toMatchObject({
      kind: "stdio",
      command: "npx",
      args: ["-y", "x"],
      env: {},
    });
  });

  verifies("M1", "has its variables expanded, everywhere", () => {
    const env = { HOST: "example.com", TOKEN: "t0k3n", EMPTY: "" };
    expect(
      parseTarget({ url: "https://${HOST}/mcp", headers: { Authorization: "Bearer ${TOKEN}" } }, { env }),
    ).toMatchObject({
      url: new URL("https://example.com/mcp"),
      headers: { authorization: "Bearer t0k3n" },
    });
    const config = {
      command: "${SHELL:-sh}",
      args: ["${EMPTY:-fallback}", "${EMPTY}", "a$b${"],
      env: { A: "${TOKEN}${TOKEN}" },
      cwd: "/${HOST}",
    };
    expect(parseTarget(config, { env })).toMatchObject({
      command: "sh",
      args: ["fallback", "", "a$b${"],
      env: { A: "t0k3nt0k3n" },
      cwd: "/example.com",
    });
  });

  verifies("M1", "with a variable that is missing names the variable and where", () => {
    const error = refused(() =>
      parseTarget({ url: "https://host", headers: { "X-Key": "${NO_SUCH_KEY}" } }, { env: {} }),
    );
    expect(error.details.variable).toBe("NO_SUCH_KEY");
    expect(error.message).toContain("headers.X-Key");
  });

  for (const form of ["${input:x}", "${env:HOME}", "${A:?must}", "${ A }", "${A-b}", "${1}", "${}"]) {
    test(`with ${form} is refused with the forms that work, and not sent as it stands`, () => {
      const env = { A: "a", B: "b", HOME: "/" };
      const { message } = refused(() =>
        parseTarget({ url: "http://host", headers: { Key: `Bearer ${form}` } }, { env }),
      );
      expect(message).toContain(`headers.Key has ${form}, `);
      expect(message).toContain("${NAME} or ${NAME:-default}");
      expect(() => parseTarget({ command: "x", args: [form] }, { env })).toThrow("args[0] has");
    });
  }

  test("with a variable in a default is refused, and the default is not shown", () => {
    const { message } = refused(() =>
      parseTarget({ command: "x", env: { K: "${A:-hunter2${B}}" } }, { env: { A: "a" } }),
    );
    expect(message).toContain("env.K has ${A:-…}");
  });

  test("takes its headers as a plain object or as Headers, and as nothing that would be read as empty", () => {
    const read = (headers: unknown, more?: unknown) =>
      parseTarget({ url: "http://host", headers } as ConnectorTarget, { headers: more as Headers, env: { A: "a" } });
    const plain = Object.assign(Object.create(null), { "X-Key": "${A}" });
    for (const headers of [new Headers({ "X-Key": "${A}" }), plain, { "X-Key": "${A}" }]) {
      expect(read(headers)).toMatchObject({ headers: { "x-key": "a" } });
    }
    expect(read(undefined, new Headers({ "X-Key": "b" }))).toMatchObject({ headers: { "x-key": "b" } });
    for (const headers of [new Map([["X-Key", "a"]]), [["X-Key", "a"]], new URLSearchParams("x=a"), "X-Key: a"]) {
      expect(refused(() => read(headers)).message).toMatch(/"headers" must be an object/);
      expect(refused(() => read(undefined, headers)).message).toMatch(/"headers" must be an object/);
    }
  });

  test("that is a child process takes no headers", () => {
    const headers = { A: "b" };
    const parse = (target: unknown, options = {}) =>
      refused(() => parseTarget(target as ConnectorTarget, options)).message;
    expect(parse({ command: "x", headers })).toMatch(/"headers" are for a URL/);
    expect(parse({ command: "x" }, { headers })).toMatch(/"headers" are for a URL/);
    for (const [, config] of parseMcpServers({ mcpServers: { a: { command: "x", headers } } })) {
      expect(parse(config)).toMatch(/"headers" are for a URL/);
    }
  });

  const wrong: readonly (readonly [string, unknown, RegExp])[] = [
    ["empty text", "", /URL is empty/],
    ["no URL", "localhost", /is no URL.*https:\/\/host\/mcp/],
    ["another scheme", "ftp://host/x", /no http or https URL/],
    ["no host", "https:///path", /has no host/],
    ["no slashes", "http:host", /has no host/],
    ["a port that is none", "http://host:99999/", /no valid port \(99999/],
    ["port 0", "http://host:0/mcp", /no valid port \(0, it must be 1 to 65535\)/],
    ["a port with letters", "http://host:abc/", /no valid port \(abc/],
    ["nothing", {}, /needs "url" or "command"/],
    ["null", null, /is a URL/],
    ["a number", 7, /is a URL/],
    ["a list", [], /is a URL/],
    ["both", { url: "http://host", command: "x" }, /both "url" and "command"/],
    ["an empty command", { command: "  " }, /must name a program/],
    ["an unknown type", { url: "http://host", type: "websocket" }, /"websocket".*unknown.*stdio, http/],
    ["stdio with a URL", { url: "http://host", type: "stdio" }, /needs "command"/],
    ["http with a command", { command: "x", type: "http" }, /needs "url"/],
    ["args that are text", { command: "x", args: "-y" }, /"args" must be a list/],
    ["a header that is an object", { url: "http://host", headers: { a: {} } }, /headers\.a/],
    ["an env that is a list", { command: "x", env: ["A=1"] }, /"env" must be an object/],
  ];
  for (const [what, target, message] of wrong) {
    verifies("M2", `that is ${what} is refused with what to write`, () => {
      expect(refused(() => parseTarget(target as ConnectorTarget)).message).toMatch(message);
    });
  }

  test("keeps its secrets out of every message", () => {
    const env = { TOKEN: "hunter2" };
    const targets: ConnectorTarget[] = [
      "ftp://user:hunter2@host/",
      "http://user:hunter2@host:99999/?key=hunter2#hunter2",
      "http://host:port/?key=hunter2",
      { url: "http://host", headers: { "X-Key": "hunter2\nhunter2" } },
      { url: "http://host", headers: { "X-Key": "${TOKEN}\nx" } },
    ];
    for (const target of targets)
      expect(JSON.stringify(refused(() => parseTarget(target, { env })))).not.toContain("hunter2");
    const connector = mcpConnector(
      { command: "run", args: ["--api-key", "hunter2", "--token=hunter2", "${TOKEN}", "data"] },
      { env },
    );
    expect(connector.label).toBe("run");
    expect(mcpConnector("http://u:hunter2@host/mcp?k=hunter2").label).toBe("http://host/mcp");
  });
});

describe("the key and the name of a connector", () => {
  verifies("M2", "a URL is compared in its canonical form, two children never", () => {
    for (const text of ["HTTPS://Host:443/a/../mcp?x=1#y", "https://me:pw@host/mcp"]) {
      expect(mcpConnector(text).key).toBe("https://host/mcp");
    }
    expect(canonicalUrl(new URL("http://host:80"))).toBe("http://host/");
    expect(canonicalUrl(new URL("http://host:81/mcp/"))).toBe("http://host:81/mcp/");
    expect(mcpConnector({ command: "npx" }).key).toBeUndefined();
  });

  verifies("M3", "the suggested name is the last path segment, else the host, or the command", () => {
    const name = (target: ConnectorTarget) => suggestedNameOf(parseTarget(target));
    expect(name("https://host/github/mcp")).toBe("github");
    expect(name("https://host/sse/")).toBe("host");
    expect(name("https://api.example.com")).toBe("api.example.com");
    expect(name("https://host/git.hub/MCP")).toBe("git.hub");
    expect(name({ command: "/usr/bin/my-server.js" })).toBe("my-server");
    expect(name({ command: "C:\\tools\\server.exe" })).toBe("server");
  });

  test("what may be a secret, or is no identifier, is no name", () => {
    const name = (target: ConnectorTarget) => suggestedNameOf(parseTarget(target, { env: { TOKEN: "hunter2" } }));
    for (const segment of ["ghp_16C7e42F292c6912", "a1b2c3d4e5f6a7b8", "12345678", "%E4%BD%A0", "a%20b", "user@x"]) {
      expect(name(`https://host/s/${segment}/mcp`)).toBe("host");
    }
    expect(name("https://host/documentation-search/mcp")).toBe("documentation-search");
    for (const command of ["TOKEN=hunter2 npx", "npx -y server", "run=hunter2"]) {
      expect(name({ command })).toBe("server");
    }
    expect(name({ command: "run-${TOKEN}" })).toBe("run-${TOKEN}");
  });

  test("label and name are those of the package that npx and its like run, where it is surely one", () => {
    const named = (command: string, ...args: readonly string[]) => {
      const { label, suggestedName } = mcpConnector({ command, args }, { env: { NAME: "hunter" } });
      return [label, suggestedName];
    };
    const everything = "@modelcontextprotocol/server-everything";
    expect(named("npx", "-y", everything)).toEqual([everything, "server-everything"]);
    expect(named("/usr/bin/npx", `${everything}@2026.1.0`, "stdio")).toEqual([
      `${everything}@2026.1.0`,
      "server-everything",
    ]);
    expect(named("npx.cmd", "--yes", "--package=some-server", "run")).toEqual(["some-server", "some-server"]);
    expect(named("npm", "exec", "--", everything)).toEqual([everything, "server-everything"]);
    expect(named("uvx", "--from", "mcp-server[sqlite]==1.2.3", "serve")).toEqual([
      "mcp-server[sqlite]==1.2.3",
      "mcp-server",
    ]);
    expect(named("uv", "tool", "run", "mcp-server-git")).toEqual(["mcp-server-git", "mcp-server-git"]);
    const isUnsure = [
      ["npx", "--registry", "https://user:hunter2@host/", "x"],
      ["npx", "-y", "ghp_16C7e42F292c6912"],
      ["npx", "-y", "${NAME}"],
      ["npx", "--", "https://host/x.tgz?token=hunter2"],
      ["npm", "run", "serve"],
      ["node", "server"],
      ["npx"],
    ];
    for (const [command = "", ...args] of isUnsure) expect(named(command, ...args)).toEqual([command, command]);
  });

  test("a label is the command alone, in whatever form its arguments hold a secret", () => {
    const label = (command: string, args: readonly string[] = []) => mcpConnector({ command, args }).label;
    const secrets = [
      "--header",
      "Authorization: Bearer x",
      "postgres://u:p@h/db",
      "--pat",
      "x",
      "ghp_16C7e42F292c6912",
    ];
    expect(label("npx", secrets)).toBe("npx");
    expect(label("/opt/my tools/bin/run.sh", secrets)).toBe("run.sh");
    expect(label("C:\\Program Files\\nodejs\\node.exe", secrets)).toBe("node.exe");
    for (const command of [
      "npx -y server --pat a/b",
      "npx=a/b",
      "/bin/npx --url=postgres://u:p@h/db",
      "npx postgres://u:p@h/db",
    ]) {
      expect(label(command)).toBe("npx");
    }
    expect(label("=x")).toBe("command");
  });
});

test("[M1] what a child inherits is false or a list of names and globs", () => {
  const inherited = (inheritEnv: unknown) => parseTarget({ command: "run", inheritEnv } as ConnectorTarget);
  expect(inherited(["GITHUB_TOKEN", "LC_*", "!NO_PROXY"])).toMatchObject({
    inheritEnv: ["GITHUB_TOKEN", "LC_*", "!NO_PROXY"],
  });
  expect(inherited(false)).toMatchObject({ inheritEnv: false });
  for (const wrong of [true, "PATH", ["A=b"], [""], [1], {}]) {
    expect(refused(() => inherited(wrong))).toMatchObject({
      code: "INVALID_TARGET",
      details: { target: "inheritEnv" },
    });
  }
});

describe("the configuration MCP clients share", () => {
  verifies("M1", "is read under both names, with what others write in it", () => {
    const servers = {
      files: {
        command: "npx",
        args: ["-y", "fs"],
        env: { A: "1" },
        disabled: false,
        autoApprove: ["read"],
        timeout: 60,
      },
      web: { type: "http", url: "https://host/mcp", headers: { A: "${B}" } },
      off: { command: "x", disabled: true },
      alsoOff: { url: "not even a url", enabled: false },
      windsurf: { serverUrl: "https://host/other" },
    };
    const expected = [
      ["files", { command: "npx", args: ["-y", "fs"], env: { A: "1" } }],
      ["web", { type: "http", url: "https://host/mcp", headers: { A: "${B}" } }],
      ["windsurf", { url: "https://host/other" }],
    ];
    expect(parseMcpServers({ mcpServers: servers, other: 1 })).toEqual(expected);
    expect(parseMcpServers({ mcp_servers: servers })).toEqual(expected);
  });

  const wrong: readonly (readonly [unknown, RegExp])[] = [
    [null, /the configuration is wrong/],
    [{}, /has no "mcpServers"/],
    [{ servers: { a: { command: "x" } } }, /under "servers": write the same under "mcpServers"/],
    [{ mcpServers: [] }, /^mcpServers is wrong/],
    [{ mcpServers: { a: "npx" } }, /^mcpServers\.a is wrong/],
    [{ mcp_servers: { a: {} } }, /^mcp_servers\.a has neither/],
    [{ mcpServers: { a: { url: "x", command: "y" } } }, /^mcpServers\.a has both/],
    [{ mcpServers: { a: { command: "x", args: [1] } } }, /^mcpServers\.a\.args must be a list of strings/],
    [{ mcpServers: { a: { command: 1 } } }, /^mcpServers\.a\.command must be a string/],
  ];
  for (const [config, message] of wrong) {
    verifies("M1", `${JSON.stringify(config)} is refused with the path`, () => {
      expect(refused(() => parseMcpServers(config)).message).toMatch(message);
    });
  }
});
