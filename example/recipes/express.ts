// #region express
import express from "express";
import { failure, toolkit } from "./toolkit.ts";

export const app = express();
app.use(express.json());

app.post("/call/:name", async (request, response) => {
  const gone = new AbortController();
  response.once("close", () => gone.abort()); // the client went away: the call ends, and its server is notified
  const principal = request.header("x-user"); // from your authentication
  try {
    const result = await toolkit.call(request.params.name, request.body, {
      session: { id: principal ?? "anonymous", principal },
      signal: gone.signal,
    });
    response.type(result.mediaType).send(Buffer.from(await result.bytes()));
  } catch (error) {
    const { status, body } = failure(error);
    response.status(status).json(body);
  }
});
// #endregion
