// What the page about web frameworks shows, each asked over HTTP or by a Request. It checks its own results.
import { deepStrictEqual } from "node:assert/strict";
import { once } from "node:events";
import { readFile, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { transform } from "esbuild";
import { app as express } from "./express.ts";
import { app as fastify } from "./fastify.ts";
import { app as hono } from "./hono.ts";
import { POST } from "./next.ts";
import { toolkit } from "./toolkit.ts";

// #region close
process.once("SIGTERM", () => void toolkit.close());
// #endregion

const call = (name: string, input: object): RequestInit & { path: string } => ({
  path: `/call/${name}`,
  method: "POST",
  headers: { "content-type": "application/json", "x-user": "ada" },
  body: JSON.stringify(input),
});

/** The answer for a good call, and the statuses for one without its input and one of an unknown tool. */
async function ask(name: string, send: (request: ReturnType<typeof call>) => Promise<Response>, asked?: string) {
  const good = await send(call("greet", { name: "Ada" }));
  const wanted = { greeting: "Hello, Ada!", ...(asked === undefined ? {} : { asked }) };
  deepStrictEqual(await good.json(), wanted, name);
  deepStrictEqual((await send(call("greet", {}))).status, 400, name);
  deepStrictEqual((await send(call("no_such_tool", {}))).status, 404, name);
  console.log(`${name} answered.`);
}

const listener = express.listen(0, "127.0.0.1");
await once(listener, "listening");
const { port } = listener.address() as AddressInfo;
await ask("Express", ({ path, ...init }) => fetch(`http://127.0.0.1:${port}${path}`, init), "ada");
listener.close();

await ask("Hono", async ({ path, ...init }) => await hono.request(path, init), "ada");
const nextCall = ({ path, ...init }: ReturnType<typeof call>) =>
  POST(new Request(`http://localhost${path}`, init), {
    params: Promise.resolve({ name: path.split("/").pop() ?? "" }),
  });
await ask("Next", nextCall, "ada");

// Node runs no decorators: Nest is compiled first, as it is in a project of Nest.
const source = await readFile(new URL("nest.ts", import.meta.url), "utf8");
const tsconfigRaw = { compilerOptions: { experimentalDecorators: true } };
const { code } = await transform(source, { loader: "ts", target: "es2023", tsconfigRaw });
const compiled = new URL(`nest-${process.pid}.mjs`, import.meta.url);
try {
  await writeFile(compiled, code);
  const { CallModule } = await import(compiled.href);
  const { NestFactory } = await import("@nestjs/core");
  const nest = await NestFactory.create(CallModule, { logger: false });
  await nest.listen(0, "127.0.0.1");
  const url = await nest.getUrl();
  await ask("Nest", ({ path, ...init }) => fetch(`${url}${path}`, init));
  // Closing is left to the last one: all share one Toolkit.
  nest.getHttpServer().close();
} finally {
  await rm(compiled, { force: true });
}

const fastifyUrl = await fastify.listen({ port: 0, host: "127.0.0.1" });
await ask("Fastify", ({ path, ...init }) => fetch(`${fastifyUrl}${path}`, init), "ada");
await fastify.close(); // closes the Toolkit
