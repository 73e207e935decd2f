// The child process of a faulty server over stdio. It relays stdin and stdout to the server in the parent, and does itself only what takes
// a process. With one more argument it is the grandchild that holds stdout and does nothing. It imports nothing of the project, so that it
// starts fast.
import { spawn } from "node:child_process";
import { connect, type Socket } from "node:net";

/** Orders of the parent, as a line of JSON. */
interface Orders {
  /** Write this to stderr and exit. */
  readonly exit?: string;
  readonly freeze?: boolean;
  readonly ignoreTerm?: boolean;
  readonly grandchild?: boolean;
  /** Lines a second; 0 for none. */
  readonly stderrPerSecond?: number;
}

const [, self = "", port = "", token = "", idle] = process.argv;
const stderrTickMs = 10;

let ignoresTerm = false;
let data: Socket | undefined;
let hasGrandchild = false;
let stderrFlood: NodeJS.Timeout | undefined;

// This socket shows the parent that the process runs. Without the parent no other process would end it, so it exits with the socket.
const control = open(idle === undefined ? "control" : "idle");
control.on("close", () => process.exit(1));
let rest = "";
control.setEncoding("utf8").on("data", (text: string) => {
  const lines = (rest + text).split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines) follow(JSON.parse(line) as Orders);
});

process.on("SIGTERM", () => {
  if (!ignoresTerm && idle === undefined) process.exit(0);
});

function open(purpose: string): Socket {
  const socket = connect(Number(port), "127.0.0.1");
  socket.on("error", () => process.exit(1));
  socket.write(`${JSON.stringify({ purpose, token, pid: process.pid })}\n`);
  return socket;
}

function follow(orders: Orders): void {
  if (orders.exit !== undefined) {
    process.stderr.write(`${orders.exit}\n`, () => process.exit(1));
    return;
  }
  ignoresTerm = orders.ignoreTerm ?? ignoresTerm;
  if (orders.grandchild === true) startGrandchild();
  if (orders.stderrPerSecond !== undefined) flood(orders.stderrPerSecond);
  if (orders.freeze === true) freeze();
  else data ??= relay();
}

function relay(): Socket {
  const socket = open("data");
  process.stdin.pipe(socket, { end: false });
  socket.pipe(process.stdout);
  process.stdout.on("error", () => undefined);
  process.stdin.on("end", () => {
    if (!ignoresTerm) process.exit(0);
  });
  return socket;
}

function freeze(): void {
  if (data === undefined) return;
  process.stdin.unpipe(data);
  process.stdin.pause();
  data.unpipe(process.stdout);
  data.pause();
}

function startGrandchild(): void {
  if (hasGrandchild) return;
  hasGrandchild = true;
  spawn(process.execPath, [self, port, token, "idle"], { stdio: ["ignore", "inherit", "ignore"] });
}

function flood(perSecond: number): void {
  clearInterval(stderrFlood);
  if (perSecond === 0) return;
  const lines = "The disk is nearly full.\n".repeat(Math.max(1, Math.round((perSecond * stderrTickMs) / 1_000)));
  stderrFlood = setInterval(() => process.stderr.write(lines), stderrTickMs);
}
