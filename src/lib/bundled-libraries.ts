import * as OpenTelemetry from "@opentelemetry/api";
import GrayMatter from "gray-matter";
import Handlebars from "handlebars";
import { RE2JS } from "re2js";
import { Agent, buildConnector, EnvHttpProxyAgent } from "undici";
import Yaml from "yaml";
import type { ConnectorMaker } from "./lazy-libraries.ts";

// For bundlers, in place of `lazy-libraries.ts` and with the same exports: imports that they follow.

/** The library `gray-matter`. */
export const loadGrayMatter = (): typeof GrayMatter => GrayMatter;

/** The library `handlebars`. */
export const loadHandlebars = (): typeof Handlebars => Handlebars;

/** The library `yaml`. */
export const loadYaml = (): typeof Yaml => Yaml;

/** The API of OpenTelemetry. */
export const loadOpenTelemetry = (): typeof OpenTelemetry => OpenTelemetry;

/** The class of the library `re2js`. */
export const loadRe2js = (): typeof RE2JS => RE2JS;

/** The agent of undici. */
export const loadAgent = (): typeof Agent => Agent;

/** The maker of connectors of undici. */
export const loadConnectorMaker = (): ConnectorMaker => buildConnector as unknown as ConnectorMaker;

/** The agent of undici that heeds the proxy variables. */
export const loadProxyAgent = (): typeof EnvHttpProxyAgent => EnvHttpProxyAgent;
