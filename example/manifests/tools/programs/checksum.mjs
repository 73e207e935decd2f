// A program of a manifest: arguments come as JSON on stdin, the result goes as JSON to stdout.
import { createHash } from "node:crypto";

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const { args } = JSON.parse(Buffer.concat(chunks).toString());
const [algorithm] = process.argv.slice(2);
process.stdout.write(JSON.stringify({ result: createHash(algorithm).update(args.text).digest("hex") }));
