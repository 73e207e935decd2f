import { onTestFinished } from "vitest";
import { Toolkit } from "../../src/index.ts";
import { type HttpPackConfig, registerWith } from "../../src/tool-packs/http/index.ts";

/** A toolkit with the web pack, until the test is over. */
export function toolkitWith(config: HttpPackConfig): Toolkit {
  const toolkit = new Toolkit();
  registerWith(toolkit, config);
  onTestFinished(() => toolkit.close());
  return toolkit;
}
