import { createRequire } from "node:module";
import type GrayMatter from "gray-matter";
import type Handlebars from "handlebars";
import type Yaml from "yaml";

// Loaded at the first prompt: they cost 60 ms to import. Loaded by require, since parsing is synchronous.

const require = createRequire(import.meta.url);
let grayMatterModule: typeof GrayMatter | undefined;
let handlebarsModule: typeof Handlebars | undefined;
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
