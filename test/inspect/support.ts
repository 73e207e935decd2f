import { afterEach } from "vitest";
import { type Inspection, type InspectionOptions, serveInspection } from "../../src/inspect/inspect.ts";
import { assetsOf } from "../../src/inspect/page-assets.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";

/** A page that was opened, by fetch. */
export interface OpenedPage {
  readonly inspection: Inspection;
  readonly origin: string;
  readonly cookie: string;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Response>;
  json<T>(path: string): Promise<T>;
  post(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>;
  act<T>(path: string, body: unknown): Promise<T>;
}

const stub = assetsOf({ "index.html": "<!doctype html><title>stub</title>", "page.js": "", "page.css": "" });

/** Inspections and toolkits that end with each test. */
export function inspections() {
  const opened: AsyncDisposable[] = [];
  afterEach(async () => {
    for (const each of opened.splice(0).reverse()) await each[Symbol.asyncDispose]();
  });
  return {
    toolkit(...args: ConstructorParameters<typeof Toolkit>): Toolkit {
      const toolkit = new Toolkit(...args);
      opened.push(toolkit);
      return toolkit;
    },
    async inspect(toolkit: Toolkit, options: InspectionOptions = {}, assets = stub): Promise<Inspection> {
      const inspection = await serveInspection(toolkit, options, assets);
      opened.push(inspection);
      return inspection;
    },
    async open(toolkit: Toolkit, options: InspectionOptions = {}): Promise<OpenedPage> {
      const inspection = await this.inspect(toolkit, options);
      return signIn(inspection);
    },
  };
}

async function signIn(inspection: Inspection): Promise<OpenedPage> {
  const { origin } = new URL(inspection.url);
  const answer = await fetch(inspection.url);
  const cookie = answer.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
  const get = (path: string, headers = {}) => fetch(`${origin}${path}`, { headers: { cookie, ...headers } });
  const post = (path: string, body: unknown, headers = {}) =>
    fetch(`${origin}${path}`, {
      method: "POST",
      headers: { cookie, "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  return {
    inspection,
    origin,
    cookie,
    get,
    post,
    json: async <T>(path: string) => (await (await get(path)).json()) as T,
    act: async <T>(path: string, body: unknown) => (await (await post(path, body)).json()) as T,
  };
}
