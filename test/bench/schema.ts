import { Ajv2020 } from "ajv/dist/2020.js";
import { defineTool } from "../../src/core/tool.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { type Bench, measureOnce } from "./harness.ts";
import { message, messageSchema } from "./server/tools.ts";

const tools = 1_000;
const used = 10;
let made = 0;

/** The cost of the schemas of many tools when few of them are called, against compiling each of them at once. */
export const bench: Bench = {
  name: "schema",
  targets: { schemas: { of: "ratio", must: 0.02 } },
  async run() {
    const { eager, added, called } = await measureOnce(
      {
        eager: () => {
          const ajv = new Ajv2020();
          const validators = differentSchemas().map((schema) => ajv.compile(schema));
          for (const validate of validators.slice(0, used)) validate(message);
          return () => undefined;
        },
        added: async () => {
          const toolkit = toolkitOf(differentSchemas());
          await callSome(toolkit);
          return () => toolkit.close();
        },
        called: withToolkits((toolkit) => callSome(toolkit)),
      },
      10,
    );
    const peer = { name: "ajv, each", timing: eager };
    return [
      { name: `${used} of ${tools} tools called`, target: "schemas", ours: called, peer },
      { name: `the same, and all of them added`, ours: added, peer },
    ];
  },
};

/** Equal schemas would share a validator. */
function differentSchemas(): readonly (typeof messageSchema)[] {
  made += 1;
  return Array.from({ length: tools }, (_, at) => ({ ...messageSchema, title: `Schema ${at} of ${made}` }));
}

function toolkitOf(schemas: readonly (typeof messageSchema)[]): Toolkit {
  const toolkit = new Toolkit();
  toolkit.add(...schemas.map((input, at) => defineTool({ name: `tool_${at}`, input, run: () => at })));
  return toolkit;
}

async function callSome(toolkit: Toolkit): Promise<void> {
  for (let at = 0; at < used; at += 1) await toolkit.call(`builtin.tool_${at * 97}`, message);
}

/** The caches that are filled beforehand are not measured. */
function withToolkits(use: (toolkit: Toolkit) => Promise<void>) {
  let next = toolkitOf(differentSchemas());
  return async () => {
    const toolkit = next;
    await use(toolkit);
    return async () => {
      await toolkit.close();
      next = toolkitOf(differentSchemas());
    };
  };
}
