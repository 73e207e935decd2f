import { createRequire } from "node:module";
import type Handlebars from "handlebars";
import type Yaml from "yaml";

// Loaded at the first prompt: the two cost 45 ms to import, and parsing is synchronous, so that import() is no way.

const require = createRequire(import.meta.url);
let handlebarsModule: typeof Handlebars | undefined;
let yamlModule: typeof Yaml | undefined;

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
