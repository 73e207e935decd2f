// The layering rule: a file imports only from its own folder and from folders with a lower number, never from a sibling of the
// same number. Types count. What a file loads lazily counts too.
const layers = [
  ["lib"],
  ["core"],
  ["resource"],
  ["store"],
  ["jobs"],
  ["pins"],
  ["catalog"],
  ["prompt"],
  ["toolset"],
  ["adapters"],
  ["call"],
  ["approval"],
  ["explain"],
  ["user"],
  ["connection"],
  ["manifest", "tool-packs"],
  ["mcp"],
  ["a2a"],
  ["toolkit"],
  ["workflow"],
  ["agent"],
  ["testing"],
  ["tape"],
  ["server"],
  ["inspect"],
  ["config"],
  ["cli"],
];
const pathOf = (names) => `^src/(${names.join("|")})/`;

const layering = layers.flatMap((names, level) =>
  names.map((name) => {
    const forbidden = [...layers[level].filter((other) => other !== name), ...layers.slice(level + 1).flat()];
    return {
      name: `layer-${name}`,
      comment: `${name} is on layer ${level}: it imports only from itself and from lower layers.`,
      severity: "error",
      from: { path: pathOf([name]) },
      to: { path: forbidden.length === 0 ? "^src/index\\.ts" : `${pathOf(forbidden)}|^src/index\\.ts` },
    };
  }),
);

const bundled = require("./script/support/bundled-packages.json");

/** @type {import("dependency-cruiser").IConfiguration} */
module.exports = {
  forbidden: [
    ...layering,
    {
      name: "no-cycles",
      comment: "No file needs itself, not even for a type.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "mcp-sdk-in-one-folder",
      comment: "Nothing of the MCP SDK leaves src/mcp.",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/mcp/" },
      to: { path: "node_modules/@modelcontextprotocol/" },
    },
    {
      name: "model-port",
      comment: "src/agent/model is the port to models: it knows nothing of runs.",
      severity: "error",
      from: { path: "^src/agent/model/" },
      to: { path: "^src/agent/", pathNot: "^src/agent/model/" },
    },
    {
      name: "no-dev-dependencies",
      comment:
        "What is shipped needs only what is installed with it, is a part of it, or what it asks for by name: a peer.",
      severity: "error",
      // The page is bundled: the browser gets what it needs with it.
      from: { path: "^src/", pathNot: "^src/inspect/page/" },
      to: {
        dependencyTypes: ["npm-dev"],
        dependencyTypesNot: ["npm-peer"],
        pathNot: bundled.map((name) => `^node_modules/${name}/`),
      },
    },
    {
      name: "resolvable",
      comment: "Every import leads somewhere.",
      severity: "error",
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default", "types"] },
  },
};
