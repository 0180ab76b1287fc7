// Turns the schemas of ui/contract/ into src/contract/*.ts. With --check it only compares.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";

const source = new URL("../contract/", import.meta.url);
const target = new URL("../src/contract/", import.meta.url);
const named = (reference) => reference.slice(reference.lastIndexOf("/") + 1);
const union = (types) => [...new Set(types)].join(" | ");

function objectType(schema) {
  const extra = schema.additionalProperties;
  if (!schema.properties) {
    return `Record<string, ${extra && extra !== true ? typeOf(extra) : "unknown"}>`;
  }
  const fields = Object.entries(schema.properties).map(([name, property]) => {
    const optional = (schema.required ?? []).includes(name) ? "" : "?";
    return `${name}${optional}: ${typeOf(property)}`;
  });
  return `{ ${fields.join("; ")} }`;
}

function arrayType(schema) {
  if (schema.prefixItems) return `[${schema.prefixItems.map((s) => typeOf(s)).join(", ")}]`;
  const item = schema.items ? typeOf(schema.items) : "unknown";
  return item.includes("|") || item.startsWith("readonly ")
    ? `readonly (${item})[]`
    : `readonly ${item}[]`;
}

function typeOf(schema) {
  if (schema.$ref) return named(schema.$ref);
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)));
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return union(choices.map((choice) => typeOf(choice)));
  if (schema.allOf) return schema.allOf.map((part) => typeOf(part)).join(" & ");
  if (Array.isArray(schema.type)) {
    return union(schema.type.map((type) => typeOf({ ...schema, type })));
  }
  switch (schema.type) {
    case "object":
      return objectType(schema);
    case "array":
      return arrayType(schema);
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "integer":
    case "number":
      return "number";
    default:
      return "unknown";
  }
}

function typescript(name, document) {
  const parts = [`// Made from contract/${name}.json by scripts/contract.mjs; do not edit.`];
  for (const [title, schema] of Object.entries(document.components.schemas)) {
    parts.push(`export type ${title} = ${typeOf(schema)};`);
  }
  return `${parts.join("\n\n")}\n`;
}

let differing = 0;
for (const file of readdirSync(source).filter((entry) => entry.endsWith(".json"))) {
  const name = file.slice(0, -".json".length);
  const text = typescript(name, JSON.parse(readFileSync(new URL(file, source), "utf8")));
  const path = new URL(`${name}.ts`, target);
  if (!process.argv.includes("--check")) {
    writeFileSync(path, text);
  } else if (!existsSync(path) || readFileSync(path, "utf8") !== text) {
    console.error(`src/contract/${name}.ts differs from contract/${file}: npm run contract`);
    differing += 1;
  }
}
process.exit(differing ? 1 : 0);
