import { createRequire } from "node:module";
import type { Socket } from "node:net";
import type * as OpenTelemetry from "@opentelemetry/api";
import type GrayMatter from "gray-matter";
import type Handlebars from "handlebars";
import type { RE2JS } from "re2js";
import type { Agent, buildConnector, EnvHttpProxyAgent } from "undici";
import type Yaml from "yaml";

/** The types of undici hide that a connector returns its socket, and that it takes a `lookup`. */
export type ConnectorMaker = (
  options: object,
) => (options: buildConnector.Options, callback: buildConnector.Callback) => Socket;

// Libraries that are loaded at their first use, since they cost 15 to 60 ms to import; by require, since that use is synchronous. A bundler
// does not follow this require: in the package it gets `bundled-libraries.ts` in place of this file, by the condition `module` of `imports`.

const require = createRequire(import.meta.url);
let grayMatterModule: typeof GrayMatter | undefined;
let handlebarsModule: typeof Handlebars | undefined;
let openTelemetryModule: typeof OpenTelemetry | undefined;
let re2jsClass: typeof RE2JS | undefined;
let yamlModule: typeof Yaml | undefined;

/** The library `gray-matter`. */
export function loadGrayMatter(): typeof GrayMatter {
  grayMatterModule ??= require("gray-matter") as typeof GrayMatter;
  return grayMatterModule;
}

/** The library `handlebars`. */
export function loadHandlebars(): typeof Handlebars {
  handlebarsModule ??= require("handlebars") as typeof Handlebars;
  return handlebarsModule;
}

/** The library `yaml`. */
export function loadYaml(): typeof Yaml {
  yamlModule ??= require("yaml") as typeof Yaml;
  return yamlModule;
}

/** The API of OpenTelemetry. Its copies share what is registered, so that it may be another one than that of the user. */
export function loadOpenTelemetry(): typeof OpenTelemetry {
  openTelemetryModule ??= require("@opentelemetry/api") as typeof OpenTelemetry;
  return openTelemetryModule;
}

/** The class of the library `re2js`. */
export function loadRe2js(): typeof RE2JS {
  re2jsClass ??= (require("re2js") as { readonly RE2JS: typeof RE2JS }).RE2JS;
  return re2jsClass;
}

/** Of undici only what sends, since its index takes three times as long. */
export function loadAgent(): typeof Agent {
  return require("undici/lib/dispatcher/agent.js") as typeof Agent;
}

/** The maker of connectors of undici. */
export function loadConnectorMaker(): ConnectorMaker {
  return require("undici/lib/core/connect.js") as ConnectorMaker;
}

/** The agent of undici that heeds the proxy variables. */
export function loadProxyAgent(): typeof EnvHttpProxyAgent {
  return (require("undici") as { readonly EnvHttpProxyAgent: typeof EnvHttpProxyAgent }).EnvHttpProxyAgent;
}
