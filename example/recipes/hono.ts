// #region hono
import { Hono } from "hono";
import { failure, toolkit } from "./toolkit.ts";

export const app = new Hono();
app.onError((error) => {
  const { status, body } = failure(error);
  return Response.json(body, { status });
});

app.post("/call/:name", async (context) => {
  const principal = context.req.header("x-user"); // from your authentication
  const result = await toolkit.call(context.req.param("name"), await context.req.json(), {
    session: { id: principal ?? "anonymous", principal },
    signal: context.req.raw.signal,
  });
  return new Response(await result.bytes(), { headers: { "content-type": result.mediaType } });
});
// #endregion
