// Turns the JSON Schemas of ui/contract/ into src/contract/*.ts. With --check it only compares.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";

const source = new URL("../contract/", import.meta.url);
const target = new URL("../src/contract/", import.meta.url);
const named = (reference) => reference.slice(reference.lastIndexOf("/") + 1);
const union = (types) => [...new Set(types)].join(" | ");

function objectType(schema, indent) {
  const extra = schema.additionalProperties;
  if (!schema.properties) {
    return `Record<string, ${extra && extra !== true ? typeOf(extra, indent) : "unknown"}>`;
  }
  const inner = `${indent}  `;
  const lines = Object.entries(schema.properties).map(([name, property]) => {
    const optional = (schema.required ?? []).includes(name) ? "" : "?";
    const doc = property.description ? `${inner}/** ${property.description} */\n` : "";
    return `${doc}${inner}${name}${optional}: ${typeOf(property, inner)};`;
  });
  return lines.length ? `{\n${lines.join("\n")}\n${indent}}` : "Record<string, never>";
}

function arrayType(schema, indent) {
  if (schema.prefixItems) return `[${schema.prefixItems.map((s) => typeOf(s, indent)).join(", ")}]`;
  const item = schema.items ? typeOf(schema.items, indent) : "unknown";
  return item.includes("|") ? `readonly (${item})[]` : `readonly ${item}[]`;
}

function typeOf(schema, indent = "") {
  if (schema.$ref) return named(schema.$ref);
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)));
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return union(choices.map((choice) => typeOf(choice, indent)));
  if (schema.allOf) return schema.allOf.map((part) => typeOf(part, indent)).join(" & ");
  if (Array.isArray(schema.type)) {
    return union(schema.type.map((type) => typeOf({ ...schema, type }, indent)));
  }
  switch (schema.type) {
    case "object":
      return objectType(schema, indent);
    case "array":
      return arrayType(schema, indent);
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
  const shapes = document.$defs ?? document.components?.schemas ?? {};
  const parts = [`// Made from contract/${name}.json by scripts/contract.mjs; do not edit.`];
  for (const [title, schema] of Object.entries(shapes)) {
    const doc = schema.description ? `/** ${schema.description.replaceAll("*/", "* /")} */\n` : "";
    parts.push(`${doc}export type ${title} = ${typeOf(schema)};`);
  }
  if (document.anyOf) parts.push(`export type ContractEvent = ${typeOf(document)};`);
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
