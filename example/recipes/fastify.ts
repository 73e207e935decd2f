// #region fastify
import fastify from "fastify";
import { failure, toolkit } from "./toolkit.ts";

export const app = fastify();
app.setErrorHandler((error, _request, reply) => {
  const { status, body } = failure(error);
  return reply.status(status).send(body);
});

app.post<{ Params: { name: string } }>("/call/:name", async (request, reply) => {
  const gone = new AbortController();
  reply.raw.once("close", () => gone.abort());
  const principal = request.headers["x-user"]?.toString(); // from your authentication
  const result = await toolkit.call(request.params.name, request.body, {
    session: { id: principal ?? "anonymous", principal },
    signal: gone.signal,
  });
  return reply.type(result.mediaType).send(Buffer.from(await result.bytes()));
});

app.addHook("onClose", () => toolkit.close());
// #endregion
