import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { redactorOf } from "../../src/mcp/redact.ts";
import { parseTarget } from "../../src/mcp/target/parse-target.ts";

describe("a redactor", () => {
  const url = "https://us3r-name:p%40ss-word@host/mcp?key=query%20value&no=short";
  const redactor = redactorOf(
    parseTarget({ url, headers: { "X-Key": "key-1\n2".replace("\n", "-"), Proxy: "Bearer t0ken-t0ken", A: "1" } }),
  );
  const text = (said: string) => redactor.text(said);
  const value = (said: unknown) => redactor.value(said);
  const error = (thrown: unknown) => redactor.error(thrown);

  test("takes out what was sent, in every form it may come back in, and nothing short", () => {
    const basic = Buffer.from("us3r-name:p@ss-word").toString("base64");
    for (const said of [
      "key-1-2",
      "t0ken-t0ken",
      "Bearer t0ken-t0ken",
      basic,
      `Basic ${basic}`,
      "us3r-name",
      "p@ss-word",
      "p%40ss-word",
      "query value",
      "query%20value",
    ]) {
      expect(text(`<${said}>`)).toBe("<***>");
    }
    expect(text("1 short $& (.*)")).toBe("1 short $& (.*)");
  });

  test("knows the environment of a child, in JSON, and line by line", () => {
    const child = redactorOf(parseTarget({ command: "x", env: { PEM: 'first "line"\nsecond line', N: "12345" } }));
    expect(child.text('a first "line" b')).toBe("a *** b");
    expect(child.text(JSON.stringify({ pem: 'first "line"\nsecond line' }))).toBe('{"pem":"***"}');
    expect(child.text("second line, 12345")).toBe("***, 12345");
    expect(child.longest).toBeGreaterThanOrEqual('first "line"\nsecond line'.length);
  });

  test("takes out what comes back in upper or lower case", () => {
    expect(text("T0KEN-T0KEN, bearer t0ken-T0ken, P%40SS-WORD")).toBe("***, ***, ***");
  });

  test("takes out of an interface only what is a credential by its name or form, and leaves the rest the same object", () => {
    const env = {
      NODE_ENV: "production",
      REGION: "us-east-1",
      FOLDER: "/home/anna/project-2024x",
      DB_PASSWORD: "password",
      API_KEY: "hunter2-key",
      OTHER: "9f86d081884c7d659a2f",
      DATABASE: "postgres://anna:p4ssw%21rd@db/main",
      HEADER: "Bearer t0ken-t0ken",
      GREETING: "hello everyone",
    };
    const child = redactorOf(parseTarget({ command: "x", env }));
    const harmless = { enum: ["production", "us-east-1", "/home/anna/project-2024x", "password"], deep: [[{}]] };
    expect(child.described(harmless)).toBe(harmless);
    const { enum: kept } = harmless;
    expect(child.described({ a: ["HUNTER2-KEY", env.OTHER, env.DATABASE, "p4ssw!rd"], kept })).toEqual({
      a: ["***", "***", "***", "***"],
      kept,
    });
    expect(child.text("Production, everyone, hello everyone")).toBe("***, everyone, ***");
    expect(child.described("t0ken-t0ken, hello everyone")).toBe("***, hello everyone");
    const http = redactorOf(parseTarget({ url: "https://h/s/9f86d081884c7d659a2f/mcp?profile=default-1&key=abc123" }));
    expect(http.described("9F86D081884C7D659A2F default-1 abc123")).toBe("*** default-1 ***");
  });

  test("takes the longer of two first", () => {
    const child = redactorOf(parseTarget({ command: "x", env: { A: "secret", B: "secret-longer" } }));
    expect(child.text("secret-longer secret")).toBe("*** ***");
  });

  test("goes through JSON, and ends where that is too deep", () => {
    expect(value({ a: ["t0ken-t0ken", 1, null], "t0ken-t0ken": true })).toEqual({ a: ["***", 1, null], "***": true });
    let deep: unknown = "t0ken-t0ken";
    for (let depth = 0; depth < 100_000; depth++) deep = [deep];
    expect(inspect(value(deep), { depth: 50 })).not.toContain("t0ken");
  });

  test("leaves an error that holds none as it is, and of another leaves message and code", () => {
    const harmless = new Error("no", { cause: new Error("why") });
    expect(error(harmless)).toBe(harmless);
    for (const told of [
      Object.assign(new TypeError("t0ken-t0ken is odd"), { code: "ERR_X", headers: { a: "t0ken-t0ken" } }),
      Object.assign(new TypeError("*** is odd", { cause: new Error("t0ken-t0ken") }), { code: "ERR_X" }),
    ]) {
      const clean = error(told);
      expect(clean).toMatchObject({ message: "*** is odd", code: "ERR_X" });
      expect(inspect(clean, { depth: 9, showHidden: true })).not.toContain("t0ken");
    }
  });

  test("learns what is sent later, and of that knows the last thousand", () => {
    const child = redactorOf(parseTarget({ command: "x" }));
    expect(child.text("token-0")).toBe("token-0");
    child.conceal("Bearer token-0");
    expect(child.text("<token-0> <Bearer token-0>")).toBe("<***> <***>");
    expect(child.longest).toBe("Bearer%20token-0".length);
    for (let number = 1; number <= 1_000; number++) child.conceal(`Bearer token-${number}`);
    expect(child.text("token-0 token-1000 token-1")).toBe("token-0 *** ***");
  });
});
