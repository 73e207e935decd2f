/** A template of Go, its input, and its result there. */
export interface GoForm {
  readonly what: string;
  readonly template: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** The text that Go itself renders. */
  readonly text: string;
  /** The replacements, tag by tag, in the order of the text. */
  readonly instead: readonly string[];
}

type Row = readonly [
  what: string,
  template: string,
  input: Readonly<Record<string, unknown>>,
  text: string,
  instead: readonly string[],
];

const items = [{ name: "tea", price: 3 }, { name: "cup" }];
const row = ([what, template, input, text, instead]: Row): GoForm => ({ what, template, input, text, instead });

/** Go's text/template, with the functions upper, lower, trim, join, default and toJson. The texts are what Go itself gives. */
export const goForms: readonly GoForm[] = (
  [
    ["a field", "Say {{ .text }}.", { text: "hi" }, "Say hi.", ["{{text}}"]],
    ["a field without blanks", "{{.text}}", { text: "hi" }, "hi", ["{{text}}"]],
    ["a field of a field", "{{ .a.b }}", { a: { b: "x" } }, "x", ["{{a.b}}"]],
    ["a field named as a helper", "{{ .upper }}", { upper: "x" }, "x", ["{{this.upper}}"]],
    ["two fields", "{{ .a }} and {{ .b }}", { a: "x", b: "y" }, "x and y", ["{{a}}", "{{b}}"]],
    ["trimmed", "a \n {{- .x -}} \n b", { x: "y" }, "ayb", ["{{~x~}}"]],
    ["trimmed on one side", "a  {{- .x }} b", { x: "y" }, "ay b", ["{{~x}}"]],
    ["if", "{{ if .x }}a{{ end }}", { x: true }, "a", ["{{#if x}}", "{{/if}}"]],
    [
      "if, else if, else",
      "{{ if .x }}a{{ else if .y }}b{{ else }}c{{ end }}",
      { y: true },
      "b",
      ["{{#if x}}", "{{else if y}}", "{{/if}}"],
    ],
    ["if not", "{{ if not .x }}a{{ end }}", {}, "a", ["{{#unless x}}", "{{/unless}}"]],
    [
      "else if not",
      "{{ if .x }}a{{ else if not .y }}b{{ end }}",
      {},
      "b",
      ["{{#if x}}", "{{else unless y}}", "{{/if}}"],
    ],
    ["and", "{{ if and .x .y }}a{{ end }}!", { x: true, y: true }, "a!", ["{{#if (and x y)}}", "{{/if}}"]],
    [
      "blocks in blocks",
      "{{ if .x }}{{ with .a }}{{ .b }}{{ end }}{{ end }}",
      { x: true, a: { b: "c" } },
      "c",
      ["{{#if x}}", "{{#with a}}", "{{b}}", "{{/with}}", "{{/if}}"],
    ],
    ["trimmed blocks", "a {{- if .x -}} b {{- end }} c", { x: true }, "ab c", ["{{~#if x~}}", "{{~/if}}"]],
    [
      "a comparison",
      '{{ if eq .kind "big one" }}a{{ else if ne .kind "b" }}c{{ end }}',
      { kind: "big one" },
      "a",
      ['{{#if (eq kind "big one")}}', '{{else if (ne kind "b")}}', "{{/if}}"],
    ],
    [
      "one of several",
      '{{ if eq .kind "a" "b" }}c{{ end }}',
      { kind: "b" },
      "c",
      ['{{#if (eq kind "a" "b")}}', "{{/if}}"],
    ],
    [
      "not a comparison",
      '{{ if not (eq .x "b") }}a{{ end }}',
      { x: "c" },
      "a",
      ['{{#unless (eq x "b")}}', "{{/unless}}"],
    ],
    [
      "or, and, not",
      "{{ if or .a.x .b }}a{{ else if and .c (not .b) }}d{{ end }}",
      { a: {}, c: true },
      "d",
      ["{{#if (or a.x b)}}", "{{else if (and c (not b))}}", "{{/if}}"],
    ],
    [
      "a comparison of entries",
      "{{ range .items }}{{ if ge .price 3 }}{{ .name }}{{ end }}{{ end }}",
      {
        items: [
          { name: "tea", price: 3 },
          { name: "cup", price: 2 },
        ],
      },
      "tea",
      ["{{#each items}}", "{{#if (ge price 3)}}", "{{name}}", "{{/if}}", "{{/each}}"],
    ],
    [
      "a comparison of the entry itself",
      '{{ range .tags }}{{ if eq . "a" }}!{{ end }}{{ end }}',
      { tags: ["a", "b"] },
      "!",
      ["{{#each tags}}", '{{#if (eq this "a")}}', "{{/if}}", "{{/each}}"],
    ],
    ["a number of digits", '{{ printf "%.2f EUR" .x }}', { x: 2.5 }, "2.50 EUR", ['{{number x "0.00"}} EUR']],
    ["a part of a text", "{{ slice .x 0 3 }}", { x: "abcd" }, "abc", ["{{slice x 0 3}}"]],
    ["a length", "{{ len .items }}", { items }, "2", ["{{items.length}}"]],
    [
      "a length as a condition",
      "{{ if gt (len .items) 0 }}a{{ end }}",
      { items },
      "a",
      ["{{#if items.length}}", "{{/if}}"],
    ],
    ["text that is there", '{{ if ne .x "" }}a{{ else }}b{{ end }}', { x: "" }, "b", ["{{#if x}}", "{{/if}}"]],
    ["text that is not there", '{{ if eq .x "" }}a{{ end }}', { x: "" }, "a", ["{{#unless x}}", "{{/unless}}"]],
    [
      "range",
      "{{ range .items }}{{ .name }};{{ end }}",
      { items },
      "tea;cup;",
      ["{{#each items}}", "{{name}}", "{{/each}}"],
    ],
    [
      "range over texts",
      "{{ range .tags }}<{{ . }}>{{ end }}",
      { tags: ["a", "b"] },
      "<a><b>",
      ["{{#each tags}}", "{{/each}}"],
    ],
    [
      "range and else",
      "{{ range .items }}a{{ else }}none{{ end }}",
      { items: [] },
      "none",
      ["{{#each items}}", "{{/each}}"],
    ],
    [
      "range with index and value",
      "{{ range $i, $x := .items }}{{ $i }}{{ $x.name }}{{ end }}",
      { items },
      "0tea1cup",
      ["{{#each items as |x i|}}", "{{i}}", "{{x.name}}", "{{/each}}"],
    ],
    [
      "range with a value",
      "{{ range $x := .tags }}{{ $x | upper }}{{ end }}",
      { tags: ["a"] },
      "A",
      ["{{#each tags as |x|}}", "{{upper x}}", "{{/each}}"],
    ],
    [
      "range over an object",
      "{{ range $key, $value := .prices }}{{ $key }}={{ $value }};{{ end }}",
      { prices: { cup: "2", tea: "3" } },
      "cup=2;tea=3;",
      ["{{#each prices as |value key|}}", "{{key}}", "{{value}}", "{{/each}}"],
    ],
    [
      "the way out",
      "{{ range .items }}{{ $.shop }}:{{ .name }} {{ end }}",
      { items, shop: "s" },
      "s:tea s:cup ",
      ["{{#each items}}", "{{@root.shop}}", "{{name}}", "{{/each}}"],
    ],
    [
      "with",
      "{{ with .author }}{{ .name }}{{ else }}nobody{{ end }}",
      { author: { name: "Ann" } },
      "Ann",
      ["{{#with author}}", "{{name}}", "{{/with}}"],
    ],
    [
      "with a name",
      "{{ with $a := .author }}{{ $a.name }}{{ end }}",
      { author: { name: "Ann" } },
      "Ann",
      ["{{#with author as |a|}}", "{{a.name}}", "{{/with}}"],
    ],
    ["a pipe", "{{ .x | upper }}", { x: "a" }, "A", ["{{upper x}}"]],
    ["pipes", '{{ .x | trim | upper | printf "%s" }}', { x: " a " }, "A", ["{{upper (trim x)}}"]],
    ["a call", "{{ upper .x }}", { x: "a" }, "A", ["{{upper x}}"]],
    ["a call in parentheses", "{{ upper (trim .x) }}", { x: " a " }, "A", ["{{upper (trim x)}}"]],
    ["join", '{{ .tags | join ", " }}', { tags: ["a", "b"] }, "a, b", ['{{join tags ", "}}']],
    ["a default", '{{ .x | default "none" }}', { x: "" }, "none", ['{{default "none" x}}']],
    ["JSON", "{{ toJson .x }}", { x: ["a"] }, '["a"]', ["{{json x}}"]],
    ["printf", '{{ printf "%s of %v" .a .b }}!', { a: "x", b: "y" }, "x of y!", ["{{a}} of {{b}}"]],
    ["printf, quoted", '{{ printf "%q is 100%%" .a }}', { a: "x" }, '"x" is 100%', ["{{json a}} is 100%"]],
    ["or", '{{ or .x "none" }}', { x: "" }, "none", ['{{or x "none"}}']],
    ["and as a value", "{{ and .x .y }}", { x: "a", y: "b" }, "b", ["{{and x y}}"]],
    ["an entry", "{{ (index .items 0).name }}", { items }, "tea", ["{{items.[0].name}}"]],
    [
      "an entry by name",
      '{{ index .prices "tea cup" }}',
      { prices: { "tea cup": "3" } },
      "3",
      ["{{prices.[tea cup]}}"],
    ],
    [
      "an entry by a field",
      "{{ index .prices .what }}",
      { prices: { tea: "3" }, what: "tea" },
      "3",
      ["{{lookup prices what}}"],
    ],
    ["a text", 'a{{ "b" }}{{ `c` }}', {}, "abc", ["b", "c"]],
    ["braces", 'a {{ "{{" }} b {{ .x }}', { x: "y" }, "a {{ b y", ["\\{{", "{{x}}"]],
    ["a comment", "a{{/* a note */}}b", {}, "ab", ["{{!-- a note --}}"]],
    ["a trimmed comment", "a {{- /* a note */ -}} b", {}, "ab", ["{{~!-- a note --~}}"]],
    ["a variable", "{{ $a := .author }}{{ $a.name }}", { author: { name: "Ann" } }, "Ann", ["", "{{author.name}}"]],
    [
      "a variable, inside a list",
      "{{ $a := .author }}{{ range .tags }}{{ $a.name }}{{ . }} {{ end }}",
      { author: { name: "Ann" }, tags: ["x", "y"] },
      "Annx Anny ",
      ["", "{{#each tags}}", "{{@root.author.name}}", "{{/each}}"],
    ],
    [
      "define and template",
      '{{ define "sign" }}Yours, {{ .name }}{{ end }}Hi. {{ template "sign" . }}',
      { name: "Ann" },
      "Hi. Yours, Ann",
      ["", "{{name}}", "{{> sign}}"],
    ],
    [
      "template with a value",
      '{{ template "sign.tmpl" .author }}{{ define "sign.tmpl" }}Yours, {{ .name | upper }}{{ end }}',
      { author: { name: "Ann" } },
      "Yours, ANN",
      ["{{> sign author}}", "", "{{upper name}}"],
    ],
    [
      "block",
      '{{ block "sign" .author }}by {{ .name }}{{ end }}',
      { author: { name: "Ann" } },
      "by Ann",
      ["{{> sign author}}", "{{name}}"],
    ],
    [
      "a block inside define",
      '{{ define "a" }}{{ .q }}:{{ block "b" .x }}[{{ .z }}]{{ end }}{{ .q }}{{ end }}{{ template "a" . }}',
      { q: "1", x: { z: "2" } },
      "1:[2]1",
      ["", "{{q}}", "{{> b x}}", "{{z}}", "{{q}}", "{{> a}}"],
    ],
    ["Go and Handlebars mixed", "{{#if x}}{{ .y }}{{/if}}", { x: true, y: "z" }, "", ["{{y}}"]],
  ] satisfies readonly Row[]
).map(row);

/** Forms of Jinja, by name: each template, and the first tag that only Jinja has. */
export const jinjaForms: readonly (readonly [what: string, template: string, tag: string])[] = [
  ["a filter", "{{ x | upper }}", "{{ x | upper }}"],
  ["a filter without blanks", "{{x|upper|trim}}", "{{x|upper|trim}}"],
  ["a filter with a value", '{{ x | default("none") }}', '{{ x | default("none") }}'],
  ["join", "{{ tags | join(', ') }}", "{{ tags | join(', ') }}"],
  ["join as a method", '{{ ", ".join(tags) }}', '{{ ", ".join(tags) }}'],
  ["JSON", "{{ x | tojson }}", "{{ x | tojson }}"],
  ["a length", "{{ items | length }}", "{{ items | length }}"],
  ["a method", "{{ x.upper() }}", "{{ x.upper() }}"],
  ["if", "{% if x %}a{% elif y %}b{% else %}c{% endif %}", "{% if x %}"],
  ["if not", "{% if not x %}a{% endif %}", "{% if not x %}"],
  ["is defined", "{% if x is defined %}a{% endif %}", "{% if x is defined %}"],
  ["and", "{% if x and not y %}a{% endif %}", "{% if x and not y %}"],
  ["trimmed", "a {%- if x -%} b {%- endif %} c", "{%- if x -%}"],
  ["for", "{% for item in items %}{{ item.name }} of {{ shop }};{% endfor %}", "{% for item in items %}"],
  [
    "for with a name",
    "{% for key, value in prices.items() %}{{ loop.index0 }}{{ key }}={{ value }}{% endfor %}",
    "{% for key, value in prices.items() %}",
  ],
  ["an inline if", '{{ x if y else "none" }}{# a note #}', '{{ x if y else "none" }}'],
  ["an entry", "{{ items[0].name | upper }}", "{{ items[0].name | upper }}"],
  ["a variable", "{% set a = author %}{{ a.name }}", "{% set a = author %}"],
  ["an unknown filter", "{{ x | wordwrap(10) }}", "{{ x | wordwrap(10) }}"],
  ["the count of a loop", "{% for a in b %}{{ loop.index }}{% endfor %}", "{% for a in b %}"],
  ["a macro", "{% macro a() %}b{% endmacro %}", "{% macro a() %}"],
  ["an include", 'Hi {{ name }} {% include "sign.txt" %}', '{% include "sign.txt" %}'],
  ["a comparison", "{{ x == 1 }}", "{{ x == 1 }}"],
];
