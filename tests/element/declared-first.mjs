// Print each place of the named modules where a `const`, `let` or `class` is used above its own declaration: by a
// statement of the same block that runs at once, not by a function that runs later. A minifier that joins declarations
// may change their order.
import { readFileSync } from "node:fs";

import { parse } from "acorn";
import { full } from "acorn-walk";

const LATER = /Function|ClassBody|^Import|^ExportAll/;

/** The names that a pattern declares. */
function declared(pattern) {
  if (!pattern) return [];
  if (pattern.type === "Identifier") return [pattern.name];
  if (pattern.type === "ObjectPattern") return pattern.properties.flatMap((one) => declared(one.value ?? one.argument));
  if (pattern.type === "ArrayPattern") return pattern.elements.flatMap(declared);
  return declared(pattern.left ?? pattern.argument);
}

/** The names that an expression reads at once. */
function read(node) {
  if (!node || typeof node !== "object") return [];
  if (Array.isArray(node)) return node.flatMap(read);
  if (LATER.test(node.type)) return node.computed ? read(node.key) : [];
  if (node.type === "Identifier") return [node.name];
  const { key, property, computed, ...rest } = node;
  return [...Object.values(rest).flatMap(read), ...(computed ? read([key, property]) : [])];
}

function check(name, text) {
  full(parse(text, { ecmaVersion: "latest", sourceType: "module" }), ({ type, body, consequent }) => {
    const statements = type === "SwitchCase" ? consequent : body;
    if (!Array.isArray(statements) || type === "ClassBody") return;
    const declarations = statements
      .map((statement) => statement.declaration ?? statement)
      .flatMap((one) => {
        if (one?.type === "ClassDeclaration") return [{ names: declared(one.id), uses: read(one.superClass) }];
        if (one?.type !== "VariableDeclaration" || one.kind === "var") return [];
        return one.declarations.map(({ id, init, start, end }) => ({ names: declared(id), uses: read(init), start, end }));
      });
    declarations.forEach(({ uses, start, end }, index) => {
      const later = new Set(declarations.slice(index).flatMap(({ names }) => names));
      const early = uses.filter((one) => later.has(one));
      if (early.length) console.log(`${name}: ${early} in ${text.slice(start, end).slice(0, 200)}`);
    });
  });
}

for (const path of process.argv.slice(2)) check(path, readFileSync(path, "utf8"));
