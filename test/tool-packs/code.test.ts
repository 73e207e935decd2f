import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Toolkit } from "../../src/index.ts";
import { codePack, registerWith } from "../../src/tool-packs/code/index.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

let root: string;
let toolkit: Toolkit;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "code-pack-"));
  toolkit = new Toolkit();
  registerWith(toolkit, { root });
});

afterEach(async () => {
  await toolkit.close();
  await rm(root, { recursive: true, force: true });
});

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(root, path, ".."), { recursive: true });
    await writeFile(join(root, path), text);
  }
}

async function json(tool: string, input: object): Promise<unknown> {
  return (await toolkit.call(`code.${tool}`, input)).json();
}

/** A file of each language, and what its lines define: kind, name, line. */
const samples: Readonly<Record<string, readonly [text: string, symbols: string, imports: string]>> = {
  "a.ts": [
    `import { x } from "lib";
import {
  y,
} from "./own.ts";
export abstract class Base<T> extends x {
  #secret = 1;
  async run(input: T): Promise<void> {
    if (input) {
    }
  }
}
export interface Port { a: string }
export type Name = string;
export const enum Level { Low }
export default async function* main() {}
const helper = async (a: number) => a;
export const limit = 3;
const fs = require("node:fs");
await import("lazy");`,
    "class Base 5, method run 7, interface Port 12, type Name 13, enum Level 14, function main 15, function helper 16, constant limit 17, constant fs 18",
    "lib, ./own.ts, node:fs, lazy",
  ],
  "a.py": [
    `from os.path import join
import sys
MAX_SIZE = 3
class Thing(Base):
    async def go(self):
        pass
def top():
    pass`,
    "constant MAX_SIZE 3, class Thing 4, method go 5, function top 7",
    "os.path, sys",
  ],
  "a.go": [
    `package main
import (
\t"fmt"
\tx "example.com/x"
)
type Port interface {}
type Thing[T any] struct {}
type ID string
func (t *Thing) Go() {}
func main() {}
var Version = "1"`,
    "interface Port 6, class Thing 7, type ID 8, method Go 9, function main 10, constant Version 11",
    "fmt, example.com/x",
  ],
  "a.rs": [
    `use std::io;
pub(crate) struct Thing;
pub trait Port {}
enum Level {}
impl Thing {
    pub async fn go(&self) {}
}
fn main() {}
mod inner;`,
    "class Thing 2, interface Port 3, enum Level 4, method go 6, function main 8, module inner 9",
    "std",
  ],
  "A.java": [
    `import java.util.List;
public final class A {
    public static void main(String[] args) {
    }
    private List<String> names(int a) {
    }
}`,
    "class A 2, method main 3, method names 5",
    "java.util.List",
  ],
  "a.c": [
    `#include <stdio.h>
#define LIMIT 3
struct thing {
};
static int add(int a,
  int b) {
  return add(a, b);
}`,
    "constant LIMIT 2, class thing 3, function add 5",
    "stdio.h",
  ],
  "a.rb": [
    `require "json"\nmodule M\n  class A\n    def go?\n    end\n  end\nend\ndef top\nend`,
    "module M 2, class A 3, method go? 4, function top 8",
    "json",
  ],
  "a.php": [
    `<?php\nuse App\\Thing;\nfinal class A {\n  public function go() {}\n}\nfunction top() {}`,
    "class A 3, method go 4, function top 6",
    "App\\Thing",
  ],
};

describe("the code pack", () => {
  for (const [file, [text, symbols, imports]] of Object.entries(samples))
    verifies("W2", `finds what ${file} defines and imports`, async () => {
      await write({ [file]: text });
      const outline = (await json("outline", { path: file })) as {
        readonly symbols: readonly { readonly kind: string; readonly name: string; readonly line: number }[];
        readonly imports: readonly string[];
      };
      expect(outline.symbols.map(({ kind, name, line }) => `${kind} ${name} ${line}`).join(", ")).toBe(symbols);
      expect(outline.imports.join(", ")).toBe(imports);
    });

  verifies("W2", "describes a code base", async () => {
    await write({
      "src/a.ts": "import 'zod';\nexport const a = 1; // TODO: more\n",
      "src/b.ts": 'import "zod";\nconst password = "hunter2-and-more";\neval(input);\n',
      "b.py": "import os\n",
      "README.md": "# T\n",
      ".gitignore": "dist\n",
      "dist/out.js": "eval(1)\n",
      blob: "\0",
    });
    const summary = { files: 5, lines: 8, languages: [{ name: "TypeScript", files: 2, lines: 5 }, {}, {}, {}] };
    expect(await json("analyze", {})).toMatchObject({
      ...summary,
      largest: [{ path: "src/b.ts", lines: 3 }, {}, {}, {}, {}],
      imports: [
        { name: "zod", files: 2 },
        { name: "os", files: 1 },
      ],
      markers: { TODO: 1, eval: 1, secret: 1 },
      symbols: { constant: 2 },
      complete: true,
    });
    expect(await json("analyze", {})).not.toHaveProperty("found");
    expect(await json("analyze", { level: "full", path: "src", include: "b.*" })).toMatchObject({
      files: 1,
      found: [
        { path: "src/b.ts", line: 2, kind: "secret", text: 'const password = "...";' },
        { path: "src/b.ts", line: 3, kind: "eval", text: "eval(input);" },
      ],
      outlines: [{ path: "src/b.ts", symbols: ["2 constant password"] }],
    });
  });

  verifies("W2", "finds a symbol by its name or a part of it", async () => {
    await write({ "a.ts": "export class Toolkit {}\n", "deep/b.py": "def toolkit():\n  pass\nclass Other:\n  pass\n" });
    expect(await json("find_symbol", { name: "Toolkit" })).toEqual({
      symbols: [{ path: "a.ts", name: "Toolkit", kind: "class", line: 1 }],
      complete: true,
    });
    expect(await json("find_symbol", { name: "tool", part: true, path: "deep" })).toMatchObject({
      symbols: [{ path: "deep/b.py", name: "toolkit" }],
    });
    expect(await json("find_symbol", { name: "t", part: true, limit: 1 })).toMatchObject({
      symbols: [{}],
      complete: false,
    });
  });

  verifies("W2", "reads nothing outside, and takes lines that are made to take long", async () => {
    const line = [
      " ".repeat(999),
      "public ".repeat(140),
      `${"a ".repeat(400)}(`,
      `func (${"(".repeat(900)}`,
      `const a = ${"(".repeat(900)}`,
      `query("${"+".repeat(900)}`,
    ];
    for (const extension of ["ts", "py", "go", "rs", "java", "c", "rb", "php"])
      await write({ [`x.${extension}`]: `${line.join("\n")}\n`.repeat(100) });
    expect(await json("analyze", { level: "full" })).toMatchObject({ files: 8, complete: true });
    expect(await failure(toolkit.call("code.outline", { path: "../secret" }))).toMatchObject({ code: "DENIED" });
    expect(await failure(toolkit.call("code.analyze", { path: ".." }))).toMatchObject({ code: "DENIED" });
  });

  verifies("W2", "takes a budget of tokens: its definitions and guidance", async () => {
    expect((await toolkit.toolset({ include: ["code.*"] })).tokens().total).toBeLessThan(700);
  });

  test("says which option is wrong", () => {
    expect(() => codePack({ root: "" })).toThrow(/root of the code pack/);
    expect(() => codePack({ root: ".", write: true } as never)).toThrow(/write/);
  });
});
