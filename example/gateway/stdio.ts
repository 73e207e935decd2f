// #region stdio
import { serveStdio } from "toolweave/server";
import { toolkit } from "./toolkit.ts";

await toolkit.start();
// Nothing else may write to stdout: log to stderr.
await serveStdio(toolkit);
// #endregion
