// #region next
// app/call/[name]/route.ts
import { failure, toolkit } from "./toolkit.ts";

export const runtime = "nodejs";

export async function POST(request: Request, { params }: { params: Promise<{ name: string }> }): Promise<Response> {
  const principal = request.headers.get("x-user") ?? undefined; // from your authentication
  try {
    const result = await toolkit.call((await params).name, await request.json(), {
      session: { id: principal ?? "anonymous", principal },
      signal: request.signal,
    });
    return new Response(await result.bytes(), { headers: { "content-type": result.mediaType } });
  } catch (error) {
    const { status, body } = failure(error);
    return Response.json(body, { status });
  }
}
// #endregion
